package exact

import (
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/stretchr/testify/require"
)

// RBM is a small random machine.
func RBM(t testing.TB) *model.RBM {
	r := rand.New(rand.NewPCG(4, 4))
	draw := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(r.NormFloat64())
		}
		return v
	}
	m, err := model.NewRBM(draw(3*6), draw(3), draw(6))
	require.NoError(t, err)
	return m
}

// Library holds models of the library, with caches, graphs and hidden units that
// [Rugged] models have not.
func Library(t testing.TB) map[string]energy.Model {
	ising, err := model.NewIsing(model.Lattice{3, 3}, 0.3, 0.1)
	require.NoError(t, err)
	g, err := model.NewGraph(6, []model.Edge{{I: 0, J: 1, W: 1}, {I: 1, J: 2, W: -2}, {I: 2, J: 3, W: 0.5}, {I: 0, J: 4, W: 1.5}, {I: 1, J: 4, W: 1}})
	require.NoError(t, err)
	glass, err := model.NewIsing(g, 0.4, 0.2)
	require.NoError(t, err)
	potts, err := model.NewPotts(model.FreeLattice{2, 3}, 3, 0.6, []float64{0.1, 0, -0.2})
	require.NoError(t, err)
	return map[string]energy.Model{"ising": ising, "glass": glass, "potts": potts, "rbm": RBM(t)}
}

// Pocked fails (v = NaN) or forbids (v = +Inf) the states whose level sum is a
// multiple of three, except the all-zero one.
func Pocked(v float64) energy.Func {
	return energy.Func{Sites: 5, Levels: 2, E: func(x []int32) float64 {
		sum := 0
		for _, l := range x {
			sum += int(l)
		}
		if sum == 3 {
			return v
		}
		return 0.1 * float64(sum)
	}}
}
