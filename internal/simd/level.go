package simd

// level orders the backends of an architecture; a higher one needs all that a lower one
// needs.
type level int

const (
	purego level = iota
	avx2
	avx512

	neon = purego + 1 // on arm64
)
