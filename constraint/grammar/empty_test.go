package grammar

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
)

// A schema that nothing satisfies is refused, and the message names what excludes what.
func TestEmptySchemas(t *testing.T) {
	for source, want := range map[string]string{
		`false`:                        "#: no value satisfies it",
		`{"enum":[]}`:                  "no value satisfies #/enum",
		`{"type":"string","enum":[1]}`: "no value satisfies #/enum and #/type",
		`{"type":"array","items":false,"minItems":2,"title":"x"}`:                                                              "no value satisfies #/items, #/minItems and #/type",
		`{"allOf":[{"type":"string"},{"type":"integer"}]}`:                                                                     "no value satisfies #/allOf/0/type and #/allOf/1/type",
		`{"type":"integer","minimum":3,"maximum":2}`:                                                                           "no value satisfies #/maximum, #/minimum and #/type",
		`{"allOf":[{"type":"number","minimum":3},{"type":"number","exclusiveMaximum":3}]}`:                                     "no value satisfies #/allOf/0/minimum, #/allOf/1/exclusiveMaximum and #/allOf/1/type",
		`{"type":"string","minLength":3,"maxLength":2}`:                                                                        "no value satisfies #/maxLength, #/minLength and #/type",
		`{"type":"object","required":["a"],"properties":{"a":false,"b":{"type":"string"}}}`:                                    "no value satisfies #/properties/a, #/required and #/type",
		`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"const":1,"type":"string"}}}`: "no value satisfies #/$defs/n/const, #/$defs/n/type, #/required and #/type",
		`{"type":"object","required":["a","b"],"maxProperties":1}`:                                                             "no value satisfies #/maxProperties, #/required and #/type",
		`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`:                                                   "no value satisfies #/required and #/type",
		`{"anyOf":[false,{"enum":[]}]}`:                                                                                        "no value satisfies #/anyOf/0 and #/anyOf/1/enum",
	} {
		for _, compact := range []bool{false, true} {
			_, err := JSONSchema(t.Context(), []byte(source), SchemaConfig{Compact: compact})
			var bad *SchemaError
			require.ErrorAs(t, err, &bad, source)
			require.True(t, bad.Empty)
			require.ErrorIs(t, err, constraint.ErrInfeasible, source)
			require.ErrorContains(t, err, want, source)
		}
	}
	// Where the search takes too long, the whole automaton decides.
	for _, source := range []string{`{"const":1,"not":{"type":"number"}}`, `{"not":{}}`} {
		g, err := JSONSchema(t.Context(), []byte(source), SchemaConfig{Compact: true})
		if err == nil {
			_, err = g.Over(t.Context(), text.Bytes())
		}
		require.ErrorIs(t, err, constraint.ErrInfeasible, source)
	}
	_, err := Parse(t.Context(), `s = "a" s`, constraint.Limits{})
	require.ErrorIs(t, err, constraint.ErrInfeasible)
}
