package grammar

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint/text"
)

// mixed is a vocabulary with a token for every byte and many tokens of several kinds of characters,
// some of which end within a character.
func mixed(r *rand.Rand) text.Vocabulary {
	var v text.Vocabulary
	for b := range 256 {
		v.Tokens = append(v.Tokens, string([]byte{byte(b)}))
	}
	alphabets := []string{"abcxyz", "0123456789", "aB1_-.", "abé漢\U0001F600", `a1":,}] `, `ab\nu00"`, " \n"}
	seen := map[string]bool{}
	for len(v.Tokens) < 3000 {
		letters := []rune(alphabets[r.IntN(len(alphabets))])
		s := ""
		for range 2 + r.IntN(1<<r.IntN(6)) {
			s += string(letters[r.IntN(len(letters))])
		}
		s = s[:len(s)-r.IntN(2)]
		if len(s) > 1 && !seen[s] {
			seen[s] = true
			v.Tokens = append(v.Tokens, s)
		}
	}
	v.Padding = []int32{int32(len(v.Tokens))}
	v.Tokens = append(v.Tokens, "")
	return v
}

// TestMasksByKinds compares masks that are derived from kinds of bytes with masks for which every
// token is read byte by byte.
func TestMasksByKinds(t *testing.T) {
	r := rand.New(rand.NewPCG(45, 1))
	v := mixed(r)
	p, err := Prepare(v)
	if err != nil {
		t.Fatal(err)
	}
	safe := 0
	for _, schema := range []string{
		`{"type":"string","pattern":"^[a-zA-Z_]{1,40}$"}`,
		`{"type":"string","pattern":"^[^\"]*b$","minLength":3,"maxLength":20}`,
		`{"type":"string","pattern":"^(a|bb)+$","maxLength":9}`,
		`{"type":"string","pattern":"é","maxLength":12}`,
		`{"type":"string","pattern":"^(%[0-9a-f]{2}|[a-z.-])+$"}`,
		`{"type":"string","pattern":"^[a-z]+([+.-](ab|xyz1)|[a-z])*$"}`,
		`{"type":"string","format":"uri"}`,
		`{"type":"string","allOf":[{"pattern":"a"},{"pattern":"1$"}],"minLength":12}`,
		`{"anyOf":[{"type":"string","pattern":"^[a-c]+$"},{"type":"string","maxLength":3},{"type":"integer","multipleOf":7,"minimum":3},{"type":"null"}]}`,
		`{"anyOf":[{"type":"number","multipleOf":12,"exclusiveMaximum":-5},{"type":"number","multipleOf":0.5,"not":{"multipleOf":5}}]}`,
		`{"type":"integer","minimum":12,"maximum":1234567}`,
		`{"type":"object","patternProperties":{"^[a-z_]{1,30}$":{"type":"integer"}},"additionalProperties":false}`,
		`{"type":"object","properties":{"abc":{"type":"null"},"aB1":{}},"patternProperties":{"^[0-9]+":{"type":"integer"}}}`,
		`{"type":"object","propertyNames":{"pattern":"^[a-z]","maxLength":12},"additionalProperties":{"type":"boolean"}}`,
		`{"type":"object","properties":{"abc":{"type":"null"},"aB1":{},"é漢":{"type":"integer"}},"required":["aB1"]}`,
		`{"anyOf":[{"type":"object","properties":{"abc":{"type":"integer"}},"required":["abc"]},{"type":"array","items":{"enum":["abc",12,true]}}]}`,
	} {
		g, err := JSONSchema(context.Background(), []byte(schema), SchemaConfig{})
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		m, err := g.Masks(context.Background(), p)
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		got, want := make(bitset, m.Words()), make(bitset, m.Words())
		for range 12 {
			at, read := m.Matcher(), ""
			for range 12 {
				if err := at.Mask(got); err != nil {
					t.Fatalf("%s after %q: %v", schema, read, err)
				}
				(&mask{add: m.walk(nil, m.v.trie, 0, at.at), ends: m.accepts(at.at)}).write(want, m.v)
				if !slices.Equal(got, want) {
					t.Fatalf("%s after %q: %s", schema, read, difference(v, got, want))
				}
				var may []int32
				for i, s := range v.Tokens {
					if got.has(int32(i)) && s != "" {
						may = append(may, int32(i))
					}
				}
				if len(may) == 0 {
					break
				}
				next := may[r.IntN(len(may))]
				if ok, err := at.Accept(next); !ok || err != nil {
					t.Fatalf("%s after %q: token %q: %v, %v", schema, read, v.Tokens[next], ok, err)
				}
				read += v.Tokens[next]
			}
		}
		for _, s := range m.safes {
			if s.kinds != 0 {
				safe++
			}
		}
	}
	if safe == 0 {
		t.Error("no state has kinds of bytes that are safe")
	}
}

