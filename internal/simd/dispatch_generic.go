//go:build (!amd64 && !arm64) || purego

package simd

var levelNames = [...]string{purego: "purego"}

// supported returns the highest backend that this binary and this CPU have.
func supported() level { return purego }
