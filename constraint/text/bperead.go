package text

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// ReadBPE reads GPT-2's two files: vocab.json, an object that gives the number of each
// token, and merges.txt, one pair per line after an optional line that begins with
// "#version". The error is a [*constraint.ArgumentError] that names the wrong token or
// merge, or one of the readers or of JSON.
func ReadBPE(vocab, merges io.Reader) (*BPE, error) {
	if err := check.Given("text: ReadBPE", "vocab", vocab); err != nil {
		return nil, err
	}
	if err := check.Given("text: ReadBPE", "merges", merges); err != nil {
		return nil, err
	}
	var ids map[string]int
	if err := json.NewDecoder(vocab).Decode(&ids); err != nil {
		return nil, fmt.Errorf("text: ReadBPE: vocabulary: %w", err)
	}
	var lines []string
	scan := bufio.NewScanner(merges)
	for first := true; scan.Scan(); first = false {
		line := scan.Text()
		if line == "" || first && strings.HasPrefix(line, "#version") {
			continue
		}
		lines = append(lines, line)
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("text: ReadBPE: merges: %w", err)
	}
	return assemble("ReadBPE", ids, nil, lines)
}

// ReadTokenizer reads the tokenizer.json of a byte-level BPE whose words are cut
// as GPT-2 does: model.type "BPE", pre_tokenizer.type "ByteLevel" without a
// prefix space, no normalizer. Anything else is an error that names it. Added
// tokens stand for no text.
func ReadTokenizer(r io.Reader) (*BPE, error) {
	if err := check.Given("text: ReadTokenizer", "r", r); err != nil {
		return nil, err
	}
	var f struct {
		Normalizer   any `json:"normalizer"`
		PreTokenizer *struct {
			Type   string `json:"type"`
			Prefix bool   `json:"add_prefix_space"`
			Regex  *bool  `json:"use_regex"`
		} `json:"pre_tokenizer"`
		Added []struct {
			ID      int    `json:"id"`
			Content string `json:"content"`
		} `json:"added_tokens"`
		Model struct {
			Type   string            `json:"type"`
			Vocab  map[string]int    `json:"vocab"`
			Merges []json.RawMessage `json:"merges"`
		} `json:"model"`
	}
	if err := json.NewDecoder(r).Decode(&f); err != nil {
		return nil, fmt.Errorf("text: ReadTokenizer: %w", err)
	}
	bad := func(arg string, value any, want string) (*BPE, error) {
		return nil, &constraint.ArgumentError{Func: "ReadTokenizer", Arg: arg, Value: value, Want: want}
	}
	p := f.PreTokenizer
	switch {
	case f.Model.Type != "BPE" && f.Model.Type != "": // older files leave it out
		return bad("model.type", check.Quote(f.Model.Type), `"BPE"`)
	case f.Normalizer != nil:
		return bad("normalizer", f.Normalizer, "null")
	case p == nil || p.Type != "ByteLevel":
		return bad("pre_tokenizer", p, `one of type "ByteLevel"`)
	case p.Prefix:
		return bad("pre_tokenizer.add_prefix_space", true, "false")
	case p.Regex != nil && !*p.Regex:
		return bad("pre_tokenizer.use_regex", false, "true")
	}
	added := make(map[int]string)
	for _, a := range f.Added {
		added[a.ID] = a.Content
	}
	lines := make([]string, len(f.Model.Merges))
	for i, m := range f.Model.Merges { // "a b", or in newer files ["a", "b"]
		var pair []string
		if json.Unmarshal(m, &lines[i]) == nil {
			continue
		}
		if err := json.Unmarshal(m, &pair); err != nil || len(pair) != 2 {
			return bad(fmt.Sprintf("merge %d", i), string(m), "a pair")
		}
		lines[i] = pair[0] + " " + pair[1]
	}
	return assemble("ReadTokenizer", f.Model.Vocab, added, lines)
}

// assemble makes an encoding of the parts of files.
func assemble(who string, ids map[string]int, added map[int]string, lines []string) (*BPE, error) {
	bad := func(arg string, value any, want string) (*BPE, error) {
		return nil, &constraint.ArgumentError{Func: who, Arg: arg, Value: value, Want: want}
	}
	n := len(ids)
	for id, s := range added {
		if old, ok := ids[s]; !ok || old != id {
			n++
		}
	}
	tokens, seen := make([]string, n), make([]bool, n)
	put := func(id int, s string) bool {
		if id < 0 || id >= n || seen[id] {
			return false
		}
		tokens[id], seen[id] = s, true
		return true
	}
	want := fmt.Sprintf("a number of its own in 0 … %d", n-1)
	for s, id := range ids {
		text, ok := unprint(s)
		if !ok {
			if _, special := added[id]; !special {
				return bad("token", check.Quote(s), "runes that stand for bytes")
			}
			text = s
		}
		if !put(id, text) {
			return bad("token "+check.Quote(s), id, want)
		}
	}
	for id, s := range added {
		if old, ok := ids[s]; ok && old == id {
			continue
		}
		if !put(id, s) {
			return bad("added token "+check.Quote(s), id, want)
		}
	}
	pairs := make([][2]string, len(lines))
	for i, line := range lines {
		left, right, ok := strings.Cut(line, " ")
		a, ok1 := unprint(left)
		b, ok2 := unprint(strings.TrimSuffix(right, "\r"))
		if !ok || !ok1 || !ok2 || a == "" || b == "" {
			return bad(fmt.Sprintf("merge %d", i), check.Quote(line), "two tokens and a space between")
		}
		pairs[i] = [2]string{a, b}
	}
	return newBPE(who, tokens, pairs)
}
