package grammar

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/exact"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/stretchr/testify/require"
)

func schema(t require.TestingT, source string, compact bool) *Grammar {
	g, err := JSONSchema(context.Background(), []byte(source), SchemaConfig{Compact: compact})
	require.NoError(t, err, source)
	return g
}

// TestNumbers compares with rational arithmetic.
func TestNumbers(t *testing.T) {
	exact.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(5, 17))
	constants := []string{"0", "-0", "1", "-1", "12", "-12.5", "0.05", "100", "99.95", "1e1", "-2.5e-1"}
	yes := 0
	for range 4000 {
		bounds := map[string]json.Number{}
		for _, k := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"} {
			if r.IntN(3) == 0 {
				bounds[k] = json.Number(constants[r.IntN(len(constants))])
				if k == "multipleOf" {
					bounds[k] = json.Number([]string{"3", "0.05", "2.5", "1", "1e1"}[r.IntN(5)])
				}
			}
		}
		s := map[string]any{"type": []string{"number", "integer"}[r.IntN(2)]}
		for k, n := range bounds {
			s[k] = n
		}
		source, err := json.Marshal(s)
		require.NoError(t, err)
		if len(bounds) == 0 {
			continue
		}
		g, err := JSONSchema(t.Context(), source, SchemaConfig{Compact: true})
		if !errors.Is(err, constraint.ErrInfeasible) {
			require.NoError(t, err)
		}
		for range 20 {
			text := []string{"", "-"}[r.IntN(2)] + fmt.Sprint(r.IntN([]int{2, 20, 200}[r.IntN(3)]))
			if r.IntN(2) == 0 {
				text += "." + strings.Repeat("0", r.IntN(3)) + fmt.Sprint(r.IntN(100))
			}
			x, _ := new(big.Rat).SetString(text)
			of := func(k string) *big.Rat { y, _ := new(big.Rat).SetString(string(bounds[k])); return y }
			want := s["type"] == "number" || x.IsInt()
			for k := range bounds {
				switch c := x.Cmp(of(k)); k {
				case "minimum":
					want = want && c >= 0
				case "maximum":
					want = want && c <= 0
				case "exclusiveMinimum":
					want = want && c > 0
				case "exclusiveMaximum":
					want = want && c < 0
				case "multipleOf":
					want = want && new(big.Rat).Quo(x, of(k)).IsInt()
				}
			}
			require.Equal(t, want, err == nil && g.Accepts(text), "%s: %s", source, text)
			if want {
				yes++
			}
		}
	}
	require.Greater(t, yes, 1000)
	g := schema(t, `{"enum":[1,2.50,-3e2,null,false]}`, true)
	for text, want := range map[string]bool{"1": true, "1.0": true, "2.5": true, "2.500": true, "-300": true, "300": false, "2.51": false, "null": true, "false": true, "true": false, "-1": false} {
		require.Equal(t, want, g.Accepts(text), text)
	}
	require.True(t, schema(t, `{"type":"number"}`, true).Accepts("-1.5E+07"))
	require.False(t, schema(t, `{"type":"number"}`, true).Accepts("01"))
	four := `{"$schema":"http://json-schema.org/draft-04/schema#","type":"integer","minimum":1,"exclusiveMinimum":true,"maximum":3,"exclusiveMaximum":true}`
	for text, want := range map[string]bool{"1": false, "2": true, "2.0": false, "3": false} {
		require.Equal(t, want, schema(t, four, true).Accepts(text), text)
	}
}

