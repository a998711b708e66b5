package constraint

import (
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
)

func occurrences(x []int32, levels ...int32) int {
	n := 0
	for _, t := range x {
		for _, l := range levels {
			if t == l {
				n++
				break
			}
		}
	}
	return n
}

func TestCount(t *testing.T) {
	inf := math.MaxInt
	for _, c := range []struct {
		Count
		least, most int
	}{
		{Count{Max: Unbounded}, 0, inf},
		{Count{}, 0, 0},
		{Count{Levels: []int32{0, 2, 0}, Max: Unbounded}, 0, inf},
		{Count{Levels: []int32{0, 2, 0}}, 0, 0},
		{Count{Levels: []int32{1}, Min: 2, Max: Unbounded}, 2, inf},
		{Count{Levels: []int32{1}, Max: 3}, 0, 3},
		{Count{Levels: []int32{1}, Min: -4, Max: 3}, 0, 3},
		{Count{Levels: []int32{1, 2}, Min: 2, Max: 4}, 2, 4},
		{Count{Levels: []int32{0, 9}, Min: 3, Max: 3}, 3, 3},
		{Count{Levels: []int32{1}, Max: 0}, 0, 0},
		{Count{Levels: []int32{1}, Min: 4, Max: 2}, 4, 2},
		{Count{Levels: []int32{1}, Min: 1, Max: 0}, 1, 0},
	} {
		requireLanguage(t, c.Count, 3, 7, func(x []int32) bool {
			n := occurrences(x, c.Levels...)
			return c.least <= n && n <= c.most
		})
		requireSet(t, c.Count, 3, 6, c.Count)
		for _, counting := range []Counting{c.Count, &c.Count, struct{ Count }{c.Count}} {
			levels, least, most := counting.Counts()
			require.Equal(t, c.Levels, levels)
			require.Equal(t, []int{c.least, c.most}, []int{least, most})
		}
		require.Equal(t, c.least > c.most, c.Validate() != nil)
		if c.least > c.most {
			require.ErrorIs(t, c.Validate(), ErrInfeasible)
		}
	}
	var argument *ArgumentError
	require.ErrorAs(t, Count{Levels: []int32{-1}}.Validate(), &argument)
	require.ErrorAs(t, Count{Max: -1}.Validate(), &argument)
	require.EqualError(t, Count{Min: 3}.Validate(), "constraint: Count: Min = 3, want ≤ Max = 0 (constraint.Unbounded for no upper bound): "+ErrInfeasible.Error())
	require.Equal(t, "Count{Levels:[1] Min:2 Max:Unbounded}", Count{Levels: []int32{1}, Min: 2, Max: Unbounded}.String())
}

// requireSet checks that a sequence is in the language exactly if no
// inequality is violated, one state at a time and in a batch.
func requireSet(t testingT, s Set, levels, length int, a Automaton) {
	t.Helper()
	n := s.Len()
	one := make([]float64, n)
	x2 := []float64{}
	var states []int32
	exact.Sequences(levels, length, func(x []int32) {
		s.Violation(one, x)
		ok := true
		for _, g := range one {
			ok = ok && g <= 0
		}
		require.Equal(t, Accepts(a, x), ok, "%v", x)
		if len(x) == length && len(states) < 10*length {
			states = append(states, x...)
			x2 = append(x2, one...)
		}
	})
	batch := make([]float64, len(x2))
	s.Violation(batch, states)
	require.Equal(t, x2, batch)
}

func TestCountViolation(t *testing.T) {
	g := make([]float64, 4)
	Count{Levels: []int32{1}, Min: 2, Max: 3}.Violation(g, []int32{1, 0, 0, 0, 1, 1, 1, 1})
	require.Equal(t, []float64{1, -2, -2, 1}, g)
	Count{Levels: []int32{1}, Max: 3}.Violation(nil, nil)
	require.PanicsWithValue(t, "constraint: len(g) = 3, want a multiple of 2", func() {
		Count{Min: 1, Max: 1}.Violation(make([]float64, 3), nil)
	})
	require.PanicsWithValue(t, "constraint: len(x) = 3, want a multiple of 2", func() {
		Count{Max: 1}.Violation(make([]float64, 2), make([]int32, 3))
	})
	require.PanicsWithValue(t, "constraint: len(g) = 1, want 0", func() {
		Count{Max: Unbounded}.Violation(make([]float64, 1), nil)
	})
	c, x := Count{Levels: []int32{1}, Max: 3}, []int32{1, 0, 0, 0, 1, 1, 1, 1}
	require.Zero(t, testing.AllocsPerRun(100, func() { c.Violation(g, x) }))
}
