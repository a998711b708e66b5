package model

import (
	"math"
	"slices"
)

// Pairs implements [energy.Pairwise].
func (m *Ising) Pairs() (start, adj []int32, weight, field []float64, ok bool) {
	g := m.graph
	weight, field = slices.Clone(g.weight), make([]float64, g.Sites())
	for i := range field {
		sum := 0.0
		_, row := g.Neighbors(i)
		for _, w := range row {
			sum += w
		}
		field[i] = m.difference(-sum, i)
	}
	for k := range weight {
		weight[k] = float64(-4*m.coupling) * weight[k]
	}
	return g.start, g.adj, weight, field, true
}

// pairwiseQuadratic is a Quadratic with two levels.
type pairwiseQuadratic struct{ *Quadratic }

// Pairs implements [energy.Pairwise]. It makes rows of a dense matrix.
func (m pairwiseQuadratic) Pairs() (start, adj []int32, weight, field []float64, ok bool) {
	step := m.values[1] - m.values[0]
	unit := float64(step * step)
	field = make([]float64, len(m.linear))
	zeros := make([]int32, len(m.linear))
	for i := range field {
		lo, hi := m.couplings.halves(i, zeros, m.values)
		field[i] = m.difference(i, 0, 1, lo+hi)
	}
	if a, is := m.couplings.(sparse); is {
		start, adj, weight = a.graph.start, a.graph.adj, slices.Clone(a.graph.weight)
	} else if start, adj, weight, ok = denseRows(m.couplings.(dense)); !ok {
		return nil, nil, nil, nil, false
	}
	for k := range weight {
		weight[k] = float64(weight[k] * unit)
	}
	return start, adj, weight, field, true
}

// denseRows returns the entries of a that are not 0 in compressed rows, unless
// there are too many for 32-bit indices.
func denseRows(a dense) (start, adj []int32, weight []float64, ok bool) {
	entries := 0
	for _, w := range a.rows {
		if w != 0 {
			entries++
		}
	}
	if entries > math.MaxInt32 {
		return nil, nil, nil, false
	}
	start = make([]int32, a.sites+1)
	adj, weight = make([]int32, 0, entries), make([]float64, 0, entries)
	for i := range a.sites {
		for j, w := range a.rows[i*a.sites : (i+1)*a.sites] {
			if w != 0 {
				adj, weight = append(adj, int32(j)), append(weight, w)
			}
		}
		start[i+1] = int32(len(adj))
	}
	return start, adj, weight, true
}
