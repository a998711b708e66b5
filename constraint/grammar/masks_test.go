package grammar

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
)

// spelled is a small vocabulary: a token of every byte of the alphabet, some of several bytes,
// half of which occur in texts, and one that ends the text.
func spelled(r *rand.Rand, alphabet string, texts []string) text.Vocabulary {
	v := text.Runes(alphabet)
	for n := range 60 {
		b := make([]byte, 2+r.IntN(3))
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
		if s := texts[r.IntN(len(texts))]; n%2 == 0 && len(s) >= len(b) {
			from := r.IntN(len(s) - len(b) + 1)
			copy(b, s[from:])
		}
		v.Tokens = append(v.Tokens, string(b))
	}
	v.Padding = []int32{int32(len(v.Tokens))}
	v.Tokens = append(v.Tokens, "")
	return v
}

// accepted returns all texts over an alphabet up to a length that the grammar accepts. With
// inJSON it tries only texts that begin a JSON value, so no other text may pass a mask either.
func accepted(g *Grammar, alphabet string, most int, inJSON bool) (all []string) {
	level := []string{""}
	for n := 0; ; n++ {
		for _, s := range level {
			if g.Accepts(s) {
				all = append(all, s)
			}
		}
		if n == most {
			return all
		}
		var next []string
		for _, s := range level {
			for i := range len(alphabet) {
				if to := s + alphabet[i:i+1]; !inJSON || beginsJSON(to) {
					next = append(next, to)
				}
			}
		}
		level = next
	}
}

// beginsJSON reports whether s, which has no space, is a JSON value or the beginning of one. The
// decoder reads a space at the end of s, which ends a number or a literal too early.
func beginsJSON(s string) bool {
	var v any
	err := json.Unmarshal([]byte(s), &v)
	return err == nil || err.Error() == "unexpected end of JSON input" || strings.HasPrefix(err.Error(), "invalid character ' '")
}

