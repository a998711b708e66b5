//go:build (!amd64 && !arm64) || purego

package simd

// level orders the backends of the architecture; a higher one needs all that a lower one
// needs.
type level int

const purego level = 0

var levelNames = [...]string{purego: "purego"}

// supported returns the highest backend that this binary and this CPU have.
func supported() level { return purego }
