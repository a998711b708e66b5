package network

import (
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// The constants are those of Hadou et al. 2026 where they name one (perturb); the others
// are round numbers that TestOneNetworkServesSeveralBounds checks.
const (
	perturb = 0.3  // standard deviation of log λ about a path's
	stretch = 1.25 // largest multiple of a path's λ that a drawn λ is
	aside   = 0.25 // share of multipliers that are raised, so that those of 0 are seen
	raise   = 0.25 // by which part of their scale, at one standard deviation
	leash   = 4    // largest λ, in scales
)

// near stores in lambda a draw from around row, times a factor.
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

// limit bounds the multipliers of a diffusion: a multiple of the largest scale, and at least
// what they start at; nil, none, while there is no scale.
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

// setScales sets the scales after diffusions: the largest multiplier that a path met,
// and at least β over the standard deviation of the violations.
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
