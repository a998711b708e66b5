// Package check owns the checks of arguments that every package makes, and the
// one form of their messages: who complains, of what, its value, and the bound.
package check

import (
	"fmt"
	"math"
)

// Len panics unless the slice called name has the wanted length. who is the
// package that was called.
func Len(who, name string, got, want int) {
	if got != want {
		panic(fmt.Sprintf("%s: len(%s) = %d, want %d", who, name, got, want))
	}
}

// Rows returns the number of rows of width n in a slice called name of length
// got. It panics unless n divides the length.
func Rows(who, name string, got, n int) int {
	if got%n != 0 {
		panic(fmt.Sprintf("%s: len(%s) = %d, want a multiple of %d", who, name, got, n))
	}
	return got / n
}

// Finite reports whether v is a finite number.
func Finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
