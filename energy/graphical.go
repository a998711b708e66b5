package energy

// Graphical models know which sites interact.
type Graphical interface {
	Model

	// Graph returns the neighbours of each site in compressed rows: those of
	// site i are adj[start[i]:start[i+1]], ascending, without i itself. The
	// conditional of a site depends on its neighbours only. The slices are the
	// model's own and must not be modified.
	Graph() (start, adj []int32)
}

// Toroidal models have two levels on a periodic lattice of two dimensions and
// the same interaction everywhere, so that whole colours of a chequerboard can be
// updated at once.
type Toroidal interface {
	Model

	// Torus returns the number of columns of the row-major lattice and the
	// exact differences d[k] = E(x_i=1) − E(x_i=0) of a site with k of its four
	// neighbours in state 1; ok is false for a model that is not of this kind
	// after all.
	Torus() (cols int, d [5]float64, ok bool)
}

// Matching models reward or punish neighbours that are equal, everywhere alike.
type Matching interface {
	Graphical

	// Matching returns J and the field h of each level (levels entries, not to
	// be modified), all finite, of which the energy is, up to a constant,
	//
	//	E(x) = −J Σ_{edges ij} [x_i = x_j] − Σ_i h[x_i]
	//
	// over the edges of Graph; ok is false for a model that is not of this kind
	// after all.
	Matching() (coupling float64, field []float64, ok bool)
}

// Pairwise models have two levels and interact in pairs: model.Ising,
// model.Quadratic with two values, sums of them, any of them scaled, or one of your own.
type Pairwise = interface {
	Model

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

// Clamped models have sites that never change: energies are those of another model
// where they are at their levels, and +Inf elsewhere.
type Clamped interface {
	Model

	// Unclamped returns the model whose sites are fixed, and the level of each site, −1
	// where it is free; not to be modified.
	Unclamped() (m Model, fixed []int32)
}

// Varying models have numbers that change between the steps of a kernel, which is then
// Reset: those of dual.Lagrangian are its multipliers. What a kernel takes from a model
// once and for all, as a [Toroidal] one, it finds in the model that Now returns.
type Varying interface {
	Model

	// Version returns another number after every change.
	Version() uint64

	// Now returns the model as it is at present, one that never changes.
	Now() Model
}
