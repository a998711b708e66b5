package concave_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/concave"
)

// The maximum over the box of a correlated quadratic, by a grid of its own; where
// a step is clipped instead the other coordinate is wrong.
func TestQuadraticOnBox(t *testing.T) {
	q := concave.Quadratic{
		Mean: []float64{1, 0.5, 3}, C: []float64{2, 1.8, 0, 1.8, 2, 0, 0, 0, 0}, H: []float64{0.1, 0.1, 0}, Scale: 0.5,
		Low: []float64{-1, -1, -1}, High: []float64{0.5, 1, 1}, Residual: make([]float64, 3),
	}
	value := func(a, b float64) float64 {
		return a + 0.5*b - 0.25*(2.1*a*a+2.1*b*b+3.6*a*b)
	}
	d := make([]float64, 3)
	quad := q.Maximize(d, 64)
	best, at := math.Inf(-1), [2]float64{}
	for i := range 1501 {
		for j := range 2001 {
			a, b := -1+float64(i)/1000, -1+float64(j)/1000
			if v := value(a, b); v > best {
				best, at = v, [2]float64{a, b}
			}
		}
	}
	require.InDelta(t, at[0], d[0], 2e-3)
	require.InDelta(t, at[1], d[1], 2e-3)
	require.Zero(t, d[2], "no curvature")
	require.GreaterOrEqual(t, value(d[0], d[1]), best-1e-6)
	require.InDelta(t, 2.1*d[0]*d[0]+2.1*d[1]*d[1]+3.6*d[0]*d[1], quad, 1e-12)
	require.InDelta(t, 1-0.5*(2*d[0]+1.8*d[1]), q.Residual[0], 1e-12)
}

// A free coordinate goes below 0, one that starts above 0 is taken out, and one at
// 0 joins.
func TestMaximizeSigns(t *testing.T) {
	f := func(l, grad, curv, size []float64) float64 {
		v := 0.0
		clear(curv)
		for j, c := range []float64{-2, -1, 3} {
			d := l[j] - c
			grad[j] = -d - math.Sinh(d)
			curv[j*3+j] = 1 + math.Cosh(d)
			v -= d*d/2 + math.Cosh(d)
			size[j] = 1
		}
		return v
	}
	l, err := concave.Maximize(context.Background(), f, []float64{0, 2, 0}, 1, []bool{true, false, false})
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{-2, 0, 3}, l.Lambda, 1e-11)
	require.Equal(t, 2.0, concave.Projected([]float64{0}, []float64{-2}, []bool{true}))
}

// Steps out of the domain are taken back, and dependent curvatures are damped.
func TestMaximizeHard(t *testing.T) {
	edge := func(l, grad, curv, size []float64) float64 { // log(1 − l) + 5l, at l = .8
		if l[0] >= 1 {
			return math.Inf(-1)
		}
		grad[0], curv[0], size[0] = 5-1/(1-l[0]), 1/((1-l[0])*(1-l[0])), 1
		return math.Log(1-l[0]) + 5*l[0]
	}
	l, err := concave.Maximize(context.Background(), edge, []float64{0}, 1, nil)
	require.NoError(t, err)
	require.InDelta(t, 0.8, l.Lambda[0], 1e-12)

	twice := func(l, grad, curv, size []float64) float64 { // of l₀ + l₁ alone
		d := l[0] + l[1] - 2
		grad[0], grad[1] = -d, -d
		copy(curv, []float64{1, 1, 1, 1})
		copy(size, []float64{1, 1})
		return -d * d / 2
	}
	l, err = concave.Maximize(context.Background(), twice, []float64{0, 0}, 1, nil)
	require.NoError(t, err)
	require.InDelta(t, 2, l.Lambda[0]+l.Lambda[1], 1e-11)

	proven := func(l, grad, curv, size []float64) float64 {
		grad[0], curv[0], size[0] = 1, 1, 1
		if l[0] > 0 {
			return math.Inf(1)
		}
		return 0
	}
	var away *concave.Unbounded
	_, err = concave.Maximize(context.Background(), proven, []float64{0}, 1, nil)
	require.ErrorAs(t, err, &away)
	require.Positive(t, away.Lambda[0])
}
