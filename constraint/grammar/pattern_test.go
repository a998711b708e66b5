package grammar

import (
	"fmt"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// Space is what ECMA-262 says (White Space and Line Terminators), alone and in classes.
func TestSpaceOfPatterns(t *testing.T) {
	space := func(r rune) bool {
		return r >= '\t' && r <= '\r' || r == 0xFEFF || r == 0x2028 || r == 0x2029 || unicode.Is(unicode.Zs, r)
	}
	for pattern, want := range map[string]func(r rune) bool{
		`^\s$`: space, `^[\s]$`: space, `^[^\S]$`: space,
		`^\S$`: func(r rune) bool { return !space(r) }, `^[^\s]$`: func(r rune) bool { return !space(r) },
		`^[\s\S]$`: func(rune) bool { return true },
		`^[\S ]$`:  func(r rune) bool { return !space(r) || r == ' ' },
		`^[^\S ]$`: func(r rune) bool { return space(r) && r != ' ' },
	} {
		tests, err := (&patterns{ctx: t.Context(), compiled: map[string][]test{}}).pattern(pattern, nil)
		require.NoError(t, err, pattern)
		for r := range rune(unicode.MaxRune + 1) {
			if r >= 0xD800 && r < 0xE000 {
				continue
			}
			if got := passes(tests, string(r)); got != want(r) {
				t.Fatalf("%s: %U %v", pattern, r, got)
			}
		}
	}
}

// A group may ignore case; the error names what is refused.
func TestGroupsOfPatterns(t *testing.T) {
	g := schema(t, `{"type":"string","pattern":"^(?i:ß|a)b$"}`, true)
	for text, want := range map[string]bool{`"ßb"`: true, `"ẞb"`: true, `"Ab"`: true, `"aB"`: false, `"b"`: false} {
		require.Equal(t, want, g.Accepts(text), text)
	}
	for pattern, want := range map[string]string{
		`^(?s:.)$`: "the flags of (?s:", `a(?m-i:^b)`: "the flags of (?m-i:", `a(?=b)`: "a lookaround", `a(?<!b)`: "a lookaround",
	} {
		_, err := JSONSchema(t.Context(), fmt.Appendf(nil, `{"pattern":%q}`, pattern), SchemaConfig{})
		require.ErrorContains(t, err, want, pattern)
	}
}

// In draft 4 an integer is a matter of its spelling, in an enum, too.
func TestIntegersOfDraftFour(t *testing.T) {
	const draft = `"$schema":"http://json-schema.org/draft-04/schema#"`
	for source, cases := range map[string]map[string]bool{
		`{` + draft + `,"type":"integer","enum":[2,3,4]}`:                             {"4": true, "4.0": false, "5": false},
		`{` + draft + `,"type":["integer","array"],"enum":[2,[3]]}`:                   {"2": true, "2.0": false, "[3]": true},
		`{` + draft + `,"type":"number","enum":[2,3.5]}`:                              {"2": true, "2.0": true, "3.50": true},
		`{` + draft + `,"enum":[2]}`:                                                  {"2.0": true},
		`{"type":"integer","enum":[2,3,4]}`:                                           {"4": true, "4.0": true},
		`{` + draft + `,"properties":{"a":{"type":"integer","enum":[1.0]}}}`:          {`{"a":1}`: true, `{"a":1.0}`: false},
		`{` + draft + `,"allOf":[{"type":"integer"},{"enum":[2]}]}`:                   {"2": true, "2.0": false},
		`{` + draft + `,"type":"integer","minimum":1,"maximum":2}`:                    {"2": true, "2.0": false},
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"integer"}`: {"2.0": true, "2.5": false},
		`{` + draft + `,"anyOf":[{"type":"integer","enum":[7]},{"type":"string"}]}`:   {"7": true, "7.0": false, `"x"`: true},
	} {
		g := schema(t, source, true)
		for text, want := range cases {
			require.Equal(t, want, g.Accepts(text), "%s: %s", source, text)
		}
	}
}
