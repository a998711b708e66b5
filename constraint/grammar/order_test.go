package grammar

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// permutations writes the orders of some members.
func permutations(members []string) (all []string) {
	if len(members) < 2 {
		return []string{strings.Join(members, ",")}
	}
	for i, m := range members {
		rest := append(append([]string(nil), members[:i]...), members[i+1:]...)
		for _, p := range permutations(rest) {
			all = append(all, m+","+p)
		}
	}
	return all
}

// Names that are only required come in any order, and among others. Where they are more
// than an automaton can remember, their own order is one that is accepted.
func TestRequiredNamesInAnyOrder(t *testing.T) {
	members := []string{`"a":1`, `"b":2`, `"c":3`, `"d":4`, `"e":5`}
	g := schema(t, `{"required":["a","b","c","d","e"]}`, true)
	orders := permutations(members)
	require.Len(t, orders, 120)
	for _, o := range orders {
		require.True(t, g.Accepts("{"+o+"}"), o)
		require.True(t, g.Accepts(`{"z":0,`+o+`,"z":0}`), o)
		require.False(t, g.Accepts("{"+o[:len(o)-6]+"}"), o)
	}
	for n := 1; n < 20; n++ {
		var names, all []string
		for i := range n {
			names, all = append(names, `"`+string(rune('a'+i))+`"`), append(all, `"`+string(rune('a'+i))+`":1`)
		}
		g := schema(t, `{"required":[`+strings.Join(names, ",")+`]}`, true)
		require.True(t, g.Accepts("{"+strings.Join(all, ",")+"}"), n)
		require.False(t, g.Accepts("{"+strings.Join(all[1:], ",")+"}"), n)
	}
}

// The order of one property's members is not imposed on another's.
func TestOrderIsThatOfTheSchemasThatApply(t *testing.T) {
	for source, cases := range map[string]map[string]bool{
		`{"patternProperties":{"^a":{"properties":{"c":{"type":"null"}}}}}`: {
			`{"b":{"z":2,"c":0}}`: true, `{"b":{"c":0,"z":2}}`: true, `{"a":{"c":null,"z":2}}`: true, `{"a":{"c":0}}`: false,
		},
		`{"patternProperties":{"a":{"properties":{"c":{},"d":{}}},"b":{"properties":{"d":{},"c":{}}}},"additionalProperties":{"properties":{"e":{},"c":{}}}}`: {
			`{"a":{"c":0,"d":0},"b":{"d":0,"c":0},"x":{"e":0,"c":0}}`: true,
		},
		`{"allOf":[{"patternProperties":{"^a":{"properties":{"c":{"type":"null"}}}}},{"properties":{"b":{"type":"object"}}},{"minProperties":1}]}`: {
			`{"b":{"z":2,"c":0}}`: true, `{"x":{"z":2,"c":0}}`: true, `{"ab":{"c":1}}`: false, `{"b":1}`: false, `{}`: false,
		},
	} {
		g := schema(t, source, true)
		for text, want := range cases {
			require.Equal(t, want, g.Accepts(text), "%s: %s", source, text)
		}
	}
}
