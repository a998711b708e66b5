package grammar

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFill compares the rows of states that are computed at once with moves that are computed one by one,
// for values that are read alone, side by side and through gates, and for rules that a byte beyond them
// ends.
func TestFill(t *testing.T) {
	for _, schema := range []string{
		`{"type":"integer"}`,
		`{"type":"array","items":{"type":["number","string"]}}`,
		`{"properties":{"a":{"type":"integer"},"ab":{"enum":["x","xy"]}},"required":["ab"]}`,
		`{"properties":{"a":{"$ref":"#"},"é":{"maxLength":2,"pattern":"^[ab]*$"}},"additionalProperties":false}`,
		`{"allOf":[{"properties":{"a":{"type":"integer"}}},{"patternProperties":{"^b":{"type":"null"}}},{"required":["a"]}],"type":"object"}`,
		`{"oneOf":[{"type":"integer","multipleOf":3},{"type":"number","minimum":2.5},{"type":"array","contains":{"const":1}}]}`,
		`{"not":{"properties":{"a":{"type":"string"}}},"if":{"required":["b"]},"then":{"required":["c"]}}`,
	} {
		g, err := JSONSchema(t.Context(), []byte(schema), SchemaConfig{})
		require.NoError(t, err)
		fast, err := g.trim(t.Context(), true)
		require.NoError(t, err)
		slow, err := g.trim(t.Context(), true)
		require.NoError(t, err)
		some := fast.byteClasses().some
		for q := int32(0); int(q) < min(len(fast.states), 3000); q++ {
			fast.fill(q)
			require.NoError(t, fast.err)
			for _, b := range some {
				want, err := slow.subsets.move(q, b)
				require.NoError(t, err)
				require.Equal(t, want, fast.decode(fast.known(q, b)), "%s: state %d, byte %q", schema, q, b)
			}
			require.Equal(t, len(slow.states), len(fast.states))
		}
		require.Equal(t, slow.states[slow.start].level, fast.states[fast.start].level)
		for q := range slow.states {
			require.Equal(t, slow.states[q].ends, fast.states[q].ends)
			list := map[item]bool{}
			for _, p := range slow.itemsOf(int32(q)) {
				list[slow.items.Values[p]] = true
			}
			for _, p := range fast.itemsOf(int32(q)) {
				require.True(t, list[fast.items.Values[p]])
				delete(list, fast.items.Values[p])
			}
			require.Empty(t, list)
		}
	}
}

// TestShapes refines and coarsens divisions of six classes.
func TestShapes(t *testing.T) {
	var s shapes
	a, b := s.Find([]uint8{0, 0, 1, 1, 0, 2}), s.Find([]uint8{0, 1, 1, 1, 1, 1})
	require.Equal(t, a, s.Find([]uint8{0, 0, 1, 1, 0, 2}))
	require.Equal(t, []uint8{0, 2, 5}, s.First(a))
	require.Equal(t, a, s.join(a, a))
	for range 2 { // the second time from memory
		ab, ba := s.join(a, b), s.join(b, a)
		require.Equal(t, []uint8{0, 1, 2, 2, 1, 3}, s.Slots(ab))
		require.Equal(t, ab, ba)
		require.Equal(t, b, s.coarser(ab, []uint8{0, 1, 1, 1}))
		require.Equal(t, s.each(6), s.join(s.each(6), ab))
	}
}
