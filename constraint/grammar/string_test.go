package grammar

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
)

// TestStrings compares JSON strings with encoding/json and package regexp.
func TestStrings(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 17))
	pieces := []string{"a", "b", `\n`, `\u0061`, `\u00e9`, `\ud83d\ude00`, `\ud83d`, `\ude00`, "é", "😀", "\xff", "\x01", `\/`, `\x`, `"`, `\u12G4`, "\xed\xa0\x80", "\xc0\x80", "\xf4\x90\x80\x80", "€"}
	for _, c := range []struct {
		schema string
		want   func(s string) bool
	}{
		{`{"type":"string"}`, func(s string) bool { return true }},
		{`{"type":"string","minLength":2,"maxLength":3}`, func(s string) bool { n := len([]rune(s)); return n >= 2 && n <= 3 }},
		{`{"type":"string","pattern":"^a.*b$"}`, regexp.MustCompile(`^a[^\n\r]*b$`).MatchString},
		{`{"type":"string","pattern":"^(?!ab)(?=.b)"}`, regexp.MustCompile(`^[^\n\r]b`).MatchString},
		{`{"enum":["ab","é"]}`, func(s string) bool { return s == "ab" || s == "é" }},
	} {
		g, err := JSONSchema(context.Background(), []byte(c.schema), SchemaConfig{})
		require.NoError(t, err)
		yes := 0
		for range 4000 {
			s := `"`
			for range r.IntN(4) {
				s += pieces[r.IntN(len(pieces))]
			}
			s += `"`
			var decoded string
			want := json.Unmarshal([]byte(s), &decoded) == nil && utf8.ValidString(s) && !strings.Contains(decoded, "\uFFFD") && c.want(decoded)
			if strings.Contains(c.schema, "?!") && strings.HasPrefix(decoded, "ab") {
				want = false
			}
			// Beyond U+00FF a constrained string has no \u escapes.
			if strings.Contains(s, `\ud83d\ude00`) && (strings.Contains(c.schema, "pattern") || strings.Contains(c.schema, "enum")) {
				continue
			}
			require.Equal(t, want, g.Accepts(s), "%s: %s", c.schema, s)
			if want {
				yes++
			}
		}
		require.Positive(t, yes, c.schema)
	}
}

// TestEscapes compares every \u escape below U+0100 with the character itself, in patterns where
// different digits have the same effect, and with a restricted length.
func TestEscapes(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{"{\"type\":\"string\",\"pattern\":\"^(x[`-o]|y[0-?])z$\"}", "^(x[`-o]|y[0-?])z$"},
		{`{"type":"string","pattern":"^(x[^0-9a-f]|y[0-9é])z$"}`, "^(x[^0-9a-f]|y[0-9é])z$"},
		{`{"type":"string","maxLength":3,"pattern":"^(x[A-Z].*|y[^A-Z]?z)$"}`, `^(x[A-Z][^\n\r]?|y[^A-Z]?z)$`},
		{`{"type":"string","enum":["xaz","xbz","ypz","yz"]}`, "^(x[ab]z|yp?z)$"},
	} {
		of := regexp.MustCompile(c.want)
		for _, order := range []string{"xy", "yx"} {
			g, err := JSONSchema(context.Background(), []byte(c.schema), SchemaConfig{})
			require.NoError(t, err)
			l, err := g.Over(context.Background(), text.Bytes())
			require.NoError(t, err)
			yes := 0
			for _, first := range order {
				for r := range rune(0x100) {
					for _, format := range []string{`"%c\u%04xz"`, `"%c\u%04Xz"`} {
						s := fmt.Sprintf(format, first, r)
						want := of.MatchString(string([]rune{first, r, 'z'}))
						require.Equal(t, want, g.Accepts(s), "%s: %s", c.schema, s)
						require.Equal(t, want, accepts(l, s), "%s: %s", c.schema, s)
						if want {
							yes++
						}
					}
				}
			}
			require.Positive(t, yes, c.schema)
		}
	}
}

// accepts reports whether a language over bytes contains a text.
func accepts(l *Language, text string) bool {
	q := l.Start()
	for i := 0; i < len(text) && q >= 0; i++ {
		q = l.Next(q, int32(text[i]))
	}
	return q >= 0 && l.Accepting(q)
}

// TestRests compares the lengths of completions with an enumeration, for patterns whose lengths
// are periodic and others.
func TestRests(t *testing.T) {
	const most = 40
	for _, pattern := range []string{`(ab)*`, `(...)*b?`, `(aa)*|(bbb)*`, `(ab|cde)*f`, `(é.){2,3}`, `((..)*c|(...)*d){2}`} {
		d, err := text.Regexp(context.Background(), pattern, text.Bytes(), constraint.Limits{})
		require.NoError(t, err)
		r := restsOf(d)
		require.NotNil(t, r, pattern)
		characters := []string{"é", "€", "😀"}
		for b := byte(' '); b < 0x7F; b++ {
			characters = append(characters, string(b))
		}
		after := func(q int, c string) int {
			for i := 0; i < len(c) && q >= 0; i++ {
				q = d.Next(q, int32(c[i]))
			}
			return q
		}
		level := map[int]bool{} // whether n characters are accepted, for states between two characters
		todo := []int{d.Start()}
		for len(todo) > 0 {
			q := todo[0]
			todo = todo[1:]
			if _, seen := level[q]; q < 0 || seen {
				continue
			}
			level[q] = d.Accepting(q)
			for _, c := range characters {
				todo = append(todo, after(q, c))
			}
		}
		for n := range most {
			for q, accepts := range level {
				require.Equal(t, accepts, r.between(int32(q), n, n), "%s: state %d, %d characters", pattern, q, n)
			}
			next := map[int]bool{}
			for q := range level {
				next[q] = slices.ContainsFunc(characters, func(c string) bool {
					to := after(q, c)
					return to >= 0 && level[to]
				})
			}
			level = next
		}
	}
}
