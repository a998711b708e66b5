package tilt_test

import (
	"context"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/concave"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/multipliers"
	"github.com/gibbsite-go/gibbsite/internal/tilt"
)

// coin is a fair coin whose mean must be at least mean, at temperature ½.
func coin(mean float64) *tilt.List {
	l := tilt.New(0.5, 1, nil)
	l.Append(0, []float64{mean})
	l.Append(0, []float64{mean - 1})
	return l
}

func TestListMaximum(t *testing.T) {
	o, err := coin(0.8).Maximize(context.Background(), []float64{0})
	require.NoError(t, err)
	require.Equal(t, tilt.Attained, o.Outcome)
	require.InDelta(t, 0.5*math.Log(4), o.Lambda[0], 1e-12)

	// Only the state 1 meets mean ≥ 1, and nothing meets mean ≥ 1.5.
	for mean, want := range map[float64]tilt.Optimum{1: {Outcome: tilt.Limit}, 1.5: {Outcome: tilt.Infeasible, Margin: 0.5}} {
		o, err = coin(mean).Maximize(context.Background(), []float64{0})
		require.NoError(t, err)
		require.Equal(t, want.Outcome, o.Outcome)
		require.InDelta(t, want.Margin, o.Margin, 1e-15)
		require.Equal(t, []float64{1}, o.Direction)
	}

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = coin(0.8).Maximize(ctx, []float64{0})
	require.ErrorIs(t, err, context.Canceled)
}

// The gradient and the curvature are those of the value.
func TestListValue(t *testing.T) {
	l := tilt.New(0.7, 2, nil)
	require.Equal(t, 0.7, l.Beta())
	for k := range 5 {
		l.Append(0.3*float64(k), []float64{math.Sin(float64(k)), math.Cos(2 * float64(k))})
	}
	require.Equal(t, 5, l.Len())
	at := []float64{0.4, 1.1}
	grad, curv := make([]float64, 2), make([]float64, 4)
	l.Value(at, grad, curv, make([]float64, 2))
	const h = 1e-5
	for j := range at {
		up, down := append([]float64{}, at...), append([]float64{}, at...)
		up[j] += h
		down[j] -= h
		gu, gd, c, size := make([]float64, 2), make([]float64, 2), make([]float64, 4), make([]float64, 2)
		slope := (l.Value(up, gu, c, size) - l.Value(down, gd, c, size)) / (2 * h)
		require.InDelta(t, slope, grad[j], 1e-9)
		for i := range at {
			require.InDelta(t, -(gu[i]-gd[i])/(2*h), curv[i*2+j], 1e-9)
		}
	}
}

func TestNormalize(t *testing.T) {
	w := []float64{-1e4, math.Log(1) - 1e4, math.Log(2) - 1e4, math.Inf(-1)}
	require.InDelta(t, math.Log(4)-1e4, tilt.Normalize(w), 1e-11)
	require.InDeltaSlice(t, []float64{0.25, 0.25, 0.5, 0}, w, 1e-12)
}

func TestPositive(t *testing.T) {
	require.Equal(t, 1e-3, tilt.Positive(1e-3, 1))
	require.Zero(t, tilt.Positive(1e-3, 1e9))
	require.Zero(t, tilt.Positive(-1, 1))
}

// The climb ends on a million states, from wherever it begins: rounding of sums that
// long would otherwise hide that it has arrived.
func TestManyStates(t *testing.T) {
	exact.SkipUnderRace(t)
	const n = 20
	l := tilt.New(1, 1, nil)
	for k := range uint(1 << n) {
		l.Append(0.1*float64(2*bits.OnesCount((k^(k>>1|k<<(n-1)))&(1<<n-1))-n), []float64{float64(bits.OnesCount(k) - 3)})
	}
	for _, start := range []float64{0, 1, 3, 10, 100} {
		o, err := l.Maximize(context.Background(), []float64{start})
		require.NoError(t, err)
		require.Equal(t, tilt.Attained, o.Outcome, "from %v", start)
		require.InDelta(t, 1.469264458535, o.Lambda[0], 1e-10)
	}
	require.LessOrEqual(t, l.Evaluations(), 100)
}

