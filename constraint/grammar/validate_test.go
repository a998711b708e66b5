package grammar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/stretchr/testify/require"
)

// valid is JSON Schema by its definition, on decoded values: it shares nothing
// with the compiler.
func valid(s any, v any, root map[string]any) bool {
	if b, ok := s.(bool); ok {
		return b
	}
	m := s.(map[string]any)
	list := func(k string) []any { l, _ := m[k].([]any); return l }
	if ref, ok := m["$ref"].(string); ok && !valid(root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")], v, root) {
		return false
	}
	if t, ok := m["type"]; ok {
		names := list("type")
		if name, ok := t.(string); ok {
			names = []any{name}
		}
		f, isNumber := v.(float64)
		name := map[string]string{"string": "string", "float64": "number", "bool": "boolean", "map[string]interface {}": "object", "[]interface {}": "array"}[fmt.Sprintf("%T", v)]
		if v == nil {
			name = "null"
		}
		if !slices.Contains(names, any(name)) && !(isNumber && f == float64(int(f)) && slices.Contains(names, any("integer"))) {
			return false
		}
	}
	if e, ok := m["enum"]; ok && !slices.ContainsFunc(e.([]any), func(x any) bool { return reflect.DeepEqual(x, v) }) {
		return false
	}
	if c, ok := m["const"]; ok && !reflect.DeepEqual(c, v) {
		return false
	}
	for _, x := range list("allOf") {
		if !valid(x, v, root) {
			return false
		}
	}
	passing := func(xs []any) (n int) {
		for _, x := range xs {
			if valid(x, v, root) {
				n++
			}
		}
		return n
	}
	if x := list("anyOf"); x != nil && passing(x) == 0 {
		return false
	}
	if x := list("oneOf"); x != nil && passing(x) != 1 {
		return false
	}
	if x, ok := m["not"]; ok && valid(x, v, root) {
		return false
	}
	if x, ok := m["if"]; ok {
		k := "else"
		if valid(x, v, root) {
			k = "then"
		}
		if y, ok := m[k]; ok && !valid(y, v, root) {
			return false
		}
	}
	number := func(k string) (float64, bool) { f, ok := m[k].(float64); return f, ok }
	switch v := v.(type) {
	case float64:
		if b, ok := number("minimum"); ok && v < b {
			return false
		}
		if b, ok := number("exclusiveMaximum"); ok && v >= b {
			return false
		}
		if b, ok := number("multipleOf"); ok && v/b != float64(int(v/b)) {
			return false
		}
	case string:
		n := utf8.RuneCountInString(v)
		if b, ok := number("minLength"); ok && n < int(b) {
			return false
		}
		if b, ok := number("maxLength"); ok && n > int(b) {
			return false
		}
		if p, ok := m["pattern"].(string); ok && !regexp.MustCompile(p).MatchString(v) {
			return false
		}
	case []any:
		if b, ok := number("minItems"); ok && len(v) < int(b) {
			return false
		}
		if b, ok := number("maxItems"); ok && len(v) > int(b) {
			return false
		}
		first := list("prefixItems")
		matched := 0
		for i, x := range v {
			if i < len(first) {
				if !valid(first[i], x, root) {
					return false
				}
			} else if rest, ok := m["items"]; ok && !valid(rest, x, root) {
				return false
			}
			if c, ok := m["contains"]; ok && valid(c, x, root) {
				matched++
			}
		}
		if _, ok := m["contains"]; ok {
			most, bounded := number("maxContains")
			least, given := number("minContains")
			if !given {
				least = 1
			}
			if matched < int(least) || bounded && matched > int(most) {
				return false
			}
		}
	case map[string]any:
		for _, k := range list("required") {
			if _, ok := v[k.(string)]; !ok {
				return false
			}
		}
		if d, ok := m["dependentRequired"].(map[string]any); ok {
			for k, needs := range d {
				for _, n := range needs.([]any) {
					_, has := v[k]
					if _, also := v[n.(string)]; has && !also {
						return false
					}
				}
			}
		}
		properties, _ := m["properties"].(map[string]any)
		patterns, _ := m["patternProperties"].(map[string]any)
		for k, x := range v {
			known := false
			if s, ok := properties[k]; ok {
				known = true
				if !valid(s, x, root) {
					return false
				}
			}
			for p, s := range patterns {
				if regexp.MustCompile(p).MatchString(k) {
					known = true
					if !valid(s, x, root) {
						return false
					}
				}
			}
			if s, ok := m["additionalProperties"]; ok && !known && !valid(s, x, root) {
				return false
			}
			if s, ok := m["propertyNames"]; ok && !valid(s, k, root) {
				return false
			}
		}
	}
	return true
}

