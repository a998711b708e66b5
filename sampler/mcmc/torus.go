package mcmc

import (
	"github.com/gibbsite-go/gibbsite/energy"
)

// torusChains are the chains of a kernel for energy.Toroidal models, whose states it holds
// as bits.
type torusChains struct {
	cols int
	d    [5]float64
}

const colours = 2 // of a chequerboard

// What the energy of a state of a torus depends on: Σ x_i x_j over the bonds and Σ x_i, by
// colour.
const (
	torusBonds = iota
	torusUp
	torusNumbers = torusUp + colours
)

// newTorusChains returns false if the model is not toroidal or a side is below 3.
func newTorusChains(m energy.Model, chains int, form format) (k torusChains, p packed, ok bool) {
	t, ok := energy.As[energy.Toroidal](m)
	if !ok {
		return k, p, false
	}
	sites, _ := m.Shape()
	cols, d, ok := t.Torus()
	if !ok || cols < 3 || sites/cols < 3 {
		return k, p, false
	}
	form.absolute, form.kept = true, torusNumbers
	return torusChains{cols: cols, d: d}, newPacked(m, sites, chains, 1, torusNumbers, form), true
}

// addEnergies implements holder: d[k] = d[0] + k(d[1]−d[0]) says that a pair of ones counts
// d[1]−d[0] and a one d[0].
func (k *torusChains) addEnergies(e []float64, more [][]int) {
	for s := range e {
		e[s] += k.worth(more[torusBonds][s], more[torusUp][s]+more[torusUp+1][s])
	}
}

// worth returns the energy of so many bonds and ones.
func (k *torusChains) worth(bonds, ones int) float64 {
	return float64((k.d[1]-k.d[0])*float64(bonds)) + float64(k.d[0]*float64(ones))
}
