package model

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// NeighborCorrelation returns a function that computes the mean product of neighbouring spins of a
// two-level state x on the topology t,
//
//	(1/|edges|) Σ_{edges ij} s_i s_j,  s_i = 2x_i − 1.
//
// Weights of edges are ignored. The function can be used as an observer of a sampler: it is safe
// for concurrent use and allocates nothing. It panics on a state of the wrong length.
// NeighborCorrelation returns an error if t.Graph returns one or there are no edges.
func NeighborCorrelation(t Topology) (func(x []int32) float64, error) {
	if t == nil {
		return nil, fmt.Errorf("model: NeighborCorrelation: no topology")
	}
	g, err := t.Graph()
	if err != nil {
		return nil, err
	}
	if g.Len() == 0 {
		return nil, fmt.Errorf("model: NeighborCorrelation: the topology has no edges")
	}
	return func(x []int32) float64 {
		check.Len("model", "x", len(x), g.Sites())
		sum := 0
		for i, v := range x {
			for _, j := range g.adj[g.upper[i]:g.start[i+1]] {
				sum += int((2*v - 1) * (2*x[j] - 1))
			}
		}
		return float64(sum) / float64(g.Len())
	}, nil
}

// OrderParameter returns a function that computes the order parameter of a Potts model. For a state
// of n sites it is
//
//	(q·max_l n_l/n − 1) / (q − 1),
//
// where q is the number of levels and n_l the number of sites at level l. It is 0 if all levels are
// equally frequent and 1 if all sites have the same level. The function panics on an empty state or
// a level out of range. It is safe for concurrent use. OrderParameter panics unless levels ≥ 2.
func OrderParameter(levels int) func(x []int32) float64 {
	if levels < 2 {
		panic(fmt.Sprintf("model: OrderParameter: levels = %d, want ≥ 2", levels))
	}
	return func(x []int32) float64 {
		if len(x) == 0 {
			panic("model: OrderParameter: len(x) = 0, want ≥ 1")
		}
		var scratch [64]int
		counts := scratch[:]
		if levels > len(scratch) {
			counts = make([]int, levels)
		}
		most := 0
		for i, l := range x {
			if l < 0 || int(l) >= levels {
				panic(fmt.Sprintf("model: OrderParameter: x[%d] = %d, want 0 … %d", i, l, levels-1))
			}
			counts[l]++
			most = max(most, counts[l])
		}
		return (float64(levels)*float64(most)/float64(len(x)) - 1) / float64(levels-1)
	}
}
