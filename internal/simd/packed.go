package simd

// Packed is a factor b of k×n entries, row-major, that serves many products: a copy lies in
// the panels that the backend reads.
type Packed struct {
	b, panels []float32
	n, k      int
	width     int // of a panel; 0 without
}
