// Package multiplier checks that Lagrange multipliers are finite, non-negative and within bounds.
package multiplier

import (
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Check returns an error if a Lagrange multiplier is not finite or is negative. The slice equal
// marks the multipliers of equalities, which may be negative. If equal is nil, there are no
// equalities. The error begins with caller.
func Check(caller string, lambda []float64, equal []bool) error {
	for j, v := range lambda {
		if equal != nil && equal[j] {
			if !check.Finite(v) {
				return fmt.Errorf("%s: lambda[%d] = %v, want a finite number", caller, j, v)
			}
			continue
		}
		if !(v >= 0) || !check.Finite(v) {
			return fmt.Errorf("%s: lambda[%d] = %v, want a finite number ≥ 0", caller, j, v)
		}
	}
	return nil
}

// Range returns checked and completed values of two configuration fields for n Lagrange
// multipliers. The first result, for the field Start, holds the initial multipliers: a copy of
// start, or n zeros if start is nil. The second, for the field Max, limits their absolute values:
// *bound, or +Inf if bound is nil.
//
// Entries of start must lie in [0, *bound]. For equalities, which the slice equal marks, they must
// lie in [−*bound, *bound]. If equal is nil, there are no equalities. The error begins with caller,
// the name of the configuration.
func Range(caller string, n int, start []float64, bound *float64, equal []bool) ([]float64, float64, error) {
	most := math.Inf(1)
	if bound != nil {
		most = *bound
	}
	if !(most >= 0) {
		return nil, 0, fmt.Errorf("%s.Max = %v, want ≥ 0", caller, most)
	}
	if start == nil {
		return make([]float64, n), most, nil
	}
	if len(start) != n {
		return nil, 0, fmt.Errorf("%s.Start has %d numbers, want %d", caller, len(start), n)
	}
	for j, v := range start {
		low := 0.0
		if equal != nil && equal[j] {
			low = -most
		}
		if !(v >= low && v <= most) || !check.Finite(v) {
			return nil, 0, fmt.Errorf("%s.Start[%d] = %v, want %v … %v", caller, j, v, low, most)
		}
	}
	return slices.Clone(start), most, nil
}
