package scored

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// The fit is good to 1.2e-7, relatively, in both tails.
func TestPhi(t *testing.T) {
	for z := -12.0; z <= 12; z += .01 {
		want := math.Erfc(-z/math.Sqrt2) / 2
		require.InEpsilon(t, want, phi(z), 1.3e-7, "z = %v", z)
	}
	require.Equal(t, 1.0, phi(math.Inf(1)))
	require.Zero(t, phi(math.Inf(-1)))
}

// Scores of ±Inf count, but do not spoil means and deviations.
func TestValuesOfInfiniteScores(t *testing.T) {
	inf := math.Inf(1)
	s := []float64{inf, inf, 1, inf, -1, -inf}
	psi := make([]float64, 3)
	promise(psi, s, 2)
	require.Equal(t, least, psi[0])
	require.Greater(t, psi[2], psi[1])
	require.GreaterOrEqual(t, psi[1], psi[0])
	soften(psi, s, 2, 3, 6)
	require.Equal(t, least, psi[0])
	require.InDelta(t, 2.0/3, psi[2], 1e-12)
	for _, s := range [][]float64{{inf, inf}, {2, 2}, {0, 0}, {-inf, -inf}} {
		psi := make([]float64, 2)
		promise(psi, s, 1)
		require.Equal(t, psi[0], psi[1])
		require.GreaterOrEqual(t, psi[0], least)
		soften(psi, s, 1, 3, 6)
		require.Equal(t, psi[0], psi[1])
	}
}

// After the first path nothing allocates.
func TestPathsDoNotAllocate(t *testing.T) {
	if exact.Race || testing.CoverMode() != "" {
		t.Skip("the race detector and coverage allocate")
	}
	m := exact.Must(denoise.NewIndependent(exact.Must(model.NewIndependent(make([]float64, 6*20), 20)), denoise.Absorbing))
	judge := constraint.Score{Decide: func(x []int32) float64 { return float64(x[0]+x[5]) - 2 }}
	for _, isExact := range []bool{false, true} {
		e, err := newEngine(t.Context(), m, diffusion.Masked{Mask: 20}, Config{Judge: judge, Batch: 1, Steps: 6}, 8)
		require.NoError(t, err)
		e.exact = isExact
		e.ended = func(*scratch, *path) (bool, error) { return true, nil }
		e.done = func(p *path) { require.NoError(t, p.err) }
		path := func() { require.NoError(t, e.run(t.Context(), 1, 0, 0)) }
		path()
		require.Zero(t, testing.AllocsPerRun(20, path))
	}
}
