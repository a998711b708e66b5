package distance_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/sampler/distance"
)

// Known distances: diagonal distributions have Σ (√a − √b)², a rotation of both
// changes nothing, and the formula for 2 × 2 matrices needs no square root of a
// matrix: tr √M = √(tr M + 2√det M).
func TestFrechetGaussian(t *testing.T) {
	d, err := distance.FrechetGaussian([]float64{1, 2}, []float64{4, 0, 0, 9}, []float64{1, 5}, []float64{1, 0, 0, 0})
	require.NoError(t, err)
	assert.InDelta(t, 9+1+9, d, 1e-12)
	rng := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		spd := func() []float64 {
			a, b, c, d := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
			return []float64{a*a + b*b, a*c + b*d, a*c + b*d, c*c + d*d}
		}
		x, y := spd(), spd()
		product := x[0]*y[0] + x[1]*y[2] + x[2]*y[1] + x[3]*y[3] // tr XY
		det := (x[0]*x[3] - x[1]*x[2]) * (y[0]*y[3] - y[1]*y[2])
		want := x[0] + x[3] + y[0] + y[3] - 2*math.Sqrt(product+2*math.Sqrt(max(det, 0)))
		zero := []float64{0, 0}
		got, err := distance.FrechetGaussian(zero, x, zero, y)
		require.NoError(t, err)
		back, err := distance.FrechetGaussian(zero, y, zero, x)
		require.NoError(t, err)
		require.InDelta(t, want, got, 1e-6)
		require.InDelta(t, back, got, 1e-6)
	}
	none, err := distance.FrechetGaussian(nil, nil, nil, nil)
	require.NoError(t, err)
	assert.Zero(t, none)
	_, err = distance.FrechetGaussian([]float64{0, 0}, []float64{1, 0.5, 0, 1}, []float64{0, 0}, []float64{1, 0, 0, 1})
	assert.ErrorContains(t, err, "covA has 0.5 at (0, 1) and 0 at (1, 0)")
	_, err = distance.FrechetGaussian([]float64{0}, []float64{1}, []float64{0}, []float64{math.NaN()})
	assert.ErrorContains(t, err, "covB")
	assert.Panics(t, func() { _, _ = distance.FrechetGaussian([]float64{0}, nil, nil, nil) })
}

func TestFrechetOfSamples(t *testing.T) {
	a := []float32{0, 0, 2, 2, 0, 2, 2, 0} // mean 1, 1; covariance I
	b := []float32{3, 1, 7, 1}             // mean 5, 1; covariance diag(4, 0)
	d, err := distance.Frechet(a, b, 2)
	require.NoError(t, err)
	assert.InDelta(t, 16+1+1, d, 1e-9)
	_, err = distance.Frechet(a, b[:2], 2)
	assert.ErrorContains(t, err, "len(b) = 2, want a multiple of sites = 2 ≥ 1, at least twice")
	_, err = distance.Frechet(a[:3], b, 2)
	assert.ErrorContains(t, err, "len(a) = 3")
}

// warp is the definition: the least cost over all alignments, by recursion.
func warp(a, b []float32, i, j, channels int, window *int) float64 {
	if window != nil && max(i-j, j-i) > *window {
		return math.Inf(1)
	}
	sum := 0.0
	for c := range channels {
		sum += math.Pow(float64(a[i*channels+c])-float64(b[j*channels+c]), 2)
	}
	cost := math.Sqrt(sum)
	switch {
	case i == 0 && j == 0:
		return cost
	case i == 0:
		return cost + warp(a, b, 0, j-1, channels, window)
	case j == 0:
		return cost + warp(a, b, i-1, 0, channels, window)
	}
	return cost + min(warp(a, b, i-1, j, channels, window), warp(a, b, i, j-1, channels, window), warp(a, b, i-1, j-1, channels, window))
}

