package generate

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"unicode"

	mathrand "math/rand"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
)

// uniform fails if draws of n values are not uniform, with probability 1e-6 if they are.
func uniform(t *testing.T, count map[string]int, n, draws int, name string) {
	t.Helper()
	require.LessOrEqual(t, len(count), n, name)
	expected := float64(draws) / float64(n)
	chi := float64(n-len(count)) * expected
	for _, c := range count {
		chi += (float64(c) - expected) * (float64(c) - expected) / expected
	}
	require.Greater(t, distuv.ChiSquared{K: float64(n - 1)}.Survival(chi), 1e-6, "%s: χ² = %g of %d values", name, chi, n)
}

func values(t *testing.T, schema string, config Config) *Generator {
	t.Helper()
	g, err := JSON(t.Context(), []byte(schema), config)
	require.NoError(t, err, schema)
	return g
}

// Draws are uniform over texts, and over values of JSON.
func TestUniform(t *testing.T) {
	re, err := Regexp(t.Context(), `a{1,3}|[b-d]x?`, Config{Bytes: 3})
	require.NoError(t, err)
	nested, err := Grammar(t.Context(), `s = "(" s ")" s | ""`, Config{Bytes: 6})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		g *Generator
		n int
	}{
		"regexp":  {re, 9},
		"grammar": {nested, 1 + 1 + 2 + 5}, // Catalan numbers
		"numbers": {values(t, `{"type":"integer","minimum":-3,"maximum":12,"not":{"const":4}}`, Config{}), 15},
		"objects": {values(t, `{"type":"object","properties":{"b":{"type":"boolean"},"a":{"enum":["é","\n",null]}},"required":["b"],"additionalProperties":false}`, Config{}), 8},
		"sets":    {values(t, `{"type":"array","items":{"enum":["x","y","z"]},"uniqueItems":true}`, Config{}), 1 + 3 + 6 + 6},
		"unions":  {values(t, `{"anyOf":[{"type":"integer","minimum":1,"maximum":5},{"type":"integer","minimum":3,"maximum":9}]}`, Config{}), 9},
	} {
		n, err := c.g.Count(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, c.n, n.Int64(), name)
		count, draws, src := map[string]int{}, 200*c.n, rand.NewPCG(1, 2)
		for range draws {
			s, err := c.g.Draw(t.Context(), src)
			require.NoError(t, err)
			require.True(t, c.g.Valid(s), "%s: %s", name, s)
			count[s]++
		}
		uniform(t, count, c.n, draws, name)
	}
}

// A weighted draw is as likely as its weight says.
func TestWeight(t *testing.T) {
	g, err := Regexp(t.Context(), `[ab]`, Config{Weight: func(s string) float64 {
		if s == "a" {
			return 0.25
		}
		return 1
	}})
	require.NoError(t, err)
	count := map[string]int{}
	for seed := range uint64(4000) {
		count[g.Seeded(seed)]++
	}
	require.Less(t, distuv.Binomial{N: 4000, P: 0.2}.CDF(float64(count["a"]))-0.5, 0.499999)
	require.Greater(t, distuv.Binomial{N: 4000, P: 0.2}.CDF(float64(count["a"]))-0.5, -0.499999)
	for w, want := range map[float64]string{2: `Config.Weight("a") = 2, want a number from 0 to 1`, 0: "draws until Config.Weight keeps one"} {
		g, err := Regexp(t.Context(), `a`, Config{Bytes: 1, Weight: func(string) float64 { return w }})
		require.NoError(t, err)
		_, err = g.Draw(t.Context(), rand.NewPCG(1, 1))
		require.ErrorContains(t, err, want)
		if w > 1 {
			require.Panics(t, func() { g.Seeded(1) })
		}
	}
}

// random returns a schema and the Go type of its values, which Go programs would declare.
func random(r *rand.Rand, depth int) (map[string]any, reflect.Type) {
	switch n := r.IntN(7); {
	case n == 0:
		return map[string]any{"type": "boolean"}, reflect.TypeFor[bool]()
	case n == 1:
		low := r.IntN(100) - 50
		return map[string]any{"type": "integer", "minimum": low, "maximum": low + r.IntN(40)}, reflect.TypeFor[int]()
	case n == 2:
		return map[string]any{"type": "number", "multipleOf": 0.25, "minimum": 0, "maximum": 1 + r.IntN(5)}, reflect.TypeFor[float64]()
	case n == 3:
		return map[string]any{"enum": []any{"red", "gr\"n", "blaü"}[:1+r.IntN(3)]}, reflect.TypeFor[string]()
	case n == 4 || depth == 0:
		return map[string]any{"type": "string", "maxLength": r.IntN(3)}, reflect.TypeFor[string]()
	case n == 5:
		s, of := random(r, 0)
		return map[string]any{"type": "array", "items": s, "maxItems": 1 + r.IntN(2)}, reflect.SliceOf(of)
	}
	properties, required := map[string]any{}, []string{}
	var fields []reflect.StructField
	for i := range 1 + r.IntN(3) {
		name := string(rune('a' + i))
		s, of := random(r, depth-1)
		properties[name] = s
		tag := name
		if r.IntN(2) == 0 {
			required = append(required, name)
		} else {
			of, tag = reflect.PointerTo(of), name+",omitzero"
		}
		fields = append(fields, reflect.StructField{Name: string(unicode.ToUpper(rune(name[0]))), Type: of, Tag: reflect.StructTag(fmt.Sprintf(`json:"%s"`, tag))})
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}, reflect.StructOf(fields)
}

