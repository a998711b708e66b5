package model

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// NeighborCorrelation returns the observer (1/|edges|) Σ_{edges ij} s_i s_j,
// s = 2x − 1, of one two-level state on t; weights play no part. The observer
// is safe for concurrent use, allocates nothing and panics on a state of
// another length. NeighborCorrelation returns an error if the topology does or
// has no edges.
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