func TestFormats(t *testing.T) {
	for name, c := range map[string][2][]string{
		"date":      {{"2024-02-29", "2000-02-29", "1999-12-31"}, {"2023-02-29", "1900-02-29", "2024-04-31", "2024-13-01", "24-01-01"}},
		"time":      {{"23:59:59Z", "23:59:60Z", "00:00:00.25+01:30"}, {"24:00:00Z", "12:00:60Z", "12:00:00"}},
		"date-time": {{"2024-02-29T12:00:00Z"}, {"2024-02-30T12:00:00Z", "2024-02-29 12:00:00Z"}},
		"duration":  {{"P1Y2M3D", "PT5M", "P2W", "P1DT1H"}, {"P", "PT", "P1D2H", "1D"}},
		"uuid":      {{"123e4567-e89b-12d3-a456-426614174000"}, {"123e4567e89b12d3a456426614174000"}},
		"ipv4":      {{"127.0.0.1", "255.255.255.255"}, {"256.0.0.1", "01.2.3.4", "1.2.3"}},
		"ipv6": {{"::", "::1", "1::", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1::8", "::ffff:1.2.3.4", "1:2:3:4:5::7:8", "1::3:4:5:6:7:8", "1:2:3:4::1.2.3.4"},
			{"1:2:3:4:5:6:7", "1::2::3", ":::", "12345::", "1:2:3:4:5:6:7:8:9", "::1.2.3.4.5"}},
		"hostname": {{"a", "example.com", "a-b.c"}, {"-a", "a-", "a..b", ""}},
		"email":    {{"a.b+c@example.com"}, {"a", "@b", "a@", "a@-b"}},
		"uri":      {{"http://example.com/a?b#c", "mailto:a@b.c", "urn:x:y"}, {"/a", "http://a b", "://x"}},
	} {
		g := schema(t, fmt.Sprintf(`{"type":"string","format":%q}`, name), true)
		for i, texts := range c {
			for _, text := range texts {
				require.Equal(t, i == 0, g.Accepts(fmt.Sprintf("%q", text)), "%s %s", name, text)
			}
		}
	}
}

func TestSchemaErrors(t *testing.T) {
	for source, want := range map[string]string{
		`{`:     "#",
		`{} {}`: "at byte 4: invalid character '{' after top-level value",
		`3`:     "want a schema",
		strings.Repeat("[", 2000) + strings.Repeat("]", 2000): "levels",
		`{"items":{"uniqueItems":true}}`:                      "#/items/uniqueItems: supported only where items are of an enum",
		`{"properties":{"a/b":{"format":"x"}}}`:               "#/properties/a~1b/format: format \"x\" is not supported",
		`{"not":{"maxProperties":3}}`:                         "bounds on unknown members",
		`{"pattern":"a(?=b)"}`:                                "#/pattern: pattern \"a(?=b)\"",
		`{"pattern":"(a)\\1"}`:                                "backreference",
		`{"pattern":"("}`:                                     "#/pattern",
		`{"patternProperties":{"^(?!a)":true}}`:               "lookaheads are not supported here",
		`{"patternProperties":{"a":1}}`:                       "want a schema",
		`{"type":"thing"}`:                                    "#/type: want null, boolean",
		`{"type":[3]}`:                                        "the name of a type",
		`{"minLength":-1}`:                                    "#/minLength",
		`{"minLength":1e9}`:                                   "2²⁴",
		`{"required":[1]}`:                                    "want a string",
		`{"enum":3}`:                                          "#/enum: want a list",
		`{"anyOf":[]}`:                                        "#/anyOf: want a list",
		`{"dependencies":3}`:                                  "#/dependencies: want an object",
		`{"$ref":"#/a"}`:                                      "nothing is there",
		`{"$ref":"#/allOf/7","allOf":[{}]}`:                   "nothing is there",
		`{"$ref":"#/title/x","title":"t"}`:                    "nothing is there",
		`{"$ref":"#x"}`:                                       "anchor",
		`{"$ref":"other.json"}`:                               "$id",
		`{"$ref":3}`:                                          "want a string",
		`{"$ref":"#/%zz"}`:                                    "URI",
		`{"$ref":"#"}`:                                        "refers to itself",
		`{"multipleOf":0}`:                                    "#/multipleOf",
		`{"multipleOf":1e999999}`:                             "#/multipleOf",
		`{"minimum":1e999999}`:                                "#/minimum",
		`{"enum":[1e999999]}`:                                 "#/enum/0",
		`{"propertyNames":{"anyOf":[{},{}]}}`:                 "propertyNames",
		`{"propertyNames":{"not":{"maxLength":3}}}`:           "propertyNames",
	} {
		_, err := JSONSchema(context.Background(), []byte(source), SchemaConfig{})
		var bad *SchemaError
		require.ErrorAs(t, err, &bad, source)
		require.Contains(t, err.Error(), want, source)
	}
	var limit *constraint.LimitError
	_, err := JSONSchema(context.Background(), []byte(`{"minItems":10000000}`), SchemaConfig{})
	require.ErrorAs(t, err, &limit)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = JSONSchema(ctx, []byte(`{"pattern":"a"}`), SchemaConfig{})
	require.ErrorIs(t, err, context.Canceled)
	_, err = JSONSchema(ctx, []byte(`true`), SchemaConfig{})
	require.ErrorIs(t, err, context.Canceled)
}

// TestPatternExplosion fixes the bound on the states of a pattern: a typical
// one has a few hundred, and this one 2⁴¹.
func TestPatternExplosion(t *testing.T) {
	_, err := JSONSchema(context.Background(), []byte(`{"pattern":"^(a|b)*a(a|b){40}$"}`), SchemaConfig{})
	var bad *SchemaError
	require.ErrorAs(t, err, &bad)
	require.True(t, bad.Unsupported)
	require.Contains(t, err.Error(), "states")
}

func TestReferencesAndSpaces(t *testing.T) {
	for source, cases := range map[string]map[string]bool{
		`{"$ref":"#item","$defs":{"a":{"$anchor":"item","const":1}}}`:                                 {"1": true, "2": false},
		`{"$id":"http://x/y","$ref":"http://x/z","$defs":{"a":{"$id":"http://x/z","const":1}}}`:       {"1": true, "2": false},
		`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/d","d":{"const":1},"not":{}}`: {" \t1\n": true, "2": false},
		`{"items":[{"const":1},{"const":2}],"additionalItems":false}`:                                 {"[1, 2]": true, "[1,2,3]": false, "[ ]": true},
		`{"dependencies":{"a":["b"],"c":{"required":["d"]},"e":"b"}}`:                                 {`{"a":1}`: false, `{"a":1,"b":2}`: true, `{"c":1}`: false, `{"c":1,"d":2}`: true, `{"e":1}`: false},
		`{"const":{"a":[1,{"b":null}]}}`:                                                              {`{"a":[1,{"b":null}]}`: true, `{"a":[1,{}]}`: false},
		`{"minProperties":2,"maxProperties":2,"properties":{"a":{},"b":{}}}`:                          {`{"a":1}`: false, `{"a":1,"b":2}`: true, `{"a":1,"z":2}`: true, `{"y":1,"y":2}`: false, `{"a":1,"b":2,"c":3}`: false},
		`{"contains":{"const":1},"minContains":2}`:                                                    {"[1]": false, "[1,2,1]": true},
		`{"propertyNames":{"allOf":[{"minLength":2},{"maxLength":2},{"not":{"pattern":"x"}}]}}`:       {`{"ab":1}`: true, `{"a":1}`: false, `{"ax":1}`: false},
		`{"propertyNames":false}`: {`{}`: true, `{"a":1}`: false},
	} {
		g := schema(t, source, false)
		for text, want := range cases {
			require.Equal(t, want, g.Accepts(text), "%s: %s", source, text)
		}
	}
	require.False(t, schema(t, `true`, true).Accepts(`[1, 2]`))
	require.True(t, schema(t, `true`, true).Accepts(`[1,{"a":"b"}]`))
	require.Equal(t, "JSONSchema", schema(t, `true`, true).String())
}

// A prepared vocabulary does not change with the slices from which it was made.
func TestPreparedVocabulary(t *testing.T) {
	v := text.Vocabulary{Tokens: []string{"tr", "ue", "", "1"}, Padding: []int32{2}}
	p, err := Prepare(v)
	require.NoError(t, err)
	v.Tokens[0], v.Padding[0] = "fal", 3
	l, err := schema(t, `{"type":"boolean"}`, true).OverPrepared(t.Context(), p)
	require.NoError(t, err)
	q := l.Next(l.Next(l.Start(), 0), 1)
	require.True(t, l.Accepting(q))
	require.True(t, l.Accepting(l.Next(q, 2)))
	require.Equal(t, -1, l.Next(l.Start(), 3))
}

// TestLanguage compares the language over tokens with that of texts.
func TestLanguage(t *testing.T) {
	g := schema(t, `{"type":"array","items":{"type":["array","integer"]}}`, true)
	v := text.Vocabulary{Tokens: []string{"[", "]", "1", "[[", "],", "?", "", "<s>"}, Padding: []int32{6}, Forbidden: []int32{7}}
	l, err := g.Over(context.Background(), v)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(6, 17))
	yes := 0
	for range 20_000 {
		x := make([]int32, 1+r.IntN(6))
		for i := range x {
			x[i] = int32(r.IntN(9)) - int32(r.IntN(2)*r.IntN(2))
		}
		want, ended, s := true, false, ""
		for _, k := range x {
			switch {
			case k < 0 || k > 6:
				want = false
			case k == 6:
				ended = true
			case ended:
				want = false
			default:
				s += v.Tokens[k]
			}
		}
		want = want && g.Accepts(s)
		require.Equal(t, want, constraint.Accepts(l, x), "%v", x)
		require.Equal(t, want, l.Pushdown().Accepts(x), "%v", x)
		if want {
			yes++
		}
	}
	require.Greater(t, yes, 50)
	of, n := l.Classes(10)
	require.Len(t, of, 10)
	require.Equal(t, of[7], of[9])
	require.Less(t, n, 10)
	require.Equal(t, "JSONSchema", l.String())
	_, err = g.Over(context.Background(), text.Vocabulary{Tokens: []string{""}})
	var argument *constraint.ArgumentError
	require.ErrorAs(t, err, &argument)
	small, err := JSONSchema(context.Background(), []byte(`true`), SchemaConfig{Limits: constraint.Limits{States: 3}})
	require.NoError(t, err)
	_, err = small.Over(context.Background(), v)
	var limit *constraint.LimitError
	require.ErrorAs(t, err, &limit)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = schema(t, `true`, true).Over(ctx, v)
	require.ErrorIs(t, err, context.Canceled)
}

