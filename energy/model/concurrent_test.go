package model_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/stretchr/testify/require"
)

// Goroutines that share a model, and its scratch, must not meet.
func TestModelsAreSafeForConcurrentUse(t *testing.T) {
	ising, err := model.NewIsing(model.Lattice{3, 4, 5}, 0.3, 0.1)
	require.NoError(t, err)
	potts, err := model.NewPotts(model.Lattice{6, 10}, 2, 0.3, nil)
	require.NoError(t, err)
	quadratic, err := model.NewDenseQuadratic(60, repeat(0.1, 3600), model.Polynomial{})
	require.NoError(t, err)
	big := bigMachine(60, 30)
	rbm, err := model.NewRBM(big.w, big.bh, big.bv)
	require.NoError(t, err)
	for _, m := range []energy.Differentiable{ising, potts, quadratic, rbm} {
		c := m.(energy.Conditional)
		work := func() ([]float64, []float32, []float64) {
			x := make([]int32, 4*60)
			fill(x, 2)
			e, g, d := make([]float64, 4), make([]float32, 2*len(x)), make([]float64, 2)
			m.Gradient(e, g, x)
			c.Conditional(d, 7, x[:60])
			return e, g, d
		}
		e, g, d := work()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 20 {
					e2, g2, d2 := work()
					if !slices.Equal(e, e2) || !slices.Equal(g, g2) || !slices.Equal(d, d2) {
						t.Errorf("%T: another result beside other goroutines", m)
					}
				}
			})
		}
		wg.Wait()
	}
}