var (
	schemas = flag.Int("schemas", 12, "random schemas of TestDecodes: 200 take some minutes")
	draws   = flag.Int("draws", 100, "draws from each of them, 20 a value where values are enumerable")
)

// What is drawn from a schema decodes into the Go type that it describes, a value for each text,
// and uniformly where there are few values.
//
//	go test ./generate -run Decodes -schemas 200 -draws 500 -v
func TestDecodes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	decoded, tested := 0, 0
	for range *schemas {
		s, of := random(r, 2)
		source, err := json.Marshal(s)
		require.NoError(t, err)
		g, err := JSON(t.Context(), source, Config{Bytes: 48})
		require.NoError(t, err, "%s", source)
		size, err := g.Count(t.Context())
		require.NoError(t, err)
		count, src := map[string]int{}, rand.NewPCG(7, 8)
		for range *draws {
			text, err := g.Draw(t.Context(), src)
			require.NoError(t, err)
			v := reflect.New(of)
			d := json.NewDecoder(strings.NewReader(text))
			d.DisallowUnknownFields()
			require.NoError(t, d.Decode(v.Interface()), "%s: %s", source, text)
			decoded++
			if !size.IsInt64() || size.Int64()*20 > int64(*draws) {
				continue
			}
			again, err := json.Marshal(v.Interface())
			require.NoError(t, err)
			require.JSONEq(t, text, string(again))
			count[text]++
		}
		if n := size.Int64(); size.IsInt64() && n*20 <= int64(*draws) {
			if n > 1 {
				uniform(t, count, int(n), *draws, string(source))
			}
			tested++
		}
	}
	t.Logf("%d draws of %d schemas decoded; uniform over the values of %d", decoded, *schemas, tested)
	require.Positive(t, decoded)
}

const person = `{
	"type": "object",
	"properties": {
		"name": {"type": "string", "minLength": 1, "maxLength": 8},
		"age": {"type": "integer", "minimum": 0, "maximum": 120},
		"tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}, "maxItems": 3},
		"size": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 3, "multipleOf": 0.5}
	},
	"required": ["name", "age"],
	"additionalProperties": false,
	"$defs": {"tag": {"enum": ["a", "b", "ü"]}}
}`

// Edges meet each limit, and come once.
func TestEdges(t *testing.T) {
	g := values(t, person, Config{Bytes: 72})
	var all []string
	for s, err := range g.Edges(t.Context()) {
		require.NoError(t, err)
		require.True(t, g.Valid(s), s)
		require.NotContains(t, all, s)
		all = append(all, s)
	}
	for _, part := range []string{`"age":0`, `"age":120`, `"tags":[]`, `"size":1`, `"size":2`, `"ü"`} {
		require.True(t, slices.ContainsFunc(all, func(s string) bool { return strings.Contains(s, part) }), "%s: %q", part, all)
	}
	require.Len(t, all[0], len(`{"name":"x","age":0}`))
	for range g.Edges(t.Context()) {
		break
	}
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errors.New("enough"))
	for _, err := range g.Edges(ctx) {
		require.ErrorContains(t, err, "enough")
	}
	re, err := Regexp(t.Context(), `[a-zé]{0,4}`, Config{})
	require.NoError(t, err)
	all = nil
	for s := range re.Edges(t.Context()) {
		all = append(all, s)
	}
	require.Contains(t, all, "")
	require.Contains(t, all, "éééé")
}