func TestDTW(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for _, channels := range []int{1, 2} {
		for _, window := range []*int{nil, new(0), new(1), new(3)} {
			d := &distance.DTW{Channels: channels, Window: window}
			for range 20 {
				a, b := make([]float32, channels*(1+rng.IntN(6))), make([]float32, channels*(1+rng.IntN(6)))
				for i := range a {
					a[i] = float32(rng.NormFloat64())
				}
				for i := range b {
					b[i] = float32(rng.NormFloat64())
				}
				want := warp(a, b, len(a)/channels-1, len(b)/channels-1, channels, window)
				if got := d.Distance(a, b); math.IsInf(want, 1) {
					require.Equal(t, want, got)
				} else {
					require.InDelta(t, want, got, 1e-9)
				}
			}
		}
	}
	d := &distance.DTW{Channels: 1}
	assert.Equal(t, 0.0, d.Distance([]float32{1, 2, 2, 3}, []float32{1, 1, 2, 3}))
	assert.Equal(t, 0.5, d.Nearest([]float32{1, 2, 5, 5}, []float32{9, 9, 1, 2, 5, 6}, 2))
	assert.Zero(t, testing.AllocsPerRun(5, func() { d.Distance([]float32{1, 2}, []float32{2, 3}) }))
	assert.Panics(t, func() { d.Distance(nil, nil) })
	assert.PanicsWithValue(t, "distance: DTW: Window = -1, want ≥ 0", func() {
		(&distance.DTW{Channels: 1, Window: new(-1)}).Distance([]float32{1}, []float32{1})
	})
	assert.Panics(t, func() { d.Nearest([]float32{1}, []float32{1}, 2) })
}

func TestViolation(t *testing.T) {
	// x_0 ≤ 1 and x_0 + x_1 ≥ 0, each as one side of a slab.
	inf := math.Inf(1)
	set := constraint.Slabs{A: constraint.Rows([]float64{1, 0, 1, 1}, 2), Lower: []float64{-inf, 0}, Upper: []float64{1, inf}}
	mean, worst := distance.Violation(set, []float32{3, 0, 1, -2, 0, 0.5}, 2)
	assert.Equal(t, []float64{1, 2}, []float64{mean, worst}) // 2, 1 and 0
	mean, worst = distance.Violation(set, nil, 2)
	assert.Equal(t, []float64{0, 0}, []float64{mean, worst})
	assert.PanicsWithValue(t, "distance: len(x) = 3, want a multiple of 2", func() { distance.Violation(set, make([]float32, 3), 2) })
}

// The score of few samples by hand, and its expectation for normal numbers, which
// is least where the forecast has the spread of the truth.
func TestEnergyScore(t *testing.T) {
	got, err := distance.EnergyScore([]float32{0, 0, 3, 4, 0, 4}, []float32{0, 0}, 2)
	require.NoError(t, err)
	assert.InDelta(t, (0+5+4)/3.0-(5+4+3)/6.0, got, 1e-14)
	_, err = distance.EnergyScore([]float32{1, 2}, []float32{0, 0}, 2)
	assert.ErrorContains(t, err, "1 samples, want ≥ 2")
	assert.Panics(t, func() { _, _ = distance.EnergyScore(make([]float32, 3), make([]float32, 2), 2) })

	const rounds = 4000
	rng := rand.New(rand.NewPCG(1, 1))
	mean := func(spread float64) (score, miss float64) {
		for range rounds {
			x, truth := make([]float32, 4), []float32{float32(rng.NormFloat64())}
			for i := range x {
				x[i] = float32(spread * rng.NormFloat64())
				miss += math.Abs(float64(x[i])-float64(truth[0])) / (4 * rounds)
			}
			s, err := distance.EnergyScore(x, truth, 1)
			require.NoError(t, err)
			score += s / rounds
		}
		return score, miss
	}
	// E|X−Y| − ½E|X−X′| = √(2/π)·(√(1+σ²) − σ/√2); single scores have sd < 1.
	for _, spread := range []float64{0.1, 1, 3} {
		score, _ := mean(spread)
		assert.InDelta(t, math.Sqrt(2/math.Pi)*(math.Hypot(1, spread)-spread/math.Sqrt2), score, 4.9/math.Sqrt(rounds)*max(1, spread))
	}
	_, none := mean(0.1)
	_, right := mean(1)
	assert.Less(t, none, right) // the distance alone prefers no spread
}
