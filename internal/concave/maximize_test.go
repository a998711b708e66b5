package concave_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/concave"
)

// The maximum of −½(λ−c)ᵀA(λ−c) over λ ≥ 0 where c has a negative coordinate:
// with A = [2 1; 1 2] and c = (1, −1) it is at (½, 0).
func TestMaximizeQuadratic(t *testing.T) {
	f := func(l, grad, curv, size []float64) float64 {
		a, b := l[0]-1, l[1]+1
		grad[0], grad[1] = -(2*a + b), -(a + 2*b)
		copy(curv, []float64{2, 1, 1, 2})
		copy(size, []float64{1, 1})
		return -(a*a + a*b + b*b)
	}
	l, err := concave.Maximize(context.Background(), f, []float64{3, 3}, 1, nil)
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{0.5, 0}, l.Lambda, 1e-12)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = concave.Maximize(ctx, f, []float64{3, 3}, 1, nil)
	require.ErrorIs(t, err, context.Canceled)
}

func TestMaximizeRefuses(t *testing.T) {
	ctx := context.Background()
	line := func(l, grad, curv, size []float64) float64 {
		grad[0], curv[0], size[0] = 1, 0, 0
		return l[0]
	}
	var away *concave.Unbounded
	_, err := concave.Maximize(ctx, line, []float64{0}, 1, nil)
	require.ErrorAs(t, err, &away)
	require.Greater(t, away.Lambda[0], 1e9)
	require.ErrorContains(t, err, "no maximum at finite multipliers")
	outside := func(l, grad, curv, size []float64) float64 { return math.Inf(-1) }
	_, err = concave.Maximize(ctx, outside, []float64{0}, 1, nil)
	require.ErrorContains(t, err, "-Inf")
}

func TestProjected(t *testing.T) {
	require.Equal(t, 2.0, concave.Projected([]float64{1, 0, 0}, []float64{-2, -5, 1}, nil))
	require.Equal(t, 0.0, concave.Projected([]float64{0}, []float64{-1}, nil))
}

func TestSolvePositive(t *testing.T) {
	d := []float64{3, 3}
	require.True(t, concave.SolvePositive([]float64{2, 1, 1, 2}, d))
	require.InDeltaSlice(t, []float64{1, 1}, d, 1e-15)
	require.False(t, concave.SolvePositive([]float64{1, 2, 2, 1}, []float64{1, 1}), "indefinite")
	require.False(t, concave.SolvePositive([]float64{math.NaN()}, []float64{1}))
}

// A climb comes back from where the curvature is 0, on either side of the maximum at log 4.
func TestMaximizeFrozen(t *testing.T) {
	coin := func(l, grad, curv, size []float64) float64 { // 0.8λ − log(1 + e^λ)
		p := 1 / (1 + math.Exp(-l[0]))
		grad[0], curv[0], size[0] = 0.8-p, p*(1-p), 2*p*(1-p)
		return 0.8*l[0] - max(l[0], 0) - math.Log1p(math.Exp(-math.Abs(l[0])))
	}
	for _, start := range []float64{0, 5, 60, 1e4, 1e9} {
		l, err := concave.Maximize(context.Background(), coin, []float64{start}, 1, nil)
		require.NoError(t, err)
		require.InDelta(t, math.Log(4), l.Lambda[0], 1e-11, "from %v", start)
		require.LessOrEqual(t, l.Residual, concave.Accepted)
	}
}

func TestWithin(t *testing.T) {
	require.True(t, concave.Within([]float64{0, 1}, []float64{-1, 1e-10}, []float64{0, 1}, 1e-9))
	require.False(t, concave.Within([]float64{1}, []float64{-1}, []float64{1}, 1e-9), "slack with a multiplier")
	require.False(t, concave.Within([]float64{0}, []float64{1e-8}, []float64{1}, 1e-9))
	require.False(t, concave.Within([]float64{0}, []float64{math.NaN()}, []float64{1}, 1e-9))
}
