package probe_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/probe"
)

// twice claims twice the differences of single sites.
type twice struct{ *model.Ising }

func (m twice) Conditional(d []float64, site int, x []int32) {
	m.Ising.Conditional(d, site, x)
	for l := range d {
		d[l] *= 2
	}
}

// A wrong claim is named at every site, with both values; a right one is not. States
// without probability and single levels say nothing, and an ended context stops.
func TestClaims(t *testing.T) {
	ising := exact.Must(model.NewIsing(model.Lattice{3, 4}, 0.4, 0.1))
	x := make([]int32, 12)
	x[3], x[7] = 1, 1
	for seed := range uint64(20) {
		require.NoError(t, probe.Claims(t.Context(), ising, x, seed))
		require.ErrorContains(t, probe.Claims(t.Context(), twice{ising}, x, seed), "the model's Conditional has ")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, probe.Claims(ended, twice{ising}, x, 1))

	rbm := exact.Must(model.NewRBM([]float32{.5, -1, 2, .3, .7, -.2}, []float32{.1, .2}, []float32{1, -.5, .3}))
	levels := exact.Must(model.NewPotts(model.Lattice{3, 3}, 3, 0.4, []float64{0, .1, .3}))
	clamped := exact.Must(energy.Clamp(ising, map[int]int32{0: 0}))
	closed := exact.Must(model.NewIndependent([]float64{0, math.Inf(-1), 0, math.Inf(-1)}, 2))
	single := energy.Func{Sites: 2, Levels: 1, E: func([]int32) float64 { return 1 }}
	for seed := range uint64(20) {
		require.NoError(t, probe.Claims(t.Context(), rbm, []int32{1, 0, 1}, seed))
		require.NoError(t, probe.Claims(t.Context(), levels, []int32{0, 1, 2, 2, 1, 0, 0, 0, 2}, seed))
		require.NoError(t, probe.Claims(t.Context(), clamped, x, seed))
		require.NoError(t, probe.Claims(t.Context(), closed, []int32{0, 0}, seed))
		require.NoError(t, probe.Claims(t.Context(), single, []int32{0, 0}, seed))
	}
}
