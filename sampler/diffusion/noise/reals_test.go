package noise_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

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
	for _, u := range []float64{0.1, 0.5, 0.9, 0.999} {
		assert.InEpsilon(t, f(u)/f(0), noise.CosineBar{}.Alpha(u), 1e-9)
		assert.InEpsilon(t, (g(1)-g(u))/(g(1)-g(0)), noise.SigmoidBar{}.Alpha(u), 1e-9)
	}
	for _, s := range []noise.Schedule{noise.LinearBeta{}, noise.LinearBeta{Steps: 1, From: 0.5}, noise.CosineBar{}, noise.SigmoidBar{}} {
		assert.Equal(t, 1.0, s.Alpha(0))
		assert.InDelta(t, 0.3, s.Time(s.Alpha(0.3)), 1e-9)
	}
	assert.Equal(t, 1e-9, noise.CosineBar{}.Alpha(1))
	assert.Equal(t, 1e-9, noise.SigmoidBar{}.Alpha(1))
}
