package energy

// Incremental models evaluate a state at the cost of what changed since another,
// from intermediate results that the caller keeps per state.
type Incremental interface {
	Binary

	// CacheLen returns the number of intermediate results of a state.
	CacheLen() int

	// FieldFrom stores in e and h what Field gives for y, the same bits, and in
	// next the intermediate results of y (states × CacheLen()). x and cache are
	// as many earlier states and what next held for them; they are not
	// modified and do not overlap next. If x is nil, the evaluation starts from
	// nothing and cache is not used.
	FieldFrom(e []float64, h []float32, next []float64, y []int32, cache []float64, x []int32)
}
