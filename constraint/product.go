package constraint

import (
	"math"
	"math/bits"
)

// maxStates bounds the states of lazy products, so that one more state still
// fits an int.
const maxStates = math.MaxInt / 2

// times multiplies numbers of states; where the product is too large it
// returns a and false.
func times(a, b int) (int, bool) {
	if b > 0 && a > maxStates/b {
		return a, false
	}
	return a * b, true
}

// tooMany reports a product of states beyond maxStates, by its number of bits.
func tooMany(name string, a, b int) error {
	return &LimitError{name + ": bits of a state", bits.Len(uint(a)) + bits.Len(uint(b)), bits.Len(uint(maxStates))}
}
