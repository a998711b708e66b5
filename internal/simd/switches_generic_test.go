//go:build !amd64 || purego

package simd

// setAES stands for what another build of this file does.
func setAES(bool, bool) (narrow, wide bool) { return false, false }

// withoutPopcounts stands for what another build of this file does.
func withoutPopcounts(f func()) { f() }

// withoutDots is the same for what multiplies words and adds them up.
func withoutDots(f func()) { f() }

// withoutPermutes stands for what another build of this file does.
func withoutPermutes(f func()) { f() }
