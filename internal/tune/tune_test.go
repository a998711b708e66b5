package tune_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/tune"
)

// accept is an acceptance probability that falls with the step size and is
// tune.Target at 1.
func accept(alpha float64) float64 { return 1 / (1 + alpha*(1-tune.Target)/tune.Target) }

// From any start in [1e-3, 1e3] the step size comes home, and the end of warm-up
// averages over its second half.
func TestEveryStartComesHome(t *testing.T) {
	for _, start := range []float64{1e-3, 0.1, 1, 10, 1e3} {
		u, err := tune.New("test", start, 0)
		require.NoError(t, err)
		assert.Equal(t, tune.Target, u.Goal())
		alpha := start
		const n = 400
		for k := range n {
			alpha = u.Adapt(accept(alpha), k, n)
		}
		assert.InDelta(t, 0, math.Log(alpha), 0.05, "from %v", start)
	}
}

// A rate that does not answer drives the step size to its bounds and no further.
func TestBounds(t *testing.T) {
	for rate, want := range map[float64]float64{0: 1e-4, 1: 1e4} {
		u, err := tune.New("test", 1, 0.5)
		require.NoError(t, err)
		alpha := 0.0
		for k := range 2000 {
			alpha = u.Adapt(rate, k, 1<<30)
		}
		assert.InEpsilon(t, want, alpha, 1e-9)
	}
}

func TestTargetsOutOfRangeAreRefused(t *testing.T) {
	for _, target := range []float64{-0.1, 1, 2, math.NaN()} {
		_, err := tune.New("mcmc: DMALA", 1, target)
		require.ErrorContains(t, err, "mcmc: DMALA: Target = ")
	}
}

func TestStateResumes(t *testing.T) {
	run := func(u *tune.Tuner, from, to int) (alpha float64) {
		for k := from; k < to; k++ {
			alpha = u.Adapt(float64(k%7)/7, k, 100)
		}
		return alpha
	}
	whole, _ := tune.New("test", 0.3, 0.4)
	half, _ := tune.New("test", 0.3, 0.4)
	want := run(whole, 0, 100)
	run(half, 0, 60)
	b := half.Append([]byte("x"))
	next, _ := tune.New("test", 7, 0.4)
	rest, err := next.Restore(append(b[1:], 9))
	require.NoError(t, err)
	assert.Equal(t, []byte{9}, rest)
	assert.Equal(t, want, run(next, 60, 100))
	_, err = next.Restore(b[1:5])
	require.Error(t, err)

	next.Set(2)
	assert.InDelta(t, 2*math.Exp(0.6-0.4), next.Adapt(0.6, 0, 1<<30), 1e-9, "the gain of the first step is 1")
}
