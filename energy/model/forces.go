package model

import "math"

// forces are F_i = Σ_j A_ij v_j for dense couplings of two levels, by what each
// site adds to all of them when its level is 1:
//
//	F_i = v_0·Σ_j A_ij + (v_1 − v_0)·a_i,  a_i = Σ_{j: x_j=1} A_ij.
type forces struct {
	panels panels    // of a
	total  []float64 // Σ_j A_ij
}

// smallestGrid keeps the grid a normal number.
const smallestGrid = 0x1p-1000

// newForces returns the forces of a, whose entries it rounds.
func newForces(a dense) *forces {
	f := &forces{panels: newPanels(a.sites, a.sites), total: make([]float64, a.sites)}
	f.panels.wide = make([]float64, a.sites*len(f.panels.origin))
	f.set(a)
	return f
}

// set takes the couplings a, whose entries it rounds to the grid.
func (f *forces) set(a dense) {
	n, most := a.sites, 0.0
	for i := range n {
		sum := 0.0
		for _, w := range a.rows[i*n : (i+1)*n] {
			sum += math.Abs(w)
		}
		most = max(most, sum)
	}
	_, e := math.Frexp(most)
	grid := max(math.Ldexp(1, e-52), smallestGrid)
	for i := range n {
		for j, w := range a.rows[i*n : i*n+i] {
			w = float64(math.RoundToEven(w/grid) * grid)
			a.rows[i*n+j], a.rows[j*n+i] = w, w
			f.panels.wide[f.panels.at(i, j)], f.panels.wide[f.panels.at(j, i)] = w, w
		}
	}
	for i := range n {
		sum := 0.0
		for _, w := range a.rows[i*n : (i+1)*n] {
			sum += w
		}
		f.total[i] = sum
	}
}
