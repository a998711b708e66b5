package ground

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/bonds"
)

// Sweeps of pairs and of single flips in turn have the stationary distribution of Metropolis
// updates, exp(−beta·E), for integers and for reals.
func TestPairsAreMetropolisUpdates(t *testing.T) {
	q := []model.Edge{{I: 0, J: 0, W: -3}, {I: 1, J: 1, W: -2}, {I: 2, J: 2, W: -3}, {I: 0, J: 1, W: 6}, {I: 1, J: 2, W: 4}, {I: 0, J: 2, W: 1}}
	m, err := model.NewQuadratic(3, q, model.Polynomial{})
	require.NoError(t, err)
	b := bonds.Of(m)
	w, f, unit, ok := b.Integers(maxReach)
	require.True(t, ok)
	pairFrequencies(t, m, newSystem(b, w, f), unit)
	pairFrequencies(t, m, newSystem(b, b.Weight, b.Field), 1)
}

func pairFrequencies[T number](t *testing.T, m *model.Quadratic, g *system[T], unit float64) {
	const beta, sweeps = 0.5, 200000
	p := newPairs(g)
	assert.Len(t, p.row(2), 1, "the bond to site 0 is weak")
	x, words := newSpins(g), newSearcher(g, nil, p, nil, nil, scale{}, 1, 1).words
	x.set(g, make([]int32, 3))
	table := acceptances(nil, beta*unit, 2*int(g.reach))
	count, levels := make([]float64, 8), make([]int32, 3)
	for range sweeps {
		x.sweep(g, 0, 3, beta*unit, table, &words)
		p.sweep(g, x, 0, 3, beta*unit, table, &words)
		x.levels(levels)
		count[levels[0]|levels[1]<<1|levels[2]<<2]++
	}
	e, total := make([]float64, 8), 0.0
	for k := range int32(8) {
		m.Energy(e[k:k+1], []int32{k & 1, k >> 1 & 1, k >> 2})
		total += math.Exp(-beta * e[k])
	}
	for k, c := range count {
		assert.InDelta(t, math.Exp(-beta*e[k])/total, c/sweeps, 0.006, "state %d", k)
	}
}
