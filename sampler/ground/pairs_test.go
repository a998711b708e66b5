package ground

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/bonds"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// A sweep of pairs and one of single flips keep the distribution exp(−beta·E), for integers and for
// reals. Pairs whose bond is forgotten do not.
func TestPairsAreMetropolisUpdates(t *testing.T) {
	q := []model.Edge{{I: 0, J: 0, W: -3}, {I: 1, J: 1, W: -2}, {I: 2, J: 2, W: -3}, {I: 0, J: 1, W: 6}, {I: 1, J: 2, W: 4}, {I: 0, J: 2, W: 1}}
	m, err := model.NewQuadratic(3, q, model.Polynomial{})
	require.NoError(t, err)
	b := bonds.Of(m)
	w, f, unit, ok := b.Integers(maxReach)
	require.True(t, ok)
	keepPairs(t, m, newSystem(b, w, f), unit)
	keepPairs(t, m, newSystem(b, b.Weight, b.Field), 1)
}

func keepPairs[T number](t *testing.T, m *model.Quadratic, g *system[T], unit float64) {
	const beta, starts = 0.5, 100000
	pi, total := make([]float64, 8), 0.0
	for k := range int32(8) {
		m.Energy(pi[k:k+1], []int32{k & 1, k >> 1 & 1, k >> 2})
		pi[k] = math.Exp(-beta * pi[k])
		total += pi[k]
	}
	for k := range pi {
		pi[k] /= total
	}
	p := newPairs(g)
	assert.Len(t, p.row(2), 1, "the bond to site 0 is weak")
	table := acceptances(nil, beta*unit, 2*int(g.reach))
	counts := func(p *pairs[T]) []int {
		x, words := newSpins(g), newSearcher(g, nil, p, nil, nil, scale{}, 1, 1).words
		n, levels := make([]int, 8), make([]int32, 3)
		for range starts {
			u, k := words.unit(), int32(0)
			for ; k < 7 && u >= pi[k]; k++ {
				u -= pi[k]
			}
			x.set(g, []int32{k & 1, k >> 1 & 1, k >> 2})
			x.sweep(g, 0, 3, beta*unit, table, &words)
			p.sweep(g, x, 0, 3, beta*unit, table, &words)
			x.levels(levels)
			n[levels[0]|levels[1]<<1|levels[2]<<2]++
		}
		return n
	}
	exact.Counts(t, counts(p), pi, 1e-6)
	wrong := *p
	wrong.near = slices.Clone(p.near)
	for i := range wrong.near {
		wrong.near[i].w = 0
	}
	assert.Less(t, exact.PValue(counts(&wrong), pi), 1e-6)
}
