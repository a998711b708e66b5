package grammar

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// Names that have passed and do not begin with the text read so far do not matter: the automaton is the
// same with fewer states to explore, and reads the texts that the schema allows.
func TestGroupNames(t *testing.T) {
	properties := `"properties":{"aa":{"type":"null"},"ab":true,"b":{"type":"null"},"ca":{},"cb":{"type":"boolean"},"d":{"type":"null"},"é":{"type":"null"}}`
	for _, schema := range []string{
		`{"type":"object",` + properties + `}`,
		`{"type":"object",` + properties + `,"additionalProperties":false}`,
		`{"type":"object",` + properties + `,"required":["b","x"]}`,
		`{"type":"object",` + properties + `,"required":["cb"]}`,
		`{"type":"object",` + properties + `,"required":["ca"],"additionalProperties":{"type":"string"},"minProperties":2,"maxProperties":3}`,
		`{"type":"object",` + properties + `,"patternProperties":{"^c":{"type":"boolean"}},"propertyNames":{"maxLength":3}}`,
	} {
		g, err := JSONSchema(t.Context(), []byte(schema), SchemaConfig{Compact: true})
		require.NoError(t, err)
		r, err := g.trim(t.Context(), true)
		require.NoError(t, err)
		apart, err := g.trim(t.Context(), true)
		require.NoError(t, err)
		for _, v := range apart.n.nodes {
			if x, is := v.scalar.(*table); is {
				x.group = nil
			}
		}
		m, err := r.explore(t.Context(), "", g.limits)
		require.NoError(t, err)
		n, err := apart.explore(t.Context(), "", g.limits)
		require.NoError(t, err)
		require.Less(t, 10*m.States(), 9*n.States(), schema)
		m, err = m.Flat().Minimal(t.Context())
		require.NoError(t, err)
		n, err = n.Flat().Minimal(t.Context())
		require.NoError(t, err)
		require.Equal(t, n.States(), m.States(), schema)
		accepted := 0
		names := []string{"aa", "ab", "b", "ca", "cb", "d", "é", "x", "xy", "cz", "dx"}
		for _, one := range names {
			for _, two := range names {
				for _, value := range []string{"null", "true", `""`} {
					for _, text := range []string{`{"` + one + `":null,"` + two + `":` + value + `}`, `{"b":null,"` + one + `":true,"` + two + `":` + value + `}`} {
						yes, err := r.read(text)
						require.NoError(t, err)
						require.Equal(t, g.Accepts(text), yes, "%s: %s", schema, text)
						accepted += int(bit(yes))
					}
				}
			}
		}
		require.Positive(t, accepted, schema)
	}
}

// Objects with the same known names share the automaton that reads names, unless they restrict names
// differently. What they require of a name stays their own.
func TestSharedNames(t *testing.T) {
	schema := `{"type":"object","additionalProperties":false,"properties":{
		"one":{"properties":{"p":{"type":"null"},"q":{"type":"null"}},"required":["q"],"type":"object"},
		"two":{"properties":{"p":{"type":"boolean"},"q":{"type":"null"}},"additionalProperties":false,"type":"object"},
		"six":{"properties":{"p":{"type":"null"},"q":{"type":"null"}},"propertyNames":{"maxLength":2},"type":"object"}}}`
	g, err := JSONSchema(t.Context(), []byte(schema), SchemaConfig{Compact: true})
	require.NoError(t, err)
	readers := map[*stringAutomaton][]string{}
	for _, v := range g.network.nodes {
		if r, is := v.scalar.(*nameRun); is && len(r.o.l.names) == 2 {
			readers[r.o.keys] = append(readers[r.o.keys], r.o.of[0].path.String())
		}
	}
	require.Len(t, readers, 2, "%v", readers)
	r, err := g.trim(t.Context(), true)
	require.NoError(t, err)
	_, err = r.explore(t.Context(), "", g.limits)
	require.NoError(t, err)
	accepts := map[string][3]bool{ // by object: whether one, two and six accept it
		`{}`:                       {false, true, true},
		`{"p":null}`:               {false, false, true},
		`{"p":true}`:               {false, true, false},
		`{"q":null}`:               {true, true, true},
		`{"p":null,"q":null}`:      {true, false, true},
		`{"p":true,"q":null}`:      {false, true, false},
		`{"q":null,"xy":1}`:        {true, false, true},
		`{"q":null,"xyz":1}`:       {true, false, false},
		`{"\u0071":null}`:          {true, true, true},
		`{"p":null,"\u0071":null}`: {true, false, true},
		`{"q":null,"x\u00e9":1}`:   {true, false, true},
		`{"q":null,"x\u00e9z":1}`:  {true, false, false},
	}
	for object, want := range accepts {
		for i, name := range []string{"one", "two", "six"} {
			text := `{"` + name + `":` + object + `}`
			yes, err := r.read(text)
			require.NoError(t, err)
			require.Equal(t, want[i], yes, text)
			require.Equal(t, want[i], g.Accepts(text), text)
		}
	}
}

// The runs of many names take memory for the states that they reach, not for all names each.
func TestManyNames(t *testing.T) {
	exact.SkipUnderRace(t)
	g, err := JSONSchema(t.Context(), []byte(`{"properties":{`+listed(1000, `"a%d":{"type":"null"}`)+`},"additionalProperties":false}`), SchemaConfig{Compact: true})
	require.NoError(t, err)
	r, err := g.trim(t.Context(), true)
	require.NoError(t, err)
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	ctx := &weighing{Context: t.Context()}
	_, err = r.explore(ctx, "", g.limits)
	require.NoError(t, err)
	require.Less(t, ctx.most-before.HeapAlloc, uint64(r.memory()*6/5))
	// and all of them share what they know of each other
	shared := map[*int32]bool{}
	for _, v := range r.n.nodes {
		if x, is := v.scalar.(*table); is && x.group != nil {
			shared[&x.passed[0]] = true
		}
	}
	require.Len(t, shared, 1)
}
