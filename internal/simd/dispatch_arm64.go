//go:build arm64 && !purego

package simd

// level orders the backends of the architecture; a higher one needs all that a lower one
// needs.
type level int

const (
	purego level = iota
	neon
)

var levelNames = [...]string{purego: "purego", neon: "neon"}

// supported returns the highest backend that this binary and this CPU have: NEON is
// part of arm64.
func supported() level { return neon }
