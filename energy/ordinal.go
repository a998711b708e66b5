package energy

// Ordinal models have numeric levels; proposals measure distance between them.
type Ordinal interface {
	Model

	// Values returns the number that each level stands for (levels entries,
	// finite, strictly ascending). The slice is the model's own.
	Values() []float32
}

// Windowed models fill a table around the current level only, for level sets
// that are too large for a whole table.
type Windowed interface {
	Ordinal

	// Window stores the energies of the states in e and, in g
	// (len(x)·(2w+1) entries),
	//
	//	g[s,i,k] ≈ E(x with x_i = x_i+k−w) − E(x),  k = 0,…,2w,
	//
	// +Inf where x_i+k−w lies outside 0…levels−1.
	Window(e []float64, g []float32, x []int32, w int)
}
