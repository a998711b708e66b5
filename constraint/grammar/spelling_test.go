package grammar

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A canonical text is one of few, and a value has one.
func TestCanonical(t *testing.T) {
	compile := func(source string) *Grammar {
		g, err := JSONSchema(t.Context(), []byte(source), SchemaConfig{Spelling: Canonical})
		require.NoError(t, err)
		return g
	}
	for source, cases := range map[string]map[string]bool{
		`{}`: {`0`: true, `-0`: false, `-0.5`: true, `0.50`: false, `1.0`: false, `1e1`: false, `10`: true, `-10.25`: true, `[1, 2]`: false, `[1,2]`: true, ` 1`: false,
			`"a/b"`: true, `"a\/b"`: false, `"\u0061"`: false, `"\n\"\\\b"`: true, `"\u000a"`: false, `"\u001f\u0000"`: true, `"\u001F"`: false, `"é😀"`: true, `"\u00e9"`: false,
			`{"b":1,"a":2}`: true, `{"\u0062":1}`: false},
		`{"type":"string","pattern":"^.$","minLength":1}`:                                  {`"\u0001"`: true, `"\u0021"`: false, `"!"`: true, `"\t"`: true, `"\u0009"`: false},
		`{"type":"integer","multipleOf":5,"minimum":-20}`:                                  {`-20`: true, `5.0`: false, `-0`: false, `0`: true, `-25`: false},
		`{"type":"number","multipleOf":0.25}`:                                              {`0.25`: true, `0.250`: false, `1.5`: true, `1`: true},
		`{"enum":[1,2.5,-0.0,"a\u0007"]}`:                                                  {`1`: true, `1.0`: false, `2.5`: true, `2.50`: false, `0`: true, `-0`: false, `"a\u0007"`: true},
		`{"required":["b","a"],"properties":{"c":{},"d":{}}}`:                              {`{"c":1,"d":2,"b":3,"a":4}`: true, `{"c":1,"a":4,"b":3}`: false, `{"b":3,"a":4,"z":1}`: true},
		`{"required":["b","a"],"additionalProperties":false,"properties":{"a":{},"b":{}}}`: {`{"a":1,"b":2}`: true, `{"b":2,"a":1}`: false},
	} {
		g := compile(source)
		for text, want := range cases {
			require.Equal(t, want, g.Accepts(text), "%s: %s", source, text)
		}
	}
	// All texts of one character and of small numbers, spelled by another hand.
	g, n := compile(`{}`), 0
	for r := range rune(0x3000) {
		if r == 0x2028 || r == 0x2029 {
			continue // package json escapes them for JavaScript's sake
		}
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		require.NoError(t, e.Encode(string(r)))
		want := strings.TrimSpace(b.String())
		for _, text := range []string{want, fmt.Sprintf(`"\u%04x"`, r), fmt.Sprintf(`"\u%04X"`, r)} {
			require.Equal(t, text == want, g.Accepts(text), text)
			n++
		}
	}
	require.Greater(t, n, 30000)
	_, err := JSONSchema(t.Context(), []byte(`{}`), SchemaConfig{Spelling: 7})
	require.ErrorContains(t, err, "SchemaConfig.Spelling = Spelling(7), want Free or Canonical")
}
