package noise_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

func TestNoiseSchedulesAreTheirFormulas(t *testing.T) {
	for name, c := range map[string]struct {
		s noise.Schedule
		f func(t float64) float64
	}{
		"log-linear": {noise.LogLinear{}, func(t float64) float64 { return 1 - 0.999*t }},
		"no epsilon": {noise.LogLinear{Epsilon: -1}, func(t float64) float64 { return 1 - t }},
		"cosine":     {noise.Cosine{}, func(t float64) float64 { return 0.001 + 0.999*math.Cos(t*math.Pi/2) }},
		"squared":    {noise.CosineSquared{Epsilon: 0.01}, func(t float64) float64 { return 0.01 + 0.99*math.Pow(math.Cos(t*math.Pi/2), 2) }},
		"linear":     {noise.LinearSigma{Min: 0.1, Max: 7}, func(t float64) float64 { return math.Exp(-0.1 - 6.9*t) }},
		"straight":   {noise.Straight{}, func(t float64) float64 { return 1 / (1 + math.Pow(t/(1-t), 2)) }},
		"geometric":  {noise.GeometricSigma{}, func(t float64) float64 { return math.Exp(-math.Pow(1e-3, 1-t) * math.Pow(20, t)) }},
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
	assert.Zero(t, noise.Cosine{Epsilon: -1}.Alpha(1))
}

// lossy loses half of its signal at once, or keeps all of it.
type lossy struct{ from, to float64 }

func (c lossy) Alpha(t float64) float64 {
	if t == 0 {
		return c.from
	}
	return c.to
}
func (lossy) Time(float64) float64 { return 0 }

func TestResolveRefuses(t *testing.T) {
	for want, c := range map[string]noise.Schedule{
		"noise: LogLinear: Epsilon = 1, want < 1":               noise.LogLinear{Epsilon: 1},
		"noise: Cosine: Epsilon = 1":                            &noise.Cosine{Epsilon: 1},
		"noise: CosineSquared: Epsilon = 3":                     noise.CosineSquared{Epsilon: 3},
		"noise: LinearSigma: Min = -1":                          &noise.LinearSigma{Min: -1},
		"noise: GeometricSigma: Min = 21, Max = 20":             noise.GeometricSigma{Min: 21},
		"noise: LinearBeta: From = 3":                           noise.LinearBeta{From: 3},
		"noise: CosineBar: Offset = -1":                         &noise.CosineBar{Offset: -1},
		"noise: SigmoidBar: Begin = 5":                          noise.SigmoidBar{Begin: 5},
		"noise: PolynomialSNR: Power = -1":                      noise.PolynomialSNR{Power: -1},
		"diffusion: X: Schedule.Alpha(0) = 0.5, want 1":         lossy{0.5, 0.5},
		"diffusion: X: Schedule.Alpha(1) = 1, want in [0, 1)":   lossy{1, 1},
		"diffusion: X: Schedule.Alpha(1) = -0.5, want in [0, 1": lossy{1, -0.5},
	} {
		got, err := noise.Resolve("diffusion: X", c)
		assert.ErrorContains(t, err, want)
		assert.Nil(t, got)
	}
}

// What runs is the schedule itself, or the same to the bit.
func TestResolveKeepsTheSchedule(t *testing.T) {
	for _, c := range []noise.Schedule{
		noise.LogLinear{}, noise.Cosine{}, noise.CosineSquared{}, noise.LinearSigma{}, noise.GeometricSigma{}, noise.LinearBeta{}, &noise.LinearBeta{To: 0.1, Steps: 50}, noise.CosineBar{}, noise.SigmoidBar{}, noise.PolynomialSNR{},
	} {
		got, err := noise.Resolve("diffusion: X", c)
		assert.NoError(t, err)
		for _, u := range []float64{0, 1e-9, 0.1, 0.25, 0.5, 0.7501, 1} {
			assert.Equal(t, c.Alpha(u), got.Alpha(u), "%T at %v", c, u)
		}
		assert.Equal(t, c.Time(0.25), got.Time(0.25), "%T", c)
	}
	none, err := noise.Resolve("diffusion: X", nil)
	assert.NoError(t, err)
	assert.Equal(t, noise.Schedule(noise.LogLinear{}), none)
}

func TestBetaStepsAreBounded(t *testing.T) {
	c := noise.LinearBeta{Steps: 1<<22 + 1}
	assert.EqualError(t, c.Check(), "noise: LinearBeta: Steps = 4194305, want ≤ 4194304")
	for _, steps := range []int{1<<22 + 1, math.MaxInt, -1} {
		c.Steps = steps
		want := fmt.Sprintf("noise: LinearBeta: Steps = %d, want 1 … 4194304", steps)
		assert.PanicsWithValue(t, want, func() { c.Alpha(0.5) })
		assert.PanicsWithValue(t, want, func() { c.Time(0.5) })
		assert.PanicsWithValue(t, want, func() { c.Tabulate() })
	}
	assert.NoError(t, noise.LinearBeta{Steps: 1 << 22}.Check())
}

func TestBetaSchedulesAreTheirFormulas(t *testing.T) {
	c := noise.LinearBeta{To: 0.1, Steps: 200}
	a := 1.0
	for k := 1; k <= 200; k++ {
		a *= 1 - (1e-4 + (0.1-1e-4)*float64(k-1)/199)
		assert.InEpsilon(t, a, c.Alpha(float64(k)/200), 1e-12)
		assert.Equal(t, c.Alpha(float64(k)/200), c.Tabulate().Alpha(float64(k)/200))
		mid := c.Alpha((float64(k) - 0.5) / 200)
		assert.InEpsilon(t, a/math.Sqrt(1-(1e-4+(0.1-1e-4)*float64(k-1)/199)), mid, 1e-9)
	}
	f := func(t float64) float64 { return math.Pow(math.Cos((t+0.008)/1.008*math.Pi/2), 2) }
	g := func(t float64) float64 { return 1 / (1 + math.Exp(3-6*t)) }
	linear := noise.PolynomialSNR{Power: 1, Max: 50}
	for _, u := range []float64{0.1, 0.5, 0.9, 0.999} {
		assert.InEpsilon(t, f(u)/f(0), noise.CosineBar{}.Alpha(u), 1e-9)
		snr := func(a float64) float64 { return a / (1 - a) }
		assert.InEpsilon(t, 50*(1-u), snr(linear.Alpha(u)), 1e-9)
		assert.InEpsilon(t, max(1e4*math.Pow(1-u, 4), snr(1e-9)), snr(noise.PolynomialSNR{}.Alpha(u)), 1e-9)
		assert.InDelta(t, u, linear.Time(linear.Alpha(u)), 1e-12)
		assert.InEpsilon(t, (g(1)-g(u))/(g(1)-g(0)), noise.SigmoidBar{}.Alpha(u), 1e-9)
	}
	for _, s := range []noise.Schedule{noise.LinearBeta{}, noise.LinearBeta{Steps: 1, From: 0.5}, noise.CosineBar{}, noise.SigmoidBar{}} {
		assert.Equal(t, 1.0, s.Alpha(0))
		assert.InDelta(t, 0.3, s.Time(s.Alpha(0.3)), 1e-9)
	}
	assert.Equal(t, 1e-9, noise.CosineBar{}.Alpha(1))
	assert.Equal(t, 1e-9, noise.SigmoidBar{}.Alpha(1))
}