// texts writes a value with its members in every order.
func texts(v any) []string {
	switch v := v.(type) {
	case []any:
		out := []string{""}
		for i, x := range v {
			var next []string
			for _, o := range out {
				for _, t := range texts(x) {
					if i > 0 {
						t = "," + t
					}
					next = append(next, o+t)
				}
			}
			out = next
		}
		for i := range out {
			out[i] = "[" + out[i] + "]"
		}
		return out
	case map[string]any:
		var names []string
		for k := range v {
			names = append(names, k)
		}
		slices.Sort(names)
		var out []string
		var permute func(done string, left []string)
		permute = func(done string, left []string) {
			if len(left) == 0 {
				out = append(out, "{"+done+"}")
			}
			for i, k := range left {
				rest := slices.Delete(slices.Clone(left), i, i+1)
				for _, t := range texts(v[k]) {
					sep := ""
					if done != "" {
						sep = ", "
					}
					permute(fmt.Sprintf("%s%s%q: %s", done, sep, k, t), rest)
				}
			}
		}
		permute("", names)
		return out
	}
	b, _ := json.Marshal(v)
	return []string{string(b)}
}

func pick[T any](r *rand.Rand, xs ...T) T { return xs[r.IntN(len(xs))] }

func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(9); {
	case n == 0:
		return nil
	case n == 1:
		return r.IntN(2) == 0
	case n == 2:
		return pick(r, -1.0, 0, 1, 2, 2.5, 10, 12)
	case n <= 4 || depth == 0:
		return pick(r, "", "a", "ab", "é", "a\n", "abc")
	case n == 5:
		l := []any{}
		for range r.IntN(4) {
			l = append(l, randomValue(r, depth-1))
		}
		return l
	}
	m := map[string]any{}
	for range r.IntN(4) {
		m[pick(r, "a", "b", "c")] = randomValue(r, depth-1)
	}
	return m
}

func randomSchema(r *rand.Rand, depth int) any {
	if r.IntN(8) == 0 {
		return r.IntN(3) > 0
	}
	m := map[string]any{}
	sub := func() any {
		if depth == 0 {
			return true
		}
		return randomSchema(r, depth-1)
	}
	subs := func() []any { return []any{sub(), sub()} }
	for range 1 + r.IntN(3) {
		switch r.IntN(26) {
		case 0, 1, 2:
			m["type"] = pick[any](r, "object", "object", "array", "string", "integer", "number", []any{"null", "boolean", "object"})
		case 3:
			m["enum"] = []any{randomValue(r, 1), randomValue(r, 1), "a"}
		case 4:
			m["const"] = randomValue(r, 2)
		case 5, 6, 7, 8:
			p := map[string]any{}
			for _, k := range []string{"a", "b"} {
				if r.IntN(2) == 0 {
					p[k] = sub()
				}
			}
			m["properties"] = p
		case 9:
			m["required"] = []any{pick(r, "a", "b", "c")}
		case 10:
			m["additionalProperties"] = sub()
		case 11:
			m["patternProperties"] = map[string]any{pick(r, "a", "^[bc]"): sub()}
		case 12:
			m["items"] = sub()
		case 13:
			m["prefixItems"] = []any{sub()}
		case 14:
			m["contains"] = sub()
			if r.IntN(2) == 0 {
				m["maxContains"] = 1.0
			}
			if r.IntN(2) == 0 {
				m["minContains"] = pick(r, 0.0, 1, 2)
			}
		case 15:
			m["minItems"], m["maxItems"] = 1.0, 2.0
		case 16:
			m["minimum"] = pick(r, 0.0, 1.5, -1)
		case 17:
			m["exclusiveMaximum"] = pick(r, 2.5, 10.0)
		case 18:
			m["multipleOf"] = pick(r, 2.0, 0.5, 5)
		case 19:
			m["minLength"], m["maxLength"] = 1.0, 2.0
		case 20:
			m["pattern"] = pick(r, "a", "^a.?$", "b$")
		case 21:
			m["anyOf"] = subs()
		case 22:
			m["oneOf"] = subs()
		case 23:
			m["not"] = sub()
		case 24:
			m["if"], m["then"], m["else"] = sub(), sub(), sub()
		case 25:
			m["allOf"] = subs()
			if r.IntN(2) == 0 {
				m["dependentRequired"] = map[string]any{"a": []any{"b"}}
			}
			if r.IntN(2) == 0 {
				m["propertyNames"] = pick(r, map[string]any{"enum": []any{"a", "b"}}, map[string]any{"maxLength": 0.0}, map[string]any{"pattern": "[ab]", "minLength": 1.0})
			}
			if r.IntN(2) == 0 {
				m["items"] = map[string]any{"$ref": "#/$defs/x"}
			}
		}
	}
	return m
}

