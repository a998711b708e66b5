package simd

import (
	"bytes"
	"unsafe"
)

// Same reports whether x and y, of equal length, hold the same bits: zeros of
// different sign differ, and a NaN is itself.
func Same(x, y []float32) bool {
	return len(x) == len(y) && (len(x) == 0 || bytes.Equal(raw(x), raw(y)))
}

// raw returns the memory of x, which is not empty.
func raw(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x)*4)
}
