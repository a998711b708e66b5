package simd

// level orders the backends; a higher one needs all that a lower one needs.
type level int

const (
	purego level = iota
	avx2
	avx512
)

var levelNames = [...]string{purego: "purego", avx2: "avx2", avx512: "avx512"}
