package diffusion

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// With Gaussian data every step is linear in the state: x ← k·x + n·noise. The variance of samples
// is what these factors give, and moves bring it nearer to that of the data.
func TestCorrectedFollowsItsVariance(t *testing.T) {
	exact.SkipUnderRace(t)
	const variance, steps, n = 0.04, 4, 20000
	d, err := denoise.NewGaussian([]float64{0, 0}, []float64{variance, 0, 0, variance})
	require.NoError(t, err)
	schedule := noise.CosineBar{}
	expected := func(moves int, size float64) float64 {
		v := 1.0
		for k := range steps {
			now, then := float64(steps-k)/steps, float64(steps-k-1)/steps
			at, as := schedule.Alpha(now), schedule.Alpha(then)
			if then == 0 {
				as = 1
			}
			guess := math.Sqrt(at) * variance / (at*variance + 1 - at) // x̂_0 = guess·x
			for range moves {
				keep := 1 + size*(math.Sqrt(at)*guess-1)
				v = keep*keep*v + 2*size*(1-at)
			}
			keep := math.Sqrt(as)*guess + math.Sqrt(1-as)*(1-math.Sqrt(at)*guess)/math.Sqrt(1-at)
			v *= keep * keep
		}
		return v
	}
	sample := func(p Process[float32]) float64 {
		r, err := New(t.Context(), d, p, Config{Steps: steps, Seed: 5, Workers: 1})
		require.NoError(t, err)
		x := make([]float32, 2*n)
		require.NoError(t, r.Sample(t.Context(), x))
		sum := 0.0
		for _, v := range x {
			sum += float64(v) * float64(v)
		}
		return sum / (2 * n)
	}
	g := Gaussian{Schedule: schedule}
	plain := sample(g)
	for _, c := range []struct {
		p     Corrected
		moves int
		size  float64
	}{{Corrected{Process: g}, 1, 0.1}, {Corrected{Process: g, Moves: 8, Size: 0.05}, 8, 0.05}} {
		got, want := sample(c.p), expected(c.moves, c.size)
		// The variance of 2n normal draws is off by more than 4.9·√(1/n) of it once in 10⁶.
		assert.InDelta(t, want, got, 4.9*want/math.Sqrt(n), "%+v", c.p)
		assert.Less(t, math.Abs(got-variance), math.Abs(plain-variance), "%+v", c.p)
		assert.Greater(t, math.Abs(got-expected(0, 0)), 4.9*want/math.Sqrt(n), "the test cannot fail")
	}
	assert.InDelta(t, expected(0, 0), plain, 4.9*plain/math.Sqrt(n))
}

// Every step takes a prediction of its own, and times only fall after the moves.
func TestCorrectedTakesItsMoves(t *testing.T) {
	d, err := denoise.NewGaussian([]float64{0}, []float64{1})
	require.NoError(t, err)
	var from, to []float64
	r, err := New(t.Context(), d, Corrected{Moves: 2}, Config{Steps: 3, Observe: func(s *Snapshot) {
		from, to = append(from, s.From), append(to, s.To)
	}})
	require.NoError(t, err)
	require.NoError(t, r.Sample(t.Context(), make([]float32, 1)))
	require.Len(t, from, 9)
	for k := range from {
		assert.Equal(t, k%3 == 2, to[k] < from[k], "step %d from %v to %v", k, from[k], to[k])
	}
	assert.Zero(t, to[8])
}

func TestCorrectedRefuses(t *testing.T) {
	for want, p := range map[string]Corrected{
		"diffusion: Corrected: Moves = -1, want 1 … 1024":    {Moves: -1},
		"diffusion: Corrected: Moves = 1025, want 1 … 1024":  {Moves: 1025},
		"diffusion: Corrected: Size = 1.5, want > 0 and ≤ 1": {Size: 1.5},
		"diffusion: Corrected: Size = NaN, want > 0 and ≤ 1": {Size: math.NaN()},
		"diffusion: Gaussian: Eta = 2, want 0 … 1":           {Process: Gaussian{Eta: 2}},
	} {
		_, err := p.Bind(t.Context(), 2, 1)
		assert.EqualError(t, err, want)
	}
	_, err := Corrected{}.Bind(t.Context(), 0, 1)
	assert.ErrorContains(t, err, "diffusion: Corrected: Bind: sites = 0")
	s, err := Corrected{}.Bind(t.Context(), 1, 1)
	require.NoError(t, err)
	assert.Equal(t, 10, s.(Clocked).MaxSteps(5))
	assert.Equal(t, math.MaxInt, s.(Clocked).MaxSteps(math.MaxInt/2+1))
}