// Every start leads to the same answer, in all units, with dependent rows, equalities,
// and rows that contradict each other: 1600 climbs from near and from far, where one
// state has all of the probability.
func TestStarts(t *testing.T) {
	unmet := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		n, scale := 1+r.IntN(6), math.Pow(10, float64(r.IntN(13)-6))
		free, row := make([]bool, n), make([]float64, n)
		for j := range free {
			free[j] = r.IntN(4) == 0
		}
		l := tilt.New(1, n, free)
		for range 6 + r.IntN(200) {
			for j := range row {
				row[j] = scale * (r.NormFloat64() + 0.3)
			}
			if n > 1 && seed%3 == 0 {
				row[n-1] = 2 * row[0]
			}
			l.Append(r.NormFloat64(), row)
		}
		near, err := l.Maximize(context.Background(), make([]float64, n))
		require.NoError(t, err)
		if near.Outcome != tilt.Attained {
			unmet++
		}
		for _, far := range []float64{1, 30, 1e3, 1e6} {
			start := make([]float64, n)
			for j := range start {
				start[j] = far / scale * r.Float64()
				if free[j] && r.IntN(2) == 0 {
					start[j] = -start[j]
				}
			}
			o, err := l.Maximize(context.Background(), start)
			require.NoError(t, err)
			require.Equal(t, near.Outcome, o.Outcome, "seed %d from %v", seed, start)
			if o.Outcome == tilt.Attained {
				grad := make([]float64, n)
				l.Value(o.Lambda, grad, make([]float64, n*n), make([]float64, n))
				require.LessOrEqual(t, concave.Projected(o.Lambda, grad, free), 1e-8*scale, "seed %d from %v", seed, start)
			}
		}
	}
	require.Positive(t, unmet)
}

// Proofs in two stages: only a face meets the first row, and what the second row wants there
// decides. Rows that depend on each other are no direction.
func TestFaces(t *testing.T) {
	for _, c := range []struct {
		on   []float64 // the second row on the face
		want tilt.Outcome
	}{{[]float64{0.5, 0.25}, tilt.Infeasible}, {[]float64{0.5, -0.5}, tilt.Limit}, {[]float64{0.5, 0}, tilt.Limit}} {
		for _, twice := range []float64{1, -1} {
			l := tilt.New(1, 3, []bool{false, false, true})
			for _, v := range c.on {
				l.Append(0, []float64{0, v, twice * v})
			}
			l.Append(0, []float64{1, -100, -100 * twice})
			l.Append(30, []float64{2, -1e6, -1e6 * twice})
			o, err := l.Maximize(context.Background(), make([]float64, 3))
			require.NoError(t, err)
			require.Equal(t, c.want, o.Outcome, "%v, %v", c.on, twice)
		}
	}
}

// On small integers, where bounds depend on each other, touch and contradict, the outcome is
// that of a simplex method in rational numbers.
func TestSmallIntegers(t *testing.T) {
	names := map[tilt.Outcome]multipliers.Outcome{tilt.Infeasible: multipliers.Infeasible, tilt.Limit: multipliers.Limit, tilt.Attained: multipliers.Attained}
	seen := map[tilt.Outcome]int{}
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 2))
		n, states := 1+r.IntN(4), 2+r.IntN(7)
		free := make([]bool, n)
		for j := range free {
			free[j] = r.IntN(4) == 0
		}
		l := tilt.New(1, n, free)
		var g []float64
		for range states {
			row := make([]float64, n)
			for j := range row {
				row[j] = float64(r.IntN(5) - 2)
			}
			if n > 2 && seed%2 == 0 {
				row[2] = -row[0] - row[1]
			}
			g = append(g, row...)
			l.Append(float64(r.IntN(40)), row)
		}
		o, err := l.Maximize(context.Background(), make([]float64, n))
		require.NoError(t, err)
		require.NotEqual(t, tilt.Undecided, o.Outcome, "seed %d", seed)
		require.Equal(t, multipliers.Decide(g, n, free), names[o.Outcome], "seed %d", seed)
		seen[o.Outcome]++
	}
	require.Len(t, seen, 3)
}
