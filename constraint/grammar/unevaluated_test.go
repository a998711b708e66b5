package grammar

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What other keywords say of a value is known to unevaluatedProperties and unevaluatedItems, and
// dynamic references, identifiers and anchors lead where the standard says.
func TestUnevaluatedAndReferences(t *testing.T) {
	for source, cases := range map[string]map[string]bool{
		`{"allOf":[{"properties":{"a":{}}}],"properties":{"b":{}},"unevaluatedProperties":false}`: {
			`{"a":1,"b":2}`: true, `{"b":2,"c":3}`: false, `[1]`: true, `{}`: true},
		`{"anyOf":[{"properties":{"a":{"const":1}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}],"unevaluatedProperties":{"type":"null"}}`: {
			`{"a":1,"b":2}`: true, `{"a":2,"b":2}`: false, `{"b":2,"a":null}`: true, `{"a":1,"c":null}`: true, `{"a":1,"c":2}`: false, `{"c":null}`: false},
		`{"$ref":"#/$defs/x","unevaluatedProperties":false,"$defs":{"x":{"patternProperties":{"^a":{}}}}}`: {`{"ab":1}`: true, `{"b":1}`: false},
		`{"if":{"properties":{"k":{"const":1}},"required":["k"]},"then":{"properties":{"a":{}}},"else":{"properties":{"b":{}}},"unevaluatedProperties":false}`: {
			`{"k":1,"a":2}`: true, `{"k":1,"b":2}`: false, `{"b":2}`: true, `{"a":2}`: false, `{"k":2}`: false},
		`{"dependentSchemas":{"a":{"properties":{"a":{},"b":{}}}},"unevaluatedProperties":false}`:                      {`{"a":1,"b":2}`: true, `{"b":2}`: false, `{}`: true},
		`{"properties":{"a":{}},"not":{"properties":{"a":{"const":1},"b":{}}},"unevaluatedProperties":false}`:          {`{"a":2}`: true, `{"a":1}`: false, `{"a":2,"b":1}`: false},
		`{"allOf":[{"unevaluatedProperties":{"type":"integer"}}],"properties":{"a":{}},"unevaluatedProperties":false}`: {`{"a":1,"z":2}`: true, `{"a":"x"}`: false},
		`{"additionalProperties":{"type":"integer"},"unevaluatedProperties":false}`:                                    {`{"z":2}`: true, `{"z":"x"}`: false},
		`{"prefixItems":[{"const":1}],"unevaluatedItems":false}`:                                                       {`[1]`: true, `[]`: true, `[1,2]`: false},
		`{"prefixItems":[true],"contains":{"const":7},"unevaluatedItems":{"type":"string"}}`:                           {`[0,7]`: true, `[0,"a",7]`: true, `[0,1,7]`: false, `[0]`: false},
		`{"$schema":"https://json-schema.org/draft/2019-09/schema","contains":{"const":7},"unevaluatedItems":false}`:   {`[7]`: false},
		`{"oneOf":[{"prefixItems":[{"const":1},true]},{"prefixItems":[{"const":2}]}],"unevaluatedItems":false,"type":"array"}`: {
			`[1,9]`: true, `[2]`: true, `[2,9]`: false, `[1,9,9]`: false},
		`{"items":{"type":"null"},"unevaluatedItems":false}`:                             {`[null,null]`: true, `[1]`: false},
		`{"$schema":"http://json-schema.org/draft-07/schema#","unevaluatedItems":false}`: {`[1]`: true},

		`{"$dynamicRef":"#node","$defs":{"n":{"$dynamicAnchor":"node","type":"array","items":{"$dynamicRef":"#node"}}}}`: {`[[],[[]]]`: true, `[1]`: false},
		`{"$id":"https://a.example/root","$dynamicAnchor":"node","type":"object","properties":{"c":{"$ref":"tree"}},"$defs":{"t":{"$id":"tree","$dynamicAnchor":"node","type":"array","items":{"$dynamicRef":"#node"}}}}`: {
			`{"c":[{}]}`: true, `{"c":[[]]}`: false},
		`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"type":"array","items":{"$recursiveRef":"#"}}`:  {`[[[]]]`: true, `[1]`: false},
		`{"$id":"https://a.example/a/b","$ref":"c#/$defs/x","$defs":{"c":{"$id":"c","$defs":{"x":{"$ref":"#/$defs/y"},"y":{"const":3}}}}}`: {`3`: true, `4`: false},
		`{"$ref":"#it","$defs":{"c":{"$id":"#it","type":"null"}},"$schema":"http://json-schema.org/draft-07/schema#"}`:                     {`null`: true, `1`: false},
		`{"$id":"https://a.example/","$ref":"https://a.example/c#it","$defs":{"c":{"$id":"c","$defs":{"d":{"$anchor":"it","const":1}}}}}`:  {`1`: true, `2`: false},
	} {
		g := schema(t, source, true)
		for text, want := range cases {
			require.Equal(t, want, g.Accepts(text), "%s: %s", source, text)
		}
	}
	for source, want := range map[string]string{
		`{"unevaluatedProperties":3}`: "want a schema",
		`{"anyOf":[` + listed(7, `{"properties":{"a%d":{}},"required":["a%d"]}`) + `],"unevaluatedProperties":false}`:                                             "#/unevaluatedProperties: more than 64 ways",
		`{"$ref":"#/$defs/a","unevaluatedItems":false,"$defs":{"a":{"$ref":"#/$defs/a"}}}`:                                                                        "#/unevaluatedItems: 33 schemas apply one within another",
		`{"items":{"$ref":"b"},"$defs":{"b":{"$id":"b","items":{"$dynamicRef":"#n"},"$defs":{"n":{"$dynamicAnchor":"n"}}},"c":{"$id":"c","$dynamicAnchor":"n"}}}`: "$dynamicRef \"#n\": 2 schemas have the dynamic anchor",
		`{"$ref":"other"}`:        "$ref \"other\": no schema in the document has this $id",
		`{"$dynamicRef":"#none"}`: "no schema in the document has this anchor",
	} {
		_, err := JSONSchema(t.Context(), []byte(source), SchemaConfig{})
		var e *SchemaError
		require.ErrorAs(t, err, &e, source)
		require.ErrorContains(t, err, want)
	}
}