// TestMemoryBoundsTheSchema writes a schema out to more than its memory allows: a great
// number of items.
func TestMemoryBoundsTheSchema(t *testing.T) {
	for _, source := range []string{`{"minItems":1000000}`, `{"maxProperties":100000}`} {
		_, err := JSONSchema(context.Background(), []byte(source), SchemaConfig{Limits: constraint.Limits{Bytes: 1 << 20}})
		var limit *constraint.LimitError
		require.ErrorAs(t, err, &limit)
		require.Equal(t, 1<<20, limit.Bound)
	}
}

func FuzzJSONSchema(f *testing.F) {
	for _, s := range []string{`{"type":"object","properties":{"a":{"pattern":"^a"}},"required":["b"]}`, `{"oneOf":[{"minimum":1},{"multipleOf":0.5}]}`, `{"$ref":"#/x","x":{"items":{"$ref":"#"}}}`} {
		f.Add(s, `{"a":"a","b":[1]}`)
	}
	f.Fuzz(func(t *testing.T, source, text string) {
		if len(source) > 300 {
			return
		}
		g, err := JSONSchema(context.Background(), []byte(source), SchemaConfig{Limits: constraint.Limits{States: 500, Bytes: 1 << 20}})
		var bad *SchemaError
		var limit *constraint.LimitError
		switch {
		case err == nil:
			if g.Accepts(text) && !json.Valid([]byte(text)) {
				t.Fatalf("%q is no JSON", text)
			}
		case !errors.As(err, &bad) && !errors.As(err, &limit):
			t.Fatalf("%T: %v", err, err)
		}
	})
}