// TestSchemasAgainstTheirDefinition judges random instances of random schemas.
// What is accepted must be valid; what is valid must be accepted with its
// members in some order.
func TestSchemasAgainstTheirDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 17))
	schemas := 6000
	if testing.Short() {
		schemas = 600
	}
	compiled, yes, no := 0, 0, 0
	for range schemas {
		root := map[string]any{"allOf": []any{randomSchema(r, 2)}, "$defs": map[string]any{"x": randomSchema(r, 1)}}
		source, err := json.Marshal(root)
		require.NoError(t, err)
		if strings.Contains(string(source), `"x":{"`) && strings.Contains(fmt.Sprint(root["$defs"]), "$ref") {
			continue // may refer to itself before it reads anything
		}
		g, err := JSONSchema(context.Background(), source, SchemaConfig{})
		if !errors.Is(err, constraint.ErrInfeasible) {
			require.NoError(t, err, "%s", source)
		}
		compiled++
		for range 25 {
			v := randomValue(r, 2)
			want := valid(root, v, root)
			got := err == nil && slices.ContainsFunc(texts(v), g.Accepts)
			if want {
				yes++
			} else {
				no++
			}
			require.Equal(t, want, got, "%s\n%s", source, texts(v)[0])
		}
	}
	require.Greater(t, min(yes, no), compiled)
}

// TestComplements judges what schemas refuse without reading anything side by side.
func TestComplements(t *testing.T) {
	for schema, texts := range map[string]map[string]bool{
		`{"not":{"type":"integer"}}`:                                        {`1`: false, `1.0`: false, `1.5`: true, `"a"`: true, `-0.25`: true},
		`{"not":{"multipleOf":2.5},"type":"number"}`:                        {`5`: false, `2.50`: false, `2.51`: true, `1`: true, `0`: false},
		`{"allOf":[{"multipleOf":4},{"multipleOf":0.6}],"type":"number"}`:   {`12`: true, `4`: false, `0.6`: false, `24.0`: true},
		`{"not":{"enum":[1,2.50,"a"]}}`:                                     {`1.0`: false, `2.5`: false, `2.51`: true, `"a"`: false, `"b"`: true, `[1]`: true},
		`{"not":{"enum":[true]}}`:                                           {`true`: false, `false`: true, `null`: true},
		`{"not":{"additionalProperties":false,"properties":{"a":true}}}`:    {`{}`: false, `{"a":1}`: false, `{"b":1}`: true, `{"b":1,"c":2}`: true, `1`: false},
		`{"not":{"additionalProperties":{"type":"null"}}}`:                  {`{}`: false, `{"a":null}`: false, `{"a":null,"b":1}`: true, `{"b":1,"a":null}`: true},
		`{"not":{"patternProperties":{"^a":{"const":1}}}}`:                  {`{"b":2}`: false, `{"ab":1}`: false, `{"ab":1,"ac":2}`: true},
		`{"not":{"propertyNames":{"maxLength":1}}}`:                         {`{"é":1}`: false, `{"a":1,"éé":2}`: true, `{}`: false},
		`{"not":{"propertyNames":{"minLength":2,"enum":["aa","b"]}}}`:       {`{"aa":1}`: false, `{"b":1}`: true, `{"cc":1}`: true},
		`{"not":{"format":"date-time"},"type":"string"}`:                    {`"2024-02-29T10:00:00Z"`: false, `"soon"`: true},
		`{"not":{"format":"date"},"type":"string"}`:                         {`"2024-02-29"`: false, `"2023-02-29"`: true},
		`{"oneOf":[{"format":"uri"},{"const":"a:b"}],"type":"string"}`:      {`"a:b"`: false, `"c:d"`: true, `"a"`: false},
		`{"not":{"propertyNames":false}}`:                                   {`{}`: false, `{"a":1}`: true},
		`{"not":{"minProperties":2},"type":"object"}`:                       {`{}`: true, `{"a":1}`: true, `{"a":1,"b":1}`: false},
		`{"not":{"contains":{"const":1},"minContains":2},"type":"array"}`:   {`[]`: true, `[1]`: true, `[1,1]`: false, `[1,0,1]`: false, `[1,0]`: true},
		`{"not":{"contains":{"const":1},"maxContains":1},"type":"array"}`:   {`[]`: true, `[1]`: false, `[1,1]`: true, `[0]`: true, `[1,0]`: false},
		`{"not":{"prefixItems":[true],"items":{"const":1}},"type":"array"}`: {`[]`: false, `[2]`: false, `[2,1]`: false, `[1,2]`: true, `[2,1,2]`: true},
		`{"allOf":[{"contains":{"const":1}},{"contains":{"type":"string"}},{"contains":{"enum":[1,2]},"maxContains":1}]}`: {
			`["a",1]`: true, `[1]`: false, `[1,"a",2]`: false, `["b",2]`: false, `[1,3,"c"]`: true},
		`{"type":"object","dependencies":{"a":["b"],"b":["c"],"c":["d"],"d":["e"],"e":["f"]}}`: {
			`{"a":1}`: false, `{"e":1,"f":2}`: true, `{"d":1,"f":2}`: false, `{}`: true, `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1}`: true},
	} {
		g, err := JSONSchema(context.Background(), []byte(schema), SchemaConfig{})
		require.NoError(t, err, schema)
		require.Empty(t, g.states.n.gates, schema)
		for text, want := range texts {
			require.Equal(t, want, g.Accepts(text), "%s %s", schema, text)
		}
	}
}
