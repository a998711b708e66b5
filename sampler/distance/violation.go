package distance

import (
	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Violation returns, over series of sites entries each, the mean of
// Σ_j max(0, g_j), the violation magnitude, and the largest single g_j, at
// least 0. It panics unless sites divides len(x). The sum is taken series by
// series in order, in float64.
func Violation(set constraint.Smooth, x []float32, sites int) (mean, worst float64) {
	check.Must("distance: Violation", "set", set)
	series := check.Rows("distance", "x", len(x), sites)
	g := make([]float64, set.Len())
	for s := range series {
		set.Value(g, x[s*sites:(s+1)*sites])
		for _, e := range g {
			mean += max(e, 0)
			worst = max(worst, e)
		}
	}
	return mean / float64(max(1, series)), worst
}
