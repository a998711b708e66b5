package noise

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestNoiseSchedulesAreTheirFormulas(t *testing.T) {
	for name, c := range map[string]struct {
		s Schedule
		f func(t float64) float64
	}{
		"log-linear": {LogLinear{}, func(t float64) float64 { return 1 - 0.999*t }},
		"no epsilon": {LogLinear{Epsilon: -1}, func(t float64) float64 { return 1 - t }},
		"cosine":     {Cosine{}, func(t float64) float64 { return 0.001 + 0.999*math.Cos(t*math.Pi/2) }},
		"squared":    {CosineSquared{Epsilon: 0.01}, func(t float64) float64 { return 0.01 + 0.99*math.Pow(math.Cos(t*math.Pi/2), 2) }},
		"linear":     {LinearSigma{Min: 0.1, Max: 7}, func(t float64) float64 { return math.Exp(-0.1 - 6.9*t) }},
		"straight":   {Straight{}, func(t float64) float64 { return 1 / (1 + math.Pow(t/(1-t), 2)) }},
		"geometric":  {GeometricSigma{}, func(t float64) float64 { return math.Exp(-math.Pow(1e-3, 1-t) * math.Pow(20, t)) }},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, 1.0, c.s.Alpha(0))
			rapid.Check(t, func(t *rapid.T) {
				u := rapid.Float64Range(1e-9, 1).Draw(t, "t")
				a := c.s.Alpha(u)
				// 1e-14: a few roundings, times the σ ≤ 20 of the exponent.
				assert.InDelta(t, c.f(u), a, 1e-14)
				assert.LessOrEqual(t, a, c.s.Alpha(u/2))
				// Time undoes Alpha as well as α resolves t.
				assert.InDelta(t, a, c.s.Alpha(c.s.Time(a)), 1e-14)
			})
			assert.Equal(t, 1.0, c.s.Time(0))
			assert.Zero(t, c.s.Time(1))
		})
	}
	assert.Zero(t, Cosine{Epsilon: -1}.Alpha(1))
}