// Formats that are not known, and keywords that no draft knows, are listed.
func TestAnnotations(t *testing.T) {
	const source = `{"type":"object","properties":{"a":{"type":"string","format":"non-blank","minLength":2},"b":{"type":"string","format":"date","x-order":2}},"example":{"a":"b"}}`
	_, err := JSONSchema(t.Context(), []byte(source), SchemaConfig{})
	require.ErrorContains(t, err, `#/properties/a/format: format "non-blank" is not supported`)
	g, err := JSONSchema(t.Context(), []byte(source), SchemaConfig{Annotations: true})
	require.NoError(t, err)
	require.Equal(t, []string{"#/example", "#/properties/a/format", "#/properties/b/x-order"}, g.Annotations())
	require.True(t, g.Accepts(`{"a":"  ","b":"2024-01-01"}`))
	require.False(t, g.Accepts(`{"a":" "}`))
	require.False(t, g.Accepts(`{"b":"2024"}`))
	g, err = JSONSchema(t.Context(), []byte(`{"not":{"format":"blank"},"divisibleBy":2,"$schema":"https://json-schema.org/draft/2020-12/schema"}`), SchemaConfig{Annotations: true})
	require.ErrorContains(t, err, "no value satisfies")
	require.Nil(t, g)
	_, err = JSONSchema(t.Context(), []byte(`{"divisibleBy":2}`), SchemaConfig{Annotations: true})
	require.ErrorContains(t, err, "#/divisibleBy: not supported")
	_, err = JSONSchema(t.Context(), []byte(`{}`), SchemaConfig{AnyOrder: true, Spelling: Canonical})
	require.ErrorContains(t, err, "SchemaConfig.AnyOrder = true, want false")
}

// Each format has its texts, in a negation as well.
func TestTextsOfFormats(t *testing.T) {
	for name, texts := range ofFormats {
		is := schema(t, `{"type":"string","format":"`+name+`"}`, true)
		negation := `{"type":"string","not":{"format":"` + name + `"}}`
		var isNot *Grammar
		if formats[name].beyond != anyText {
			isNot = schema(t, negation, true)
		} else { // no text lacks it for sure
			_, err := JSONSchema(t.Context(), []byte(negation), SchemaConfig{})
			require.ErrorContains(t, err, "none of their texts is in the language")
		}
		for text, want := range texts {
			written := written(nil, text)
			require.Equal(t, want, is.Accepts(written), "%s: %q", name, text)
			if want && isNot != nil {
				require.False(t, isNot.Accepts(written), "not %s: %q", name, text)
			}
		}
	}
	for name, texts := range map[string]map[string]bool{
		"iri":           {"http://ä.example/ö?ü#ß": true, "ä": false},
		"iri-reference": {"ä/b": true, "\\": false, "": true},
		"idn-email":     {"ü@b.example": true, "ü": false},
		"idn-hostname":  {"a.example": true, "a..b": false},
		"regex":         {"^[a-z]+?(?:\\d{2,}|b(c|d)*)$": true, "(": false, "a)": false, "[": false, "*": false, "\\": false},
		"uri":           {"http://[::1]/": false, "mailto:a@b.c": true, "a:": true},
		"uri-reference": {"a:b": true, "1:b": false, "./1:b": true, "?": true, "#": true},
	} {
		is := schema(t, `{"type":"string","format":"`+name+`"}`, true)
		for text, want := range texts {
			require.Equal(t, want, is.Accepts(written(nil, text)), "%s: %q", name, text)
		}
	}
	// A date is not a time for sure, but what looks like one might be.
	g := schema(t, `{"oneOf":[{"format":"date-time"},{"format":"date"},{"type":"integer"}]}`, true)
	require.True(t, g.Accepts(`"2024-01-01T00:00:00Z"`) && g.Accepts(`1`) == false)
}
