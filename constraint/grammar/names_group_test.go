package grammar

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Names that have passed and do not begin with the text read so far do not matter: the automaton is the
// same with fewer states to explore, and reads the texts that the schema allows.
func TestGroupNames(t *testing.T) {
	properties := `"properties":{"aa":{"type":"null"},"ab":true,"b":{"type":"null"},"ca":{},"cb":{"type":"boolean"},"d":{"type":"null"},"é":{"type":"null"}}`
	for _, schema := range []string{
		`{"type":"object",` + properties + `}`,
		`{"type":"object",` + properties + `,"additionalProperties":false}`,
		`{"type":"object",` + properties + `,"required":["b","x"]}`,
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
		names := []string{"aa", "ab", "b", "ca", "cb", "d", "é", "x", "xy", "cz"}
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