// TestMasksByEnumeration compares every token after every prefix with the texts of the
// language, listed by Accepts.
func TestMasksByEnumeration(t *testing.T) {
	compact := SchemaConfig{Compact: true}
	for _, c := range []struct {
		source, alphabet string
		schema           *SchemaConfig
		most             int // bytes of a text
		reserve          int // that completions of prefixes may need
	}{
		{`s = "(" s ")" s | ""`, "()", nil, 12, 6},
		{`s = "a" (s "b" | "c") | "d"`, "abcd", nil, 9, 5},
		{`s = /a*b?(ca|cb){1,2}/`, "abc", nil, 8, 3},
		{`s = "x" s "y" | t; t = "(" t ")" | "z"`, "xyz()", nil, 7, 4},
		{`{"type":"array","items":{"enum":[1,12]}}`, "[]12,", &compact, 7, 3},
		{`{"type":"array","items":{"type":"array","maxItems":1},"maxItems":2}`, "[],", &compact, 9, 5},
		{`{"type":"string","pattern":"^a*b$","maxLength":3}`, `"ab`, &compact, 7, 1},
		{`{"type":"string","pattern":"^(aa)*b?$","minLength":2,"maxLength":5}`, `"ab`, &compact, 8, 3},
		{`{"type":"string","pattern":"^(a|bb)*$","minLength":1,"maxLength":4}`, `"ab`, &compact, 7, 2},
		{`{"type":"string","pattern":"^([ab]{2}a)*$","minLength":2,"maxLength":7}`, `"ab`, &compact, 8, 0},
		{`{"type":"string","pattern":"^([ab]{2}a)*$","minLength":1}`, `"ab`, &compact, 9, 4},
		{`{"type":"string","pattern":"^[a\\n]+$","minLength":2}`, `"a\nb`, &compact, 7, 4},
		{`{"type":"string","allOf":[{"pattern":"^a"},{"pattern":"b$"},{"not":{"pattern":"bb"}}],"maxLength":4}`, `"ab`, &compact, 7, 2},
		{`{"type":"string","not":{"pattern":"ab"},"minLength":2,"maxLength":3}`, `"ab`, &compact, 6, 3},
		{`{"type":"array","items":{"type":"string","pattern":"^a+$","maxLength":2},"maxItems":2}`, `["a]`, &compact, 8, 3},
		{`{"enum":["ab","aa",1,11,true]}`, `"ab1true`, &compact, 6, 2},
		{`{"properties":{"a":{"const":1},"b":false},"required":["a"],"additionalProperties":false,"type":"object"}`, `{"a:1,b}`, &compact, 7, 0},
		{`{"type":"object","patternProperties":{"^a?$":{"const":1}},"additionalProperties":false,"maxProperties":1}`, `{"a:1}`, &compact, 8, 1},
		{`{"type":"object","patternProperties":{"^a":{"const":1}},"additionalProperties":{"enum":[1,11]},"maxProperties":1}`, `{"a:1}`, &compact, 8, 4},
		{`{"type":"integer","not":{"type":"integer","minimum":10},"minimum":8,"maximum":12}`, "0189.2-", &compact, 5, 2},
		{`{"type":"integer","minimum":8,"maximum":12}`, "0189.2-", &compact, 5, 2},
		{`{"type":"integer","not":{"enum":[1,2]},"minimum":0,"maximum":3}`, "0123.", &compact, 5, 2},
		{`{"oneOf":[{"type":"array","items":{"const":1},"maxItems":2},{"type":"array","minItems":2,"items":{"enum":[1,2]},"maxItems":2}]}`, "[]12,", &compact, 7, 2},
		{`{"if":{"type":"array","minItems":1},"type":["array","number"],"then":{"maxItems":1,"items":{"enum":[1,2]}},"else":{"const":2}}`, "[]12,", &compact, 6, 2},
		{`{"type":"array","items":{"not":{"type":"array","minItems":1}},"maxItems":2,"contains":{"type":"array"}}`, "[],", &compact, 9, 4},
		{`{"type":"object","properties":{"a":{"const":1}},"additionalProperties":{"enum":[1,2]},"not":{"additionalProperties":{"const":1}},"maxProperties":1}`, `{"a:12}`, &compact, 8, 4},
		{`{"type":"object","patternProperties":{"^[ab]?$":{"const":1}},"additionalProperties":false,"not":{"propertyNames":{"const":"a"}},"maxProperties":1}`, `{"ab:1}`, &compact, 8, 4},
	} {
		g, err := compiled(c.source, c.schema)
		if err != nil {
			t.Fatal(c.source, err)
		}
		all := accepted(g, c.alphabet, c.most, c.schema != nil)
		begins := map[string]bool{}
		for _, s := range all {
			for i := range len(s) + 1 {
				begins[s[:i]] = true
			}
		}
		ctx := context.Background()
		v := spelled(rand.New(rand.NewPCG(1, 2)), c.alphabet, all)
		p, err := Prepare(v)
		if err != nil {
			t.Fatal(err)
		}
		m, err := g.Masks(ctx, p)
		if err != nil {
			t.Fatal(c.source, err)
		}
		judged, allowed := 0, 0
		dst := make([]uint32, m.Words())
		for s := range begins {
			if len(s) > c.most-c.reserve {
				continue
			}
			at := m.Matcher()
			for i := range len(s) {
				if ok, err := at.Accept(int32(strings.IndexByte(c.alphabet, s[i]))); !ok || err != nil {
					t.Fatalf("%s: %q refused at %d (%v)", c.source, s, i, err)
				}
			}
			if err := at.Mask(dst); err != nil {
				t.Fatal(c.source, err)
			}
			for i, token := range v.Tokens {
				to := s + token
				want := begins[to]
				if i == len(v.Tokens)-1 {
					want = slices.Contains(all, s)
				} else if len(to) > c.most-c.reserve {
					continue
				}
				got := bitset(dst).has(int32(i))
				if got != want {
					t.Errorf("%s: after %q token %q: %v, want %v", c.source, s, token, got, want)
				}
				f := at.Fork()
				if ok, err := f.Accept(int32(i)); ok != want || err != nil {
					t.Errorf("%s: after %q Accept(%q): %v, want %v (%v)", c.source, s, token, ok, want, err)
				}
				judged++
				if want {
					allowed++
				}
			}
		}
		if allowed < 10 || allowed > judged-10 {
			t.Errorf("%s: %d of %d tokens allowed: not much of a test", c.source, allowed, judged)
		}
		if testing.Verbose() {
			fmt.Println(c.source, judged, allowed)
		}
	}
}

func compiled(source string, schema *SchemaConfig) (*Grammar, error) {
	if schema == nil {
		return Parse(context.Background(), source, constraint.Limits{})
	}
	return JSONSchema(context.Background(), []byte(source), *schema)
}
