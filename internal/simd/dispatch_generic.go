//go:build !amd64 || purego

package simd

// supported returns the highest backend that this binary and this CPU have.
func supported() level { return purego }
