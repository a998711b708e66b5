package text

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Vocabulary holds the text of each token id. Write a Vocabulary as a literal; most callers set
// only Tokens. This package never modifies a vocabulary, and the caller must not modify it during a
// compilation.
type Vocabulary struct {
	// Tokens[t] is the text of token t, in bytes. It need not be valid UTF-8, because a vocabulary
	// may divide a rune into several tokens. Tokens with the same text are interchangeable. A token
	// with an empty text could be inserted anywhere, any number of times. It is therefore an error
	// unless the token is Forbidden or Padding.
	Tokens []string

	// Forbidden holds the tokens that never occur, such as masks and begin-of-text marks. Their
	// text does not matter.
	Forbidden []int32

	// Padding holds the tokens that may follow a complete text, any number of them in any order.
	// Nothing else may follow a padding token. The text of these tokens does not matter. With
	// padding, a sequence of L sites can hold a text of fewer than L tokens. If texts must fill all
	// sites, leave Padding empty.
	Padding []int32
}

// Runes returns the vocabulary with one token for each rune of the string alphabet, in the order of
// the string.
func Runes(alphabet string) Vocabulary {
	var v Vocabulary
	for _, r := range alphabet {
		v.Tokens = append(v.Tokens, string(r))
	}
	return v
}

// Bytes returns the vocabulary of all 256 bytes: the text of token t is the byte t.
func Bytes() Vocabulary {
	v := Vocabulary{Tokens: make([]string, 256)}
	for b := range v.Tokens {
		v.Tokens[b] = string([]byte{byte(b)})
	}
	return v
}

// Text returns the text of the sequence x: the joined texts of its tokens, except Forbidden and
// Padding tokens. Text panics if a token is out of range.
func (v Vocabulary) Text(x []int32) string {
	var b strings.Builder
	for _, t := range x {
		if !slices.Contains(v.Padding, t) && !slices.Contains(v.Forbidden, t) {
			check.Index("text", "token", int(t), len(v.Tokens))
			b.WriteString(v.Tokens[t])
		}
	}
	return b.String()
}

// Spelling checks the vocabulary and reports for every token whether it contributes its text to a
// sequence. Forbidden and Padding tokens do not. If the vocabulary is invalid, the error is an
// [*constraint.ArgumentError].
func (v Vocabulary) Spelling() ([]bool, error) {
	if len(v.Tokens) == 0 {
		return nil, &constraint.ArgumentError{Func: "Vocabulary", Arg: "len(Tokens)", Value: 0, Want: "≥ 1"}
	}
	text := make([]bool, len(v.Tokens))
	for t := range text {
		text[t] = true
	}
	for _, special := range [][]int32{v.Forbidden, v.Padding} {
		for _, t := range special {
			if t < 0 || int(t) >= len(text) {
				return nil, &constraint.ArgumentError{Func: "Vocabulary", Arg: "a special token", Value: t, Want: fmt.Sprintf("0…%d", len(text)-1)}
			}
			text[t] = false
		}
	}
	for _, t := range v.Forbidden {
		if slices.Contains(v.Padding, t) {
			return nil, &constraint.ArgumentError{Func: "Vocabulary", Arg: "a Forbidden token", Value: t, Want: "no Padding"}
		}
	}
	for t, ok := range text {
		if ok && v.Tokens[t] == "" {
			return nil, &constraint.ArgumentError{Func: "Vocabulary", Arg: fmt.Sprintf("Tokens[%d]", t), Value: `""`, Want: "a text, or Forbidden, or Padding"}
		}
	}
	return text, nil
}

// trie holds the texts of a vocabulary. It has one node per distinct prefix, in preorder.
type trie struct {
	symbol   []byte
	depth    []int32 // depth of each node, ≥ 1; the root is not stored
	end      []int32 // the subtree of node i is i…end[i]−1
	from, to []int32 // token[from[i]:to[i]] are the tokens whose text ends at node i
	token    []int32 // tokens ordered by text, then by id
	longest  int
}

// newTrie builds the trie of the tokens that spell their text.
func newTrie(v Vocabulary, text []bool) *trie {
	t := &trie{}
	for id, ok := range text {
		if ok {
			t.token = append(t.token, int32(id))
		}
	}
	slices.SortStableFunc(t.token, func(a, b int32) int { return strings.Compare(v.Tokens[a], v.Tokens[b]) })
	var path []int32 // nodes of the previous text
	last := ""
	for i, id := range t.token {
		s := v.Tokens[id]
		same := 0
		for same < min(len(s), len(last)) && s[same] == last[same] {
			same++
		}
		t.close(path[same:])
		path = path[:same]
		for d := same; d < len(s); d++ {
			path = append(path, int32(len(t.symbol)))
			t.symbol = append(t.symbol, s[d])
			t.depth = append(t.depth, int32(d+1))
			t.end = append(t.end, 0)
			t.from = append(t.from, int32(i))
			t.to = append(t.to, int32(i))
		}
		t.to[path[len(path)-1]] = int32(i + 1)
		t.longest = max(t.longest, len(s))
		last = s
	}
	t.close(path)
	return t
}

// close ends the subtrees of the given nodes.
func (t *trie) close(nodes []int32) {
	for _, n := range nodes {
		t.end[n] = int32(len(t.symbol))
	}
}
