package grammar

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A text that is not Unicode would be read as U+FFFD, which is another value.
func TestTextsOfSchemasAreUnicode(t *testing.T) {
	for source, path := range map[string]string{
		`{"const":"a` + "\xff" + `"}`:                       "#/const",
		`{"enum":["x",["\ud800"]]}`:                         "#/enum/1/0",
		`{"enum":["\\\udc00\ud800"]}`:                       "#/enum/0",
		`{"properties":{"a/b":{"pattern":"\ud800\u0041"}}}`: "#/properties/a~1b/pattern",
		`{"properties":{"\udc00":true}}`:                    "#/properties",
	} {
		_, err := JSONSchema(t.Context(), []byte(source), SchemaConfig{})
		var bad *SchemaError
		require.ErrorAs(t, err, &bad, source)
		require.Equal(t, path, bad.Path)
		require.ErrorContains(t, err, "not Unicode", source)
	}
	for source, text := range map[string]string{
		`{"const":"\ufffd"}`:             `"` + "\uFFFD" + `"`,
		`{"const":"` + "\uFFFD" + `"}`:   `"` + "\uFFFD" + `"`,
		`{"const":"\ud83d\ude00\ufffd"}`: `"` + "😀\uFFFD" + `"`,
		`{"const":"\\ud800\ufffd"}`:      `"\\ud800` + "\uFFFD" + `"`,
	} {
		require.True(t, schema(t, source, true).Accepts(text), source)
	}
}
