// Package multiplier checks Lagrange multipliers: finite, ≥ 0 and below a bound.
package multiplier

import (
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Check returns an error that begins with who unless all multipliers are finite and, except
// for equalities, ≥ 0. A nil equal means no equality.
func Check(who string, lambda []float64, equal []bool) error {
	for j, v := range lambda {
		if equal != nil && equal[j] {
			if !check.Finite(v) {
				return fmt.Errorf("%s: lambda[%d] = %v, want a finite number", who, j, v)
			}
			continue
		}
		if !(v >= 0) || !check.Finite(v) {
			return fmt.Errorf("%s: lambda[%d] = %v, want a finite number ≥ 0", who, j, v)
		}
	}
	return nil
}

// Range completes the fields Start and Max of a configuration for n multipliers. It returns
// a copy of start, or zeros if start is nil, and the bound, or +Inf if there is none.
// Multipliers of equalities (none if equal is nil) are between −most and most. The error
// begins with who, the configuration.
func Range(who string, n int, start []float64, bound *float64, equal []bool) ([]float64, float64, error) {
	most := math.Inf(1)
	if bound != nil {
		most = *bound
	}
	if !(most >= 0) {
		return nil, 0, fmt.Errorf("%s.Max = %v, want ≥ 0", who, most)
	}
	if start == nil {
		return make([]float64, n), most, nil
	}
	if len(start) != n {
		return nil, 0, fmt.Errorf("%s.Start has %d numbers, want %d", who, len(start), n)
	}
	for j, v := range start {
		low := 0.0
		if equal != nil && equal[j] {
			low = -most
		}
		if !(v >= low && v <= most) || !check.Finite(v) {
			return nil, 0, fmt.Errorf("%s.Start[%d] = %v, want %v … %v", who, j, v, low, most)
		}
	}
	return slices.Clone(start), most, nil
}
