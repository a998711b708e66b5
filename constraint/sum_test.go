package constraint

import (
	"context"
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// total adds weights up; ok is false if a token has none.
func total(rows [][]int, fixed bool, x []int32) (sum int, ok bool) {
	if fixed && len(x) != len(rows) {
		return 0, false
	}
	for i, t := range x {
		row := rows[0]
		if fixed {
			row = rows[i]
		}
		if int(t) >= len(row) {
			return 0, false
		}
		sum += row[t]
	}
	return sum, true
}

func drawBounds(t *rapid.T) (lower, upper int) {
	lower = rapid.IntRange(-8, 8).Draw(t, "lower")
	upper = lower + rapid.IntRange(0, 6).Draw(t, "width")
	switch rapid.IntRange(0, 3).Draw(t, "open") {
	case 0:
		lower = math.MinInt
	case 1:
		upper = math.MaxInt
	}
	return lower, upper
}

func TestSum(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lower, upper := drawBounds(rt)
		sign := rapid.SampledFrom([][2]int{{0, 4}, {-4, 0}, {-3, 3}}).Draw(rt, "sign")
		w := rapid.SliceOfN(rapid.IntRange(sign[0], sign[1]), 1, 3).Draw(rt, "weights")
		s, err := NewSum(w, lower, upper)
		require.NoError(rt, err)
		want := func(x []int32) bool {
			sum, ok := total([][]int{w}, false, x)
			return ok && sum >= lower && sum <= upper
		}
		exact.Accepts(rt, s, 3, 7, want)
		requireClasses(rt, s, 4)
		requireSet(rt, s, len(w), 5, s)
		if least, most := s.extremes(0); least >= 0 || most <= 0 {
			requireLanguage(rt, s, 3, 7, want)
		}
	})
}

func TestSiteSum(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lower, upper := drawBounds(rt)
		row := rapid.SliceOfN(rapid.IntRange(-3, 3), 1, 3)
		rows := rapid.SliceOfN(row, 0, 5).Draw(rt, "weights")
		want := func(x []int32) bool {
			sum, ok := total(rows, true, x)
			return ok && sum >= lower && sum <= upper
		}
		s, err := NewSiteSum(rows, lower, upper)
		if err != nil {
			require.ErrorIs(rt, err, ErrInfeasible)
			exact.Sequences(3, 5, func(x []int32) { require.False(rt, want(x)) })
			return
		}
		requireLanguage(rt, s, 3, 6, want)
		n := s.Len()
		g := make([]float64, n)
		exact.Sequences(1, len(rows), func(x []int32) {
			if len(x) == len(rows) {
				s.Violation(g, x)
				ok := true
				for _, v := range g {
					ok = ok && v <= 0
				}
				require.Equal(rt, want(x), ok)
			}
		})
	})
}

func TestSumOfOneSignCompilesSmall(t *testing.T) {
	s, err := NewSum([]int{0, 1, 2}, 5, math.MaxInt)
	require.NoError(t, err)
	d, err := Compile(context.Background(), s, 3, Limits{})
	require.NoError(t, err)
	require.Equal(t, 6, d.States())
	s, err = NewSum([]int{0, -1, -2}, math.MinInt, -5)
	require.NoError(t, err)
	e, err := Compile(context.Background(), s, 3, Limits{})
	require.NoError(t, err)
	require.Equal(t, d, e)
	// Both signs wander without end.
	s, err = NewSum([]int{1, -1}, 0, 0)
	require.NoError(t, err)
	var arg *ArgumentError
	_, err = Compile(context.Background(), s, 2, Limits{States: 1000})
	require.ErrorAs(t, err, &arg)
	// The same over ten sites is small.
	row := []int{1, -1}
	s, err = NewSiteSum([][]int{row, row, row, row, row, row, row, row, row, row}, 0, 0)
	require.NoError(t, err)
	d, err = Compile(context.Background(), s, 2, Limits{})
	require.NoError(t, err)
	require.Equal(t, 36, d.States(), "a square of side 6, in diagonals")
}