// Each instance breaks the keyword that it names.
func TestInvalid(t *testing.T) {
	g := values(t, person, Config{Bytes: 72})
	found := map[string]string{}
	for x, err := range g.Invalid(t.Context()) {
		require.NoError(t, err)
		require.True(t, json.Valid([]byte(x.Text)), x.Text)
		require.False(t, g.Valid(x.Text), x.Text)
		found[x.Keyword] = x.Text
	}
	for _, k := range []string{"#/type", "#/required", "#/additionalProperties", "#/properties/name/minLength", "#/properties/name/maxLength", "#/properties/name/type",
		"#/properties/age/minimum", "#/properties/age/maximum", "#/properties/age/type", "#/properties/tags/maxItems", "#/properties/tags/items/$ref/enum",
		"#/properties/size/exclusiveMinimum", "#/properties/size/exclusiveMaximum", "#/properties/size/multipleOf"} {
		require.Contains(t, found, k)
	}
	var v struct {
		Name *string
		Age  *float64
	}
	require.NoError(t, json.Unmarshal([]byte(found["#/properties/age/maximum"]), &v))
	require.Greater(t, *v.Age, 120.0)
	require.NotNil(t, v.Name)
	for range g.Invalid(t.Context()) {
		break
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for _, err := range g.Invalid(ctx) {
		require.ErrorIs(t, err, context.Canceled)
	}
	re, err := Regexp(t.Context(), `a`, Config{})
	require.NoError(t, err)
	for x := range re.Invalid(t.Context()) {
		require.Fail(t, x.Text)
	}
	// Every kind of keyword, once.
	g = values(t, `{"allOf":[{"prefixItems":[{"pattern":"^a+$","type":"string"},{"format":"date"},{"const":1},{"anyOf":[{"type":"null"},{"type":"boolean"}]}],"minItems":4,"maxItems":4}],
		"type":"array","contains":{"const":1},"not":{"maxItems":3},"if":true,"then":{"minItems":1}}`, Config{Bytes: 40})
	found = map[string]string{}
	for x, err := range g.Invalid(t.Context()) {
		require.NoError(t, err)
		found[x.Keyword] = x.Text
	}
	for _, k := range []string{"#/allOf/0/prefixItems/0/pattern", "#/allOf/0/prefixItems/1/format", "#/allOf/0/prefixItems/2/const", "#/allOf/0/prefixItems/3/anyOf"} {
		require.Contains(t, found, k)
	}
}

// Values are arguments for testing/quick.
func TestQuick(t *testing.T) {
	type point struct{ X, Y int }
	g := values(t, `{"type":"object","properties":{"X":{"type":"integer","minimum":1,"maximum":9},"Y":{"enum":[3]}},"required":["X","Y"],"additionalProperties":false}`, Config{})
	between := func(p point) bool { return p.X >= 1 && p.X <= 9 && p.Y == 3 }
	next := func(args []reflect.Value, r *mathrand.Rand) {
		g.Values(args, []reflect.Type{reflect.TypeFor[point]()}, r.Uint64)
	}
	require.NoError(t, quick.Check(between, &quick.Config{Values: next}))
	re, err := Regexp(t.Context(), `ab*`, Config{})
	require.NoError(t, err)
	require.NoError(t, quick.Check(func(s string) bool { return s[0] == 'a' }, &quick.Config{Values: func(args []reflect.Value, r *mathrand.Rand) {
		re.Values(args, []reflect.Type{reflect.TypeFor[string]()}, r.Uint64)
	}}))
	require.Panics(t, func() { g.Values(make([]reflect.Value, 1), []reflect.Type{reflect.TypeFor[int]()}, rand.Uint64) })
	var p point
	require.NoError(t, g.Into(&p, 4))
	require.True(t, between(p))
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		make func() (*Generator, error)
		want string
	}{
		{func() (*Generator, error) {
			return JSON(t.Context(), []byte(`{"type":"string","minLength":9}`), Config{Bytes: 9})
		}, "Config.Bytes = 9"},
		{func() (*Generator, error) { return JSON(t.Context(), []byte(`{`), Config{}) }, "schema"},
		{func() (*Generator, error) { return JSON(t.Context(), []byte(`{"format":"x"}`), Config{}) }, `format "x" is not supported`},
		{func() (*Generator, error) {
			return JSON(t.Context(), []byte(`{"format":"x"}`), Config{Annotations: true, Bytes: -1})
		}, "Config.Bytes = -1, want ≥ 1"},
		{func() (*Generator, error) { return Grammar(t.Context(), `s = t`, Config{}) }, "no rule defines t"},
		{func() (*Generator, error) { return Regexp(t.Context(), `(`, Config{}) }, "missing closing"},
		{func() (*Generator, error) { return Grammar(t.Context(), `s = "aaa" | "(" s ")"`, Config{Bytes: 2}) }, "Config.Bytes = 2"},
		{func() (*Generator, error) {
			return Grammar(t.Context(), `s = [a-z]{50}`, Config{Limits: constraint.Limits{States: 10}})
		}, "states"},
	} {
		_, err := c.make()
		require.ErrorContains(t, err, c.want)
	}
}
