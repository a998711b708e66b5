package model

import "github.com/gibbsite-go/gibbsite/internal/check"

// Cut returns the weight Σ w_ij [x_i ≠ x_j] of the edges between sites of
// different levels: the cut that the two-level state x makes. The method value
// g.Cut is an observer; it is safe for concurrent use and allocates nothing.
// It panics unless len(x) is the number of sites.
func (g *Graph) Cut(x []int32) float64 {
	check.Len("model", "x", len(x), g.Sites())
	cut := 0.0
	for i, v := range x {
		for k := g.upper[i]; k < g.start[i+1]; k++ {
			if x[g.adj[k]] != v {
				cut += g.weight[k]
			}
		}
	}
	return cut
}

// MaxCut returns the model that favours large cuts of g,
//
//	E(x) = ½ Σ_{edges ij} w_ij s_i s_j = ½ Σ_{edges ij} w_ij − g.Cut(x),  s = 2x − 1,
//
// the [Ising] model with coupling −½: an energy lower by 1 is a cut heavier by
// 1, and ground states are maximum cuts. Anneal it, or [energy.Scale] it by an
// inverse temperature. It returns an error if g was not made by [NewGraph] or
// energies would overflow.
func MaxCut(g *Graph) (*Ising, error) { return NewIsing(g, -0.5, 0) }
