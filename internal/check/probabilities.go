package check

import (
	"fmt"
	"math"
)

// rowTolerance is how far the sum of a row of probabilities may be from 1:
// rows of float32 numbers miss it by about 1e-7.
const rowTolerance = 1e-6

// Probabilities returns an error unless p, the argument name of the constructor
// caller of the package who, consists of rows of the given length whose entries
// are ≥ 0 and sum to 1 within 1e-6.
func Probabilities(who, caller, name string, p []float64, length int) error {
	for r := 0; r < len(p); r += length {
		sum := 0.0
		for k, v := range p[r : r+length] {
			if !(v >= 0) {
				return fmt.Errorf("%s: %s: %s[%d] = %v, want ≥ 0", who, caller, name, r+k, v)
			}
			sum += v
		}
		if !(math.Abs(sum-1) <= rowTolerance) {
			return fmt.Errorf("%s: %s: %s[%d:%d] sums to %v, want 1 within %g", who, caller, name, r, r+length, sum, rowTolerance)
		}
	}
	return nil
}
