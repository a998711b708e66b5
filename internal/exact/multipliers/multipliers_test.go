package multipliers_test

import (
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/exact/multipliers"
	"github.com/stretchr/testify/require"
)

// Known answers: a coin, and pairs of rows that contradict each other or meet on a face.
func TestDecide(t *testing.T) {
	for _, c := range []struct {
		g     []float64
		n     int
		equal []bool
		want  multipliers.Outcome
	}{
		{[]float64{0.8, -0.2}, 1, nil, multipliers.Attained},
		{[]float64{1, 0}, 1, nil, multipliers.Limit},
		{[]float64{1, 1e-300}, 1, nil, multipliers.Infeasible},
		{[]float64{1, -1e-300}, 1, nil, multipliers.Attained},
		{[]float64{-1, -2}, 1, []bool{true}, multipliers.Infeasible},
		{[]float64{-1, -2}, 1, nil, multipliers.Attained},
		{[]float64{-1, 0}, 1, []bool{true}, multipliers.Limit},
		{[]float64{0, 0}, 1, []bool{true}, multipliers.Attained},
		{[]float64{1, -1, -1, 1, 2, -2}, 2, nil, multipliers.Attained},    // a row and its opposite
		{[]float64{1, -1, -1, 1, 2, -1}, 2, nil, multipliers.Limit},       // u = (1, 1) is 0 on the first two states
		{[]float64{1, -.5, -1, 2, 2, -1}, 2, nil, multipliers.Infeasible}, // u = (1, 1.5)
	} {
		require.Equal(t, c.want, multipliers.Decide(c.g, c.n, c.equal), "%v", c.g)
	}
}

func TestOptimum(t *testing.T) {
	r := multipliers.Optimum([]float64{0, 0}, []float64{0.75, -0.25}, 0.5, nil, []float64{0.5 * math.Log(3)})
	require.Less(t, r, 1e-15)
	require.Positive(t, r)
	require.InDelta(t, 0.5, multipliers.Optimum([]float64{0, 0}, []float64{0.75, -0.25}, 0.5, nil, []float64{0}), 1e-15)
	require.True(t, math.IsInf(multipliers.Optimum([]float64{0, 0}, []float64{0.5, -0.5}, 1, nil, []float64{-1}), 1))
	require.Zero(t, multipliers.Residual(-1, 0, 0, false))
	require.True(t, math.IsInf(multipliers.Residual(1, 0, 0, false), 1))
	for _, x := range []float64{1e-40, 0.3, 1, 2, 1e12} {
		y, _ := multipliers.Log(multipliers.Num(x)).Float64()
		require.InEpsilon(t, 1+math.Log(x), 1+y, 1e-14)
		z, _ := multipliers.Exp(multipliers.Log(multipliers.Num(x))).Float64()
		require.InEpsilon(t, x, z, 1e-15)
	}
	zero, _ := multipliers.Exp(multipliers.Num(-1e6)).Float64()
	require.Zero(t, zero)
}
