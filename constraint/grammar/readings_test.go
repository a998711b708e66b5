package grammar

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"unicode"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
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

// Many items that lead to the same many items take little memory and time, and lead there.
func TestLongLists(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, ` | [%c] [%c]`, rune(0x4e00+i), rune(0x4e00+i))
	}
	g, err := ParseGBNF(t.Context(), `root ::= ("x"`+strings.Repeat(` | [a]?`, 1000)+`) ("y"`+b.String()+`)`, constraint.Limits{})
	require.NoError(t, err)
	for text, want := range map[string]bool{"y": true, "ay": true, "a\u4e00\u4e00": true, "\u4fff": false, "a\u4e00\u4e01": false, "x\u4e07\u4e07": true, "aa": false} {
		require.Equal(t, want, g.Accepts(text), text)
	}
	fast, err := g.trim(t.Context(), true)
	require.NoError(t, err)
	m, err := fast.explore(t.Context(), "", constraint.Limits{})
	require.NoError(t, err)
	require.Less(t, len(fast.reads.next), 20*len(fast.n.nodes))
	slow, err := g.trim(t.Context(), true)
	require.NoError(t, err)
	require.Equal(t, len(fast.states), len(m.Level))
	for q := int32(0); int(q) < len(fast.states); q++ {
		for _, b := range fast.byteClasses().some {
			want, err := slow.subsets.move(q, b)
			require.NoError(t, err)
			require.Equal(t, want, fast.decode(fast.known(q, b)), "state %d, byte %q", q, b)
		}
	}
}

// The estimated memory covers most of the shapes of strings in which no two states continue with the same
// characters.
func TestShapesMemory(t *testing.T) {
	exact.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(1, 2))
	var properties []string
	for p := range 10 {
		var b strings.Builder
		for range 400 {
			b.WriteString("[_")
			for c := 'A'; c <= 'z'; c++ {
				if unicode.IsLetter(c) && r.IntN(2) == 0 {
					b.WriteRune(c)
				}
			}
			b.WriteString("]")
		}
		properties = append(properties, fmt.Sprintf(`"p%d":{"type":"string","pattern":"^%s$"}`, p, b.String()))
	}
	g, err := JSONSchema(t.Context(), []byte(`{"type":"object","properties":{`+strings.Join(properties, ",")+`},"additionalProperties":false}`), SchemaConfig{})
	require.NoError(t, err)
	x, err := g.trim(t.Context(), true)
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	_, err = x.explore(t.Context(), "", constraint.Limits{})
	require.NoError(t, err)
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Less(t, after.HeapAlloc-before.HeapAlloc, uint64(x.memory())*3/2)
	runtime.KeepAlive(x)
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
