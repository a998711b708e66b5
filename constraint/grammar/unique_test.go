package grammar

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/stretchr/testify/require"
)

// arraysOf writes all arrays of up to n of some texts.
func arraysOf(items []string, n int) (all []string) {
	level := []string{""}
	for range n + 1 {
		var next []string
		for _, a := range level {
			all = append(all, "["+a+"]")
			for _, x := range items {
				next = append(next, strings.TrimPrefix(a+","+x, ","))
			}
		}
		level = next
	}
	return all
}

// TestUniqueItems compares the arrays that are accepted with the definition, by enumeration.
func TestUniqueItems(t *testing.T) {
	texts := []string{`1`, `1.0`, `2`, `true`, `"a"`, `"b"`, `null`, `{"x":1,"y":[2]}`, `{"x":1.00,"y":[2.0]}`, `[]`}
	of := map[string]string{
		`{"items":{"enum":[1,2,"a",{"x":1,"y":[2]},1.0]}}`:                  `1 1.0 2 "a" {"x":1,"y":[2]}`,
		`{"items":{"enum":["a","b"]},"minItems":2}`:                         `"a" "b"`,
		`{"items":{"type":["boolean","null"]},"maxItems":2}`:                `true null`,
		`{"items":{"type":"integer","minimum":0.5,"maximum":2.5}}`:          `1 1.0 2`,
		`{"prefixItems":[{"const":1},{"enum":[1,2]}],"items":false}`:        `1 1.0 2`,
		`{"items":{"anyOf":[{"const":"a"},{"$ref":"#/$defs/two"}]}}`:        `"a" 2`,
		`{"items":{"allOf":[{},{"enum":[1,"a"]}],"type":"string"}}`:         `"a"`,
		`{"items":{"enum":[1,2,"a","b",null,true]},"contains":{"const":2}}`: `1 1.0 2 "a" "b" null true`,
		`{"not":{"items":{"enum":[1,2]},"uniqueItems":true}}`:               `1 1.0 2 true "a" "b" null {"x":1,"y":[2]} []`,
	}
	for source, allowed := range of {
		if !strings.Contains(source, "not") {
			source = strings.TrimSuffix(source, "}") + `,"uniqueItems":true}`
		}
		source = `{"type":"array","$defs":{"two":{"const":2}},` + source[1:]
		g := schema(t, source, true)
		yes := 0
		for _, a := range arraysOf(texts, 3) {
			var v []any
			require.NoError(t, json.Unmarshal([]byte(a), &v))
			unique, known := true, true
			var s map[string]any
			require.NoError(t, json.Unmarshal([]byte(source), &s))
			for i, x := range v {
				for _, y := range v[:i] {
					unique = unique && !reflect.DeepEqual(x, y)
				}
				found := false
				for _, w := range strings.Fields(allowed) {
					var y any
					require.NoError(t, json.Unmarshal([]byte(w), &y))
					found = found || reflect.DeepEqual(x, y)
				}
				known = known && found
			}
			want := unique && known
			if inner, is := s["not"]; is {
				want = !(unique && valid(inner, v, nil))
			} else {
				want = want && valid(s, v, s)
			}
			require.Equal(t, want, g.Accepts(a), "%s: %s", source, a)
			if want {
				yes++
			}
		}
		require.Greater(t, yes, 1, source)
	}
	// Draws and masks read the same language.
	g := schema(t, `{"type":"array","items":{"enum":["a","b","c"]},"uniqueItems":true}`, true)
	l, err := g.Over(t.Context(), text.Bytes())
	require.NoError(t, err)
	n, _, _ := l.Size()
	require.Greater(t, n, 8) // a state for each set, at least
}

// What would take too many states is refused by name, whatever its size.
func TestUniqueItemsThatAreTooMany(t *testing.T) {
	for source, want := range map[string]string{
		`{"items":{"type":"string"},"uniqueItems":true}`:                                        "#/uniqueItems: supported only where items are of an enum",
		`{"items":{"enum":[` + listed(20, "%d") + `]},"uniqueItems":true}`:                      "#/uniqueItems: items may have 20 values and an array 20 of them",
		`{"items":{"enum":[` + listed(70, "%d") + `]},"maxItems":2,"uniqueItems":true}`:         "#/uniqueItems: items may have 70 values and an array 2 of them",
		`{"items":{"type":"integer","minimum":0,"maximum":1e300},"uniqueItems":true}`:           "#/uniqueItems: supported only",
		`{"items":{"type":"integer","minimum":0,"maximum":64},"uniqueItems":true,"maxItems":2}`: "#/uniqueItems: supported only",
		`{"items":{"$ref":"#/items"},"uniqueItems":true}`:                                       "#/uniqueItems: supported only",
	} {
		_, err := JSONSchema(t.Context(), []byte(source), SchemaConfig{})
		var e *SchemaError
		require.ErrorAs(t, err, &e, source)
		require.ErrorContains(t, err, want)
		require.True(t, e.Unsupported)
	}
	for _, source := range []string{
		`{"items":{"type":"string"},"uniqueItems":true,"maxItems":1}`,
		`{"items":{"type":"string"},"uniqueItems":false}`,
		`{"items":{"enum":[` + listed(40, "%d") + `]},"maxItems":2,"uniqueItems":true}`,
		`{"items":{"enum":[` + listed(9, `"%d"`) + `]},"uniqueItems":true}`,
	} {
		_, err := JSONSchema(t.Context(), []byte(source), SchemaConfig{})
		require.NoError(t, err, source)
	}
	_, err := JSONSchema(t.Context(), []byte(`{"type":"array","items":{"type":"boolean"},"uniqueItems":true,"minItems":3}`), SchemaConfig{})
	require.ErrorContains(t, err, "no value satisfies")
	require.ErrorContains(t, err, "#/uniqueItems")
}
