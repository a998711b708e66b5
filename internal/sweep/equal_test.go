package sweep

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
)

// rowModels are small models that rowGibbs takes: complete graphs with a tail, with
// couplings of either sign and of both, with and without a field and with several, no
// neighbours at all, seven, of two levels, scaled, and couplings that rounding moves.
func rowModels(t *testing.T) map[string]energy.Model {
	both := sweeptest.Glass(t, 7, 0.4, 0.1)
	return map[string]energy.Model{
		"ferro":  sweeptest.Complete(t, 6, 0.3, 0.2),
		"repel":  sweeptest.Complete(t, 7, -0.8, -0.1),
		"strong": sweeptest.Complete(t, 5, 3, 0.1),
		"glass":  both,
		"odd":    sweeptest.Glass(t, 6, -0.1, 0.7),
		"fields": exact.Must(sweeptest.Glass(t, 5, 0.6, 0).WithFields([]float64{0.5, -0.5, 0.25, 0, 0.6})),
		"tail":   exact.Must(model.NewIsing(exact.Must(model.NewGraph(5, []model.Edge{{I: 0, J: 1, W: 1}, {I: 1, J: 2, W: -1}})), 0.9, 0.3)),
		"potts":  exact.Must(model.NewPotts(model.FreeLattice{2, 3}, 2, 0.7, []float64{0.5, -0.25})),
		"torus":  exact.Must(model.NewIsing(model.Lattice{3, 2}, 0.3, 0)),
		"scaled": exact.Must(energy.Scale(both, 0.3)),
	}
}

// large are models of sites of 0 … 127 neighbours.
func large(t *testing.T) map[string]energy.Model {
	t.Helper()
	r := rand.New(rand.NewPCG(6, 6))
	var same, both []model.Edge
	for i := range 128 { // site i of the first half has i + … neighbours of the second
		for j := range 128 {
			if j < i {
				same = append(same, model.Edge{I: i, J: 128 + j, W: 1})
				both = append(both, model.Edge{I: i, J: 128 + j, W: float64(2*r.IntN(2) - 1)})
			}
		}
	}
	g, h := exact.Must(model.NewGraph(256, same)), exact.Must(model.NewGraph(256, both))
	fields := make([]float64, 256)
	for i := range fields {
		fields[i] = float64(i%5) / 7
	}
	return map[string]energy.Model{
		"ferro":   exact.Must(model.NewIsing(g, 0.02, 0.1)),
		"repel":   exact.Must(model.NewIsing(g, -0.3, 0)),
		"glass":   exact.Must(model.NewIsing(h, 0.07, -0.2)),
		"fields":  exact.Must(exact.Must(model.NewIsing(h, -0.15, 0)).WithFields(fields)),
		"certain": exact.Must(model.NewIsing(h, 40, 0)),
	}
}

// Sites of different numbers of neighbours and the same field share two tables, one for
// even and one for odd numbers, and those whose fields differ by a multiple of the coupling
// join them as long as they fit.
func TestRowKinds(t *testing.T) {
	for name, want := range map[string]int{"ferro": 2, "repel": 2, "glass": 2, "certain": 2, "fields": 10} {
		assert.Len(t, newRowKinds(newEqual(large(t)[name]), nil).window, want, name)
	}
	fields := make([]float64, 40)
	for i := range fields {
		fields[i] = float64(i)
	}
	k := newRowKinds(newEqual(exact.Must(sweeptest.Glass(t, 40, 0.5, 0).WithFields(fields))), nil) // steps of two sums
	assert.Len(t, k.window, 1)
	k = newRowKinds(newEqual(exact.Must(sweeptest.Glass(t, 40, 0.125, 0).WithFields(fields))), nil) // steps of eight
	assert.Greater(t, len(k.window), 1)
	for _, w := range k.window {
		assert.Less(t, w.high-w.low, int32(simd.RowCounts))
	}
}
