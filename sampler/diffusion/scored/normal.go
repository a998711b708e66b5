package scored

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// erfcTerms are the coefficients of the rational Chebyshev fit of the
// complementary error function with a relative error below 1.2e-7 everywhere
// (Press et al., Numerical Recipes, erfcc). Package math's differs between
// processors in the last bits.
var erfcTerms = [...]float64{
	-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806,
	0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277,
}

// phi is the normal distribution function.
func phi(z float64) float64 {
	x := math.Abs(z) / math.Sqrt2
	t := 1 / (1 + float64(x/2))
	sum := 0.0
	for k := len(erfcTerms) - 1; k >= 0; k-- {
		sum = float64(sum*t) + erfcTerms[k]
	}
	tail := float64(float64(t*simd.Exp(sum-float64(x*x))) / 2)
	if z > 0 {
		return 1 - tail
	}
	return tail
}
