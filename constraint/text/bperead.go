package text

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// ReadBPE reads the two files of GPT-2. The reader vocab yields vocab.json, which is an object that
// maps each token to its number. The reader merges yields merges.txt, which has one pair of tokens
// per line, after an optional line that begins with "#version". If a token or merge is wrong, the
// error is a [*constraint.ArgumentError] that names it. Other errors come from a reader or the JSON
// decoder.
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

// ReadTokenizer reads the tokenizer.json of a byte-level BPE. GPT-2, Llama 3, Qwen, LLaDA and Dream
// use such tokenizers. These settings are supported:
//
//   - model.type "BPE", with or without ignore_merges;
//   - a pre_tokenizer of type ByteLevel, or a Sequence that contains a ByteLevel and otherwise only
//     Splits and Digits;
//   - the normalizer NFC, or none.
//
// ReadTokenizer rejects any other setting that would change tokens, and the error names this
// setting. Added tokens have no text; [BPE.Mark] finds them.
func ReadTokenizer(r io.Reader) (*BPE, error) {
	if err := check.Given("text: ReadTokenizer", "r", r); err != nil {
		return nil, err
	}
	var f struct {
		Normalizer   json.RawMessage `json:"normalizer"`
		PreTokenizer *preTokenizer   `json:"pre_tokenizer"`
		Added        []struct {
			ID      int    `json:"id"`
			Content string `json:"content"`
			Single  bool   `json:"single_word"`
			Left    bool   `json:"lstrip"`
			Right   bool   `json:"rstrip"`
		} `json:"added_tokens"`
		Model struct {
			Type    string            `json:"type"`
			Vocab   map[string]int    `json:"vocab"`
			Merges  []json.RawMessage `json:"merges"`
			Whole   bool              `json:"ignore_merges"`
			Dropout *float64          `json:"dropout"`
			Prefix  *string           `json:"continuing_subword_prefix"`
			Suffix  *string           `json:"end_of_word_suffix"`
		} `json:"model"`
	}
	if err := json.NewDecoder(r).Decode(&f); err != nil {
		return nil, fmt.Errorf("text: ReadTokenizer: %w", err)
	}
	bad := func(arg string, value any, want string) (*BPE, error) {
		return nil, &constraint.ArgumentError{Func: "ReadTokenizer", Arg: arg, Value: value, Want: want}
	}
	given := func(s *string) bool { return s != nil && *s != "" }
	normal, ok := isNFC(f.Normalizer)
	switch {
	case f.Model.Type != "BPE" && f.Model.Type != "": // older files leave it out
		return bad("model.type", check.Quote(f.Model.Type), `"BPE"`)
	case f.Model.Dropout != nil && *f.Model.Dropout != 0:
		return bad("model.dropout", *f.Model.Dropout, "null")
	case given(f.Model.Prefix):
		return bad("model.continuing_subword_prefix", check.Quote(*f.Model.Prefix), `""`)
	case given(f.Model.Suffix):
		return bad("model.end_of_word_suffix", check.Quote(*f.Model.Suffix), `""`)
	case !ok:
		return bad("normalizer", check.Clip(string(f.Normalizer)), "null, or of type NFC")
	}
	splits, err := f.PreTokenizer.splits()
	if err != nil {
		return nil, err
	}
	added := make(map[int]string)
	for _, a := range f.Added {
		if a.Single {
			return bad("added token "+check.Quote(a.Content)+": single_word", true, "false")
		}
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
	b, err := assemble("ReadTokenizer", f.Model.Vocab, added, lines)
	if err != nil {
		return nil, err
	}
	b.splits, b.normal = splits, normal
	if f.Model.Whole {
		b.keepWhole(added)
	}
	for _, a := range f.Added {
		if a.Content != "" {
			b.marks = append(b.marks, mark{a.Content, int32(a.ID), a.Left, a.Right})
		}
	}
	return b, nil
}

// keepWhole makes every token, apart from the added ones, the encoding of its own text.
func (b *BPE) keepWhole(added map[int]string) {
	b.whole = make(map[string]int32, len(b.vocabulary.Tokens))
	b.vocabulary.Forbidden = b.vocabulary.Forbidden[:0]
	for t, s := range b.vocabulary.Tokens {
		if _, mark := added[t]; mark {
			b.vocabulary.Forbidden = append(b.vocabulary.Forbidden, int32(t))
		} else {
			b.whole[s] = int32(t)
		}
	}
	if len(b.splits) == 0 {
		b.splits = []*split{gpt2Split()}
	}
}

// isNFC reports whether a normalizer is NFC. ok is false if it is a normalizer that is not
// supported.
func isNFC(b json.RawMessage) (nfc, ok bool) {
	var n struct {
		Type  string            `json:"type"`
		Parts []json.RawMessage `json:"normalizers"`
	}
	switch {
	case len(b) == 0 || string(b) == "null":
		return false, true
	case json.Unmarshal(b, &n) != nil:
		return false, false
	case n.Type == "Sequence" && len(n.Parts) == 0:
		return false, true
	case n.Type == "Sequence" && len(n.Parts) == 1:
		return isNFC(n.Parts[0])
	}
	return true, n.Type == "NFC"
}

// preTokenizer is the part of a tokenizer.json that defines how texts are split into pieces.
type preTokenizer struct {
	Type     string          `json:"type"`
	Prefix   bool            `json:"add_prefix_space"`
	Regex    *bool           `json:"use_regex"`
	Parts    []*preTokenizer `json:"pretokenizers"`
	Behavior string          `json:"behavior"`
	Invert   bool            `json:"invert"`
	Pattern  struct {
		Regex  *string `json:"Regex"`
		String *string `json:"String"`
	} `json:"pattern"`
	Digits *bool `json:"individual_digits"`
}

// splits returns the splits that p defines. An empty result means the split of GPT-2.
func (p *preTokenizer) splits() ([]*split, error) {
	all, bytes, err := p.collect(nil, "pre_tokenizer")
	switch {
	case err != nil:
		return nil, err
	case !bytes:
		return nil, &constraint.ArgumentError{Func: "ReadTokenizer", Arg: "pre_tokenizer", Value: p, Want: "a part of type ByteLevel"}
	case len(all) == 1 && all[0] == gpt2Split():
		return nil, nil
	case len(all) == 0:
		all = []*split{wholeSplit()}
	}
	return all, nil
}

var (
	gpt2Split  = sync.OnceValue(func() *split { return must(newSplit(gpt2)) })
	wholeSplit = sync.OnceValue(func() *split { return must(newSplit(`(?s).+`)) })
	digits     = sync.OnceValue(func() *split { return must(newSplit(`\p{N}+`)) })
	digit      = sync.OnceValue(func() *split { return must(newSplit(`\p{N}`)) })
)

func must(s *split, err error) *split {
	if err != nil {
		panic(err)
	}
	return s
}

// collect appends the splits of p to all. bytes reports whether one of its parts has the type
// ByteLevel. name is the path that errors name.
func (p *preTokenizer) collect(all []*split, name string) (_ []*split, bytes bool, err error) {
	bad := func(arg string, value any, want string) ([]*split, bool, error) {
		return nil, false, &constraint.ArgumentError{Func: "ReadTokenizer", Arg: name + arg, Value: value, Want: want}
	}
	if p == nil {
		return bad("", p, `one of type "ByteLevel", or a "Sequence"`)
	}
	switch p.Type {
	case "ByteLevel":
		if p.Prefix {
			return bad(".add_prefix_space", true, "false")
		}
		if p.Regex == nil || *p.Regex {
			all = append(all, gpt2Split())
		}
		return all, true, nil
	case "Digits":
		if p.Digits != nil && *p.Digits {
			return append(all, digit()), false, nil
		}
		return append(all, digits()), false, nil
	case "Split":
		pattern := ""
		switch {
		case p.Behavior != "Isolated" && (p.Behavior != "Removed" || !p.Invert):
			return bad(".behavior", check.Quote(p.Behavior), `"Isolated"`)
		case p.Pattern.Regex != nil:
			pattern = *p.Pattern.Regex
		case p.Pattern.String != nil:
			pattern = regexp.QuoteMeta(*p.Pattern.String)
		default:
			return bad(".pattern", "null", "a Regex or a String")
		}
		s, err := newSplit(pattern)
		if err != nil {
			return bad(".pattern.Regex", check.Quote(pattern)+": "+err.Error(), "an expression that package regexp reads, perhaps with |\\s+(?!\\S)|\\s+ at its end")
		}
		return append(all, s), false, nil
	case "Sequence":
		for i, part := range p.Parts {
			var b bool
			if all, b, err = part.collect(all, fmt.Sprintf("%s.pretokenizers[%d]", name, i)); err != nil {
				return nil, false, err
			}
			bytes = bytes || b
		}
		return all, bytes, nil
	}
	return bad(".type", check.Quote(p.Type), `"ByteLevel", "Split", "Digits" or "Sequence"`)
}

// assemble makes a BPE from the parsed parts of a file: the token ids, the added tokens and the
// lines of merges. who is the function that errors name.
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