func TestSumViolation(t *testing.T) {
	s, err := NewSum([]int{0, 3}, 2, 4)
	require.NoError(t, err)
	g := make([]float64, 4)
	s.Violation(g, []int32{0, 0, 1, 1})
	require.Equal(t, []float64{2, -4, -4, 2}, g)
	require.Panics(t, func() { s.Violation(g, []int32{0, 0, 0, 2}) })
	s, err = NewSiteSum([][]int{{0, 1}, {0, 1}}, math.MinInt, 4)
	require.NoError(t, err)
	require.PanicsWithValue(t, "constraint: len(x) = 3 per state, want 2", func() { s.Violation(g[:1], []int32{0, 0, 0}) })
}

func TestSumErrors(t *testing.T) {
	var argument *ArgumentError
	var limit *LimitError
	for _, c := range []struct {
		w            []int
		lower, upper int
	}{
		{nil, 0, 0},
		{[]int{1<<20 + 1}, 0, 0},
		{[]int{-1<<20 - 1}, 0, 0},
		{[]int{1}, -1 << 29, 0},
		{[]int{1}, 0, 1 << 29},
	} {
		_, err := NewSum(c.w, c.lower, c.upper)
		require.ErrorAs(t, err, &argument)
		_, err = NewSiteSum([][]int{c.w}, c.lower, c.upper)
		require.ErrorAs(t, err, &argument)
	}
	_, err := NewSum([]int{1}, 3, 2)
	require.ErrorIs(t, err, ErrInfeasible)
	_, err = NewSiteSum([][]int{{1}}, 2, math.MaxInt)
	require.EqualError(t, err, "constraint: NewSiteSum: no sum is in [2, ∞]: no sequence satisfies the constraint")
	_, err = NewSiteSum([][]int{{1}}, math.MinInt, 0)
	require.ErrorContains(t, err, "[−∞, 0]")
	wide := []int{0, 1 << 20}
	rows := make([][]int, 40)
	for i := range rows {
		rows[i] = wide
	}
	_, err = NewSiteSum(rows, 0, maxSum)
	require.ErrorAs(t, err, &limit)
	require.Equal(t, "NewSiteSum: states", limit.What)
	for range 500 {
		rows = append(rows, wide)
	}
	_, err = NewSiteSum(rows, 0, 5)
	require.ErrorAs(t, err, &limit)
	require.Equal(t, "NewSiteSum: |partial sum|", limit.What)
}

func TestResidue(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := rapid.IntRange(1, 7).Draw(rt, "modulus")
		residues := rapid.SliceOfN(rapid.IntRange(0, m-1), 1, 3).Draw(rt, "residues")
		rows := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(-9, 9), 1, 3), 1, 5).Draw(rt, "weights")
		want := func(rows [][]int, fixed bool) func(x []int32) bool {
			return func(x []int32) bool {
				sum, ok := total(rows, fixed, x)
				for _, r := range residues {
					if ok && (sum-r)%m == 0 {
						return true
					}
				}
				return false
			}
		}
		free, err := NewResidue(rows[0], m, residues...)
		require.NoError(rt, err)
		requireLanguage(rt, free, 3, 6, want(rows[:1], false))
		fixed, err := NewSiteResidue(rows, m, residues...)
		require.NoError(rt, err)
		requireLanguage(rt, fixed, 3, 6, want(rows, true))
	})
	var argument *ArgumentError
	for _, c := range [][]int{{0, 0}, {1<<24 + 1, 0}, {5, 5}, {5, -1}} {
		_, err := NewResidue([]int{1}, c[0], c[1:]...)
		require.ErrorAs(t, err, &argument)
	}
	_, err := NewResidue(nil, 3, 0)
	require.ErrorAs(t, err, &argument)
	_, err = NewResidue([]int{1}, 3)
	require.ErrorIs(t, err, ErrInfeasible)
}
