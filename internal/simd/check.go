package simd

import (
	"bytes"
	"fmt"
	"unsafe"
)

func checkLen(name string, got, want int) {
	if got != want {
		panic(fmt.Sprintf("simd: len(%s) = %d, want %d", name, got, want))
	}
}

func checkRows(w []float32, cols int) {
	if cols < 1 {
		panic(fmt.Sprintf("simd: cols = %d, want ≥ 1", cols))
	}
	if len(w)%cols != 0 {
		panic(fmt.Sprintf("simd: len(w) = %d, want a multiple of %d", len(w), cols))
	}
}

func checkGemm(c, a, b []float32, m, n, k int) {
	if m < 0 || n < 0 || k < 0 {
		panic(fmt.Sprintf("simd: m, n, k = %d, %d, %d, want ≥ 0", m, n, k))
	}
	checkLen("c", len(c), m*n)
	checkLen("a", len(a), m*k)
	checkLen("b", len(b), n*k)
}

// checkBits panics unless n, the number of words of a string, is a multiple of the words in a
// register of 512 bits and does not exceed the given maximum.
func checkBits(name string, n, most int) {
	if n%(BitSites/64) != 0 || n > most {
		panic(fmt.Sprintf("simd: len(%s) = %d, want a multiple of %d, at most %d", name, n, BitSites/64, most))
	}
}

// Same reports whether x and y have the same length and the same bits in every entry. Zeros of
// different sign therefore differ, and a NaN equals itself.
func Same(x, y []float32) bool {
	return len(x) == len(y) && (len(x) == 0 || bytes.Equal(raw(x), raw(y)))
}

// raw returns the memory of x, which must not be empty, as bytes.
func raw(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x)*4)
}
