package network

import (
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Constants for drawing multipliers. perturb is from Hadou et al. 2026. The others are round
// numbers, checked by TestOneNetworkServesSeveralBounds.
const (
	perturb = 0.3  // standard deviation of log λ around the λ of a path
	stretch = 1.25 // largest factor by which a drawn λ exceeds that of a path
	// probability that a multiplier is increased, so that multipliers of 0 vary too
	aside = 0.25
	// size of the increase, as a fraction of the scale, at one standard deviation
	raise = 0.25
	leash = 4 // largest λ, in units of its scale
)

// near stores in lambda a random vector near factor times row.
func near(lambda, row, scale []float64, factor float64, r *rand.Rand) {
	for j, l := range row {
		z, w := normal.Pair(r)
		v := float64(factor * l * simd.Exp(perturb*z))
		if r.Float64() < aside {
			v += float64(raise * scale[j] * math.Abs(w))
		}
		lambda[j] = min(v, leash*scale[j])
	}
}

// limit returns the upper bound on the multipliers in a diffusion. The bound is a multiple of the
// largest scale, but at least the largest initial multiplier. If all scales are 0, limit returns
// nil, which means no bound.
func limit(scale, start []float64) *float64 {
	top := 0.0
	for _, s := range scale {
		top = max(top, leash*s)
	}
	if top == 0 {
		return nil
	}
	for _, l := range start {
		top = max(top, l)
	}
	return &top
}

// setScales sets the scale of each multiplier after a set of diffusions. The scale is the largest
// multiplier that occurred, and at least β over the standard deviation of the violations.
func setScales(scale []float64, all []*visits, beta float64) {
	m := len(scale)
	for j := range scale {
		n, sum, square, top := 0.0, 0.0, 0.0, 0.0
		for _, v := range all {
			for i := j; i < len(v.lambda); i += m {
				top = max(top, v.lambda[i])
			}
			for i := j; i < len(v.violation); i += m {
				n++
				sum += v.violation[i]
			}
		}
		for _, v := range all {
			for i := j; i < len(v.violation); i += m {
				g := v.violation[i] - sum/n
				square += float64(g * g)
			}
		}
		if unit := beta / math.Sqrt(square/n); check.Finite(unit) {
			top = max(top, unit)
		}
		scale[j] = top
	}
}
