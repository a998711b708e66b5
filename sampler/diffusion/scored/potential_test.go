package scored_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/scored"
)

func TestPotential(t *testing.T) {
	set := constraint.Score{Decide: func(x []int32) float64 { return []float64{-1, 2, math.NaN(), math.Inf(-1)}[x[0]] }}
	x, times := []int32{0, 1, 2, 3, 1}, []float64{0, 0, 0, 0, .5}
	got := make([]float64, 5)
	scored.Potential{Score: set}.Log(got, x, times)
	require.Equal(t, []float64{0, math.Inf(-1)}, got[:2])
	require.True(t, math.IsNaN(got[2]))
	require.Equal(t, []float64{0, 0}, got[3:])
	scored.Potential{Score: set, Temperature: 2, Value: func(logG []float64, _ []int32, _ []float64) {
		for i := range logG {
			logG[i] = 7
		}
	}}.Log(got, x, times)
	require.Equal(t, []float64{.5, -1}, got[:2])
	require.True(t, math.IsNaN(got[2]))
	require.Equal(t, []float64{math.Inf(1), 7}, got[3:])

	require.ErrorContains(t, scored.Potential{}.Validate(), "Score = nil")
	require.ErrorContains(t, scored.Potential{Score: set, Temperature: -1}.Validate(), "Temperature = -1")
	require.Panics(t, func() { scored.Potential{}.Log(got, x, times) })
}