// TestLettersStaySafe reads strings in which few bytes may follow a sign, and wants letters to be among
// the kinds of bytes that are safe outside.
func TestLettersStaySafe(t *testing.T) {
	p, err := Prepare(mixed(rand.New(rand.NewPCG(45, 2))))
	if err != nil {
		t.Fatal(err)
	}
	small := uint64(1)<<kindOf['a'] | 1<<kindOf['z']
	for schema, text := range map[string]string{
		`{"type":"string","format":"uri","pattern":"^mailto:"}`:        `"mailto:user`,
		`{"type":"string","pattern":"^[a-z]+([+.](ab|xyz)|[a-z;])*$"}`: `"application`,
	} {
		g, err := JSONSchema(t.Context(), []byte(schema), SchemaConfig{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := g.Masks(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		at := m.Matcher()
		for _, b := range []byte(text) {
			if ok, err := at.Accept(int32(b)); !ok || err != nil {
				t.Fatal(schema, ok, err)
			}
		}
		if err := at.Mask(make([]uint32, m.Words())); err != nil {
			t.Fatal(err)
		}
		found := false
		for _, s := range m.texts {
			found = found || s.kinds&small == small
		}
		if !found {
			t.Errorf("%s after %s: no letters are safe", schema, text)
		}
	}
}

// TestNameEnds compares the search that all names of an object share with a search through the
// spellings of the names at one place.
func TestNameEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(45, 3))
	runs := [2]int{} // without and with a name
	for _, schema := range []string{
		`{"properties":{"abc":{"type":"null"}},"required":["abc"],"patternProperties":{"^[a-c]{2,3}$":{"type":"integer"},"c$":{"type":"null"}},"additionalProperties":false}`,
		`{"propertyNames":{"pattern":"^(a|é|\n)+$"},"patternProperties":{"é":{"type":"null"},"^a*$":false},"minProperties":2}`,
		`{"propertyNames":{"pattern":"^\u0001$"},"patternProperties":{"^[^\u0000-\u001F]":false}}`,
		`{"propertyNames":{"enum":["a","ab","b"]},"patternProperties":{"b":false,"^..$":{"type":"null"}}}`,
		`{"propertyNames":{"pattern":"^a","maxLength":3},"patternProperties":{"b$":{"type":"null"}},"not":{"propertyNames":{"pattern":"^[^b]*$"}}}`,
	} {
		g, err := JSONSchema(context.Background(), []byte(schema), SchemaConfig{})
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		n := g.network
		trim := newTrimmer(n)
		for at := range n.nodes {
			run, is := n.nodes[at].scalar.(*nameRun)
			if !is {
				continue
			}
			for range 8 {
				ok := make([]bool, len(n.nodes))
				for i := range ok {
					ok[i] = r.IntN(3) == 0
				}
				x := newTable(run)
				x.leads, x.ok = run, ok
				want := x.live(run.start(), nil)
				if got, err := trim.ends(run, ok); err != nil || got != want {
					t.Fatalf("%s, node %d: some name leads to a useful node: %v, want %v (%v)", schema, at, got, want, err)
				}
				runs[bit(want)]++
			}
		}
	}
	if runs[0] == 0 || runs[1] == 0 {
		t.Errorf("%d places without and %d with a name, want some of each", runs[0], runs[1])
	}
}

func difference(v text.Vocabulary, got, want bitset) string {
	for i, s := range v.Tokens {
		if got.has(int32(i)) != want.has(int32(i)) {
			return fmt.Sprintf("token %q in the mask: %v, want %v", s, got.has(int32(i)), want.has(int32(i)))
		}
	}
	return ""
}

// TestBitsetAll compares ranges of bits with a loop over them.
func TestBitsetAll(t *testing.T) {
	r := rand.New(rand.NewPCG(45, 2))
	b := make(bitset, 5)
	for i := range int32(160) {
		if r.IntN(40) > 0 {
			b.set(i)
		}
	}
	for from := range int32(160) {
		for to := from; to <= 160; to++ {
			want := true
			for i := from; i < to; i++ {
				want = want && b.has(i)
			}
			if b.all(from, to) != want {
				t.Fatalf("all(%d, %d) = %v, want %v", from, to, !want, want)
			}
		}
	}
}
