package energy

// Bipartite models have binary hidden units that are independent given the
// visible sites, and binary visible sites independent given the hidden ones.
type Bipartite interface {
	Model

	// Hidden returns the number of hidden units.
	Hidden() int

	// HiddenField stores, for each state, the exact log-odds
	// log p(h_j=1|x) − log p(h_j=0|x) of every hidden unit;
	// len(f) = states·Hidden().
	HiddenField(f []float32, x []int32)

	// VisibleField stores, for each hidden state, the exact log-odds of every
	// visible site; len(f) = states·sites, len(h) = states·Hidden().
	VisibleField(f []float32, h []int32)
}

// IncrementalBipartite models evaluate a state, and the log-odds of the hidden
// units at it, at the cost of what changed since another.
type IncrementalBipartite interface {
	Bipartite

	// CacheLen returns the number of intermediate results of a state.
	CacheLen() int

	// HiddenFieldFrom stores in e and f what Energy and HiddenField give for y,
	// the same bits; next, cache and x are as in [Incremental].
	HiddenFieldFrom(e []float64, f []float32, next []float64, y []int32, cache []float64, x []int32)
}
