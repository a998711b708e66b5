package automata

import (
	"context"
	"errors"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// drawTable draws a table with any number of dead, lost and equivalent states.
func drawTable(t *rapid.T) *Table {
	states, width := rapid.IntRange(1, 7).Draw(t, "states"), rapid.IntRange(1, 3).Draw(t, "width")
	of := Identity(width)
	for range rapid.IntRange(0, 2).Draw(t, "more") {
		of = append(of, rapid.Int32Range(0, int32(width-1)).Draw(t, "class"))
	}
	return &Table{
		Class: of, Width: width,
		To:    rapid.SliceOfN(rapid.Int32Range(-1, int32(states-1)), states*width, states*width).Draw(t, "to"),
		Final: rapid.SliceOfN(rapid.Bool(), states, states).Draw(t, "final"),
	}
}

// accepts walks a table.
func accepts(t *Table, x []int32) bool {
	s := int32(0)
	for _, token := range x {
		if s = t.To[int(s)*t.Width+int(t.Class[token])]; s < 0 {
			return false
		}
	}
	return t.Final[s]
}

func TestMinimal(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := drawTable(rt)
		levels := in.Levels()
		copied := Table{append([]int32(nil), in.Class...), in.Width, append([]int32(nil), in.To...), append([]bool(nil), in.Final...)}
		out, err := Minimal(context.Background(), in)
		require.NoError(rt, err)
		require.Equal(rt, copied, *in, "left as it is")
		if out == nil {
			exact.Sequences(levels, 6, func(x []int32) { require.False(rt, accepts(in, x)) })
			return
		}
		exact.Accepts(rt, out, levels, 5, func(x []int32) bool { return accepts(in, x) })
		exact.Minimal(rt, out)
		again, err := Explore(context.Background(), out, levels, func(states, entries int) error { return nil })
		require.NoError(rt, err)
		require.Equal(rt, out, again, "numbered in breadth-first order")
	})
}

func TestExploreAsksBeforeItGrows(t *testing.T) {
	enough := errors.New("enough")
	table := &Table{Class: []int32{0, 1}, Width: 2, To: []int32{1, 2, -1, 2, 2, 2}, Final: make([]bool, 3)}
	_, err := Explore(context.Background(), table, 2, func(states, entries int) error {
		require.Equal(t, 2*states, entries)
		return enough
	})
	require.ErrorIs(t, err, enough)
}

// chain has a state for every token of an alphabet: token t leads from the start to state t + 1.
type chain struct{ start int }

func (c chain) States() int { return 1 << 30 }
func (c chain) Start() int  { return c.start }
func (c chain) Next(state int, token int32) int {
	if state == 0 {
		return int(token) + 1
	}
	return -1
}
func (c chain) Accepting(state int) bool { return state > 0 }

// A limit bounds the memory of an exploration whose first row reaches many states.
func TestExploreChecksBeforeItStoresRows(t *testing.T) {
	enough := errors.New("enough")
	for _, levels := range []int{1, 300, 1 << 17} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Explore(context.Background(), chain{}, levels, func(states, entries int) error {
			require.Equal(t, levels+1, states)
			if levels < math.MaxInt/states {
				require.Equal(t, levels*states, entries)
			} else {
				require.Equal(t, math.MaxInt, entries)
			}
			return enough
		})
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, enough)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<16+200*levels), "%d levels", levels)
	}
}

// A negative start state is dead, like a negative next state.
func TestExploreFromADeadState(t *testing.T) {
	table, err := Explore(context.Background(), chain{start: -1}, 2, func(int, int) error { return nil })
	require.NoError(t, err)
	require.Equal(t, &Table{Class: Identity(2), Width: 2, To: []int32{-1, -1}, Final: []bool{false}}, table)
	minimal, err := Minimal(context.Background(), table)
	require.NoError(t, err)
	require.Nil(t, minimal)
}

// renamed is a table whose states have other numbers.
type renamed struct {
	*Table
	name []int
	back map[int]int
}

func (r *renamed) States() int { return 1 << 30 }
func (r *renamed) Start() int  { return r.name[0] }
func (r *renamed) Next(state int, token int32) int {
	if to := r.Table.Next(r.back[state], token); to >= 0 {
		return r.name[to]
	}
	return -1
}
func (r *renamed) Accepting(state int) bool { return r.Table.Accepting(r.back[state]) }

// TestExploreNumbersStates explores automata whose states have small, large and mixed numbers.
func TestExploreNumbersStates(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		table := drawTable(rt)
		r := &renamed{Table: table, back: map[int]int{}}
		for s := range table.States() {
			k := rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(0, 1<<30-1)).Filter(func(k int) bool {
				_, taken := r.back[k]
				return !taken
			}).Draw(rt, "name")
			r.name = append(r.name, k)
			r.back[k] = s
		}
		all := func(int, int) error { return nil }
		want, err := Explore(context.Background(), table, table.Levels(), all)
		require.NoError(rt, err)
		got, err := Explore(context.Background(), r, table.Levels(), all)
		require.NoError(rt, err)
		require.Equal(rt, want, got)
	})
}

func TestClasses(t *testing.T) {
	type plain struct{ Automaton }
	table := &Table{Class: []int32{0, 1, 0}, Width: 2, To: []int32{0, 0}, Final: []bool{true}}
	of, n := Classes(table, 3)
	require.Equal(t, []int32{0, 1, 0}, of)
	require.Equal(t, 2, n)
	of, n = Classes(plain{table}, 3)
	require.Equal(t, Identity(3), of)
	require.Equal(t, 3, n)
	of, n = Refine([]Automaton{table, &Table{Class: []int32{0, 0, 1}, Width: 2}}, 3)
	require.Equal(t, []int32{0, 1, 2}, of)
	require.Equal(t, of, Representatives(of, n))
	require.PanicsWithValue(t, "automata: levels = -1, want 0 … 2147483647", func() { Classes(table, -1) })
}

// Keys of any length divide tokens as other keys do.
func TestClassesByBytes(t *testing.T) {
	for levels := range 40 {
		key := func(b []byte, token int32) []byte { return append(b, "abcabdc"[:token*token%8]...) }
		of, n := ClassesByBytes(levels, key)
		want, count := ClassesBy(levels, func(token int32) string { return string(key(nil, token)) })
		require.Equal(t, want, of)
		require.Equal(t, count, n)
	}
}
