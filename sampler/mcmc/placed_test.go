package mcmc

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Deferred states are those of steps that show them, once they are asked for, and a Reset
// takes others.
func TestPlacedIsShown(t *testing.T) {
	m := exact.Must(model.NewPotts(model.Lattice{5, 7}, 300, 0.4, nil))
	const chains = 3
	start := make([]int32, chains*35)
	r := rand.New(rand.NewPCG(1, 4))
	for i := range start {
		start[i] = r.Int32N(300)
	}
	shown, hidden := newSparseGibbs(m, chains), newSparseGibbs(m, chains)
	require.NotNil(t, shown)
	x, y, info, told := slices.Clone(start), slices.Clone(start), make([]sampler.Info, chains), make([]sampler.Info, chains)
	a, b := streams(chains), streams(chains)
	for range 2 {
		require.NoError(t, shown.Reset(sampler.Control{}, x))
		require.NoError(t, hidden.Reset(sampler.Control{}, y))
		before := slices.Clone(y)
		for range 3 {
			shown.Step(sampler.Control{}, info, x, a)
			hidden.Step(sampler.Control{Unread: true}, told, y, b)
		}
		assert.Equal(t, before, y)
		assert.True(t, math.IsNaN(told[0].Energy), "nobody reads it")
		assert.Equal(t, unread(info, true), unread(told, true))
		hidden.Show(y)
		assert.Equal(t, x, y)
		y[0] ^= 1
		hidden.Show(y) // they have been shown
		assert.NotEqual(t, x, y)
		x[0] = y[0]
	}
	assert.Nil(t, newMatching(exact.Must(model.NewPotts(model.Lattice{3, 3}, placedLevels+1, 0.1, nil))))
	assert.NotNil(t, newMatching(exact.Must(model.NewPotts(model.Lattice{3, 3}, placedLevels, 0.1, nil))))
}