// TestDevelopmentSet judges the instances of real schemas, where the file is at
// hand: none that is invalid may be accepted.
func TestDevelopmentSet(t *testing.T) {
	exact.SkipUnderRace(t)
	f, err := os.Open("../../../shared/data/maskbench_dev.jsonl")
	if err != nil {
		t.Skip("no development set")
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<26)
	schemas, passed := 0, 0
	for in.Scan() {
		var c struct {
			Name   string
			Schema json.RawMessage
			Tests  []struct {
				Valid bool
				Data  json.RawMessage
			}
		}
		require.NoError(t, json.Unmarshal(in.Bytes(), &c))
		schemas++
		g, err := JSONSchema(context.Background(), c.Schema, SchemaConfig{})
		if err != nil {
			continue
		}
		right := true
		for _, x := range c.Tests {
			got := g.Accepts(string(x.Data))
			right = right && got == x.Valid
			require.False(t, got && !x.Valid, "%s accepts %s", c.Name, x.Data)
		}
		if right {
			passed++
		}
	}
	require.Greater(t, passed, schemas*95/100)
}

// Many values of multipleOf: between bounds they are listed, without bounds every number goes on.
func TestManyMultiples(t *testing.T) {
	for schema, c := range map[string]struct{ yes, no []string }{
		`{"multipleOf":13,"minimum":100,"maximum":1000,"type":"number","not":{"anyOf":[{"multipleOf":2},{"multipleOf":3},{"multipleOf":5},{"multipleOf":7},{"multipleOf":11}]}}`: {[]string{"169", "221.0", "949"}, []string{"104", "170", "143", "13", "1001"}},
		`{"type":"number","allOf":[{"multipleOf":6.75},{"multipleOf":19},{"multipleOf":9.5},{"multipleOf":2.125}]}`:                                                              {[]string{"8721", "17442.00", "0", "-8721"}, []string{"19", "8721.5", "6.75", "872.1"}},
		`{"type":"number","not":{"anyOf":[{"multipleOf":2},{"multipleOf":6.5},{"multipleOf":5},{"multipleOf":7},{"multipleOf":11},{"multipleOf":37}]}}`:                          {[]string{"1", "3.5", "6.05", "169.001"}, []string{"6.5", "0", "13", "370"}},
	} {
		g, err := JSONSchema(context.Background(), []byte(schema), SchemaConfig{})
		require.NoError(t, err)
		require.Empty(t, g.network.gates, schema)
		m := masksOf(t, schema, words256())
		for _, s := range append(slices.Clone(c.yes), c.no...) {
			want := slices.Contains(c.yes, s)
			require.Equal(t, want, g.Accepts(s), "%s: %s", schema, s)
			p := m.Matcher()
			ok := true
			for i := 0; i < len(s) && ok; i++ {
				ok, err = p.Accept(int32(s[i]))
				require.NoError(t, err)
			}
			require.Equal(t, want, ok && p.MayEnd(), "%s: %s", schema, s)
		}
	}
	m := masksOf(t, `{"type":"number","allOf":[{"multipleOf":6.75},{"multipleOf":19},{"multipleOf":2.125},{"multipleOf":9.5}]}`, words256())
	p := m.Matcher()
	for _, b := range "8721." {
		ok, err := p.Accept(b)
		require.True(t, ok && err == nil)
	}
	mask := make(bitset, m.Words())
	require.NoError(t, p.Mask(mask))
	require.Equal(t, []int32{'0'}, allowed(mask))
}

// The texts of a vocabulary are stored in one string, whose parts are found by 32 bits.
func TestPrepareRefusesLongTexts(t *testing.T) {
	long := strings.Repeat("a", 1<<20)
	_, err := Prepare(text.Vocabulary{Tokens: slices.Repeat([]string{long}, 1<<11)})
	require.ErrorContains(t, err, "total length of v.Tokens = 2147483648, want ≤ 2³¹ − 1 bytes")
}
