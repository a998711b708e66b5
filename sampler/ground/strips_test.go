package ground

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/bonds"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection/junction"
)

// torus returns a spin glass on a lattice of 14 × 30 sites.
func torus(real bool) *model.Ising {
	r := rand.New(rand.NewPCG(8, 8))
	var edges []model.Edge
	for i := range 14 {
		for j := range 30 {
			for _, k := range []int{(i+1)%14*30 + j, i*30 + (j+1)%30} {
				w := float64(1 - 2*r.IntN(2))
				if real {
					w = r.NormFloat64()
				}
				edges = append(edges, model.Edge{I: i*30 + j, J: k, W: w})
			}
		}
	}
	return exact.Must(model.NewIsing(exact.Must(model.NewGraph(420, edges)), 1, 0.125))
}

// Over a strip the best state has the lowest energy that elimination finds.
func TestStripsAreMinimised(t *testing.T) {
	for _, real := range []bool{false, true} {
		m := torus(real)
		s := exact.Must(New(m, Config{Seed: 3, Chains: 1}))
		if real {
			checkStrips(t, m, s.seekers[0].(*searcher[float64]))
		} else {
			checkStrips(t, m, s.seekers[0].(*searcher[int32]))
		}
	}
}

func checkStrips[T number](t *testing.T, m energy.Model, k *searcher[T]) {
	require.NotNil(t, k.strips)
	x, before, after := make([]int32, 420), make([]int32, 420), make([]float64, 1)
	last := energyOf(m, k.best)
	for range 4 {
		k.best.levels(before)
		require.True(t, k.settle())
		k.best.levels(x)
		m.Energy(after, x)
		require.LessOrEqual(t, after[0], last+1e-9)
		last = after[0]
		fresh := newSpins(k.g)
		fresh.set(k.g, x)
		for i := range x {
			require.InDelta(t, float64(fresh.loss[i]), float64(k.best.loss[i]), 1e-9)
		}
	}
	// The sites outside the last strip are fixed.
	moved := map[int]bool{}
	p := k.strips.plans[3]
	for _, i := range p.Set() {
		moved[int(i)] = true
	}
	fixed := map[int]int32{}
	for i, v := range x {
		if !moved[i] {
			require.Equal(t, before[i], v)
			fixed[i] = v
		}
	}
	f, ok := energy.As[energy.Factored](exact.Must(energy.Clamp(m, fixed)))
	require.True(t, ok)
	_, e, err := exact.Must(junction.New(t.Context(), f, junction.Config{})).Best(t.Context(), 1)
	require.NoError(t, err)
	require.InDelta(t, e[0], last, 1e-9)
}

// Dense graphs have no strips.
func TestDenseGraphsHaveNoStrips(t *testing.T) {
	b := bonds.Of(exact.Must(model.NewDenseQuadratic(40, slices.Repeat([]float64{1}, 1600), model.Polynomial{})))
	require.Nil(t, newStrips(newSystem(b, b.Weight, b.Field)))
}
