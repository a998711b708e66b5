package distance_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/sampler/distance"
)

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
