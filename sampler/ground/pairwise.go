package ground

import "github.com/gibbsite-go/gibbsite/energy"

// Pairwise models have two levels and interact in pairs: model.Ising,
// model.Quadratic with two values, either of them scaled, or one of your own. Ask
// for it by energy.As.
type Pairwise = interface {
	energy.Model

	// Pairs returns w and f, all finite, of which the energy is, up to a constant,
	//
	//	E(x) = Σ_i f_i x_i + Σ_{i<j} w_ij x_i x_j,  x_i ∈ {0, 1}.
	//
	// Row i of the symmetric w, whose diagonal is 0, has the entries
	// weight[start[i]:start[i+1]] in the columns adj[start[i]:start[i+1]],
	// ascending; the number of sites is len(f) = len(start) − 1. None of the
	// slices may be modified. ok is false for a model that is not of this kind
	// after all.
	Pairs() (start, adj []int32, weight, field []float64, ok bool)
}
