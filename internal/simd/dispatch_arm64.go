//go:build arm64 && !purego

package simd

var levelNames = [...]string{purego: "purego", neon: "neon"}

// supported returns the highest backend that this binary and this CPU have: NEON is
// part of arm64.
func supported() level { return neon }
