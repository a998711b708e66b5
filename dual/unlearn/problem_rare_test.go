package unlearn_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/dual/unlearn"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// normal returns the density of a normal distribution on a grid of 401 points in [−10, 10],
// normalised.
func normal(mean, sd float64) []float64 {
	p, sum := make([]float64, 401), 0.0
	for k := range p {
		d := (float64(k)/20 - 10 - mean) / sd
		p[k] = math.Exp(-d * d / 2)
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
	return p
}

// In the tails the ratio of two normal densities is huge and its probability tiny, so its standard
// deviation is 10²⁰ or more. The solution meets the bound all the same.
func TestRatioTails(t *testing.T) {
	for _, c := range []struct{ mean, sd, mean1, sd1, bound float64 }{
		{0.28, 0.63, -2.58, 0.92, 0.1}, {0.06, 0.41, -5.83, 1, 0.01}, {-1.2, 0.6, 4.42, 0.59, 0.01},
		{0, 0.5, -1.5, 0.5, 0.5}, {-0.48, 0.97, 9.01, 0.68, 0.5},
	} {
		q, q1 := normal(c.mean, c.sd), normal(c.mean1, c.sd1)
		u, err := unlearn.New(q, q1)
		require.NoError(t, err)
		s, err := u.Solve(context.Background(), unlearn.LikelihoodRatio, []float64{c.bound})
		require.NoError(t, err)
		mean := 0.0
		for k, p := range s.P {
			mean += p * q1[k] / q[k]
		}
		require.InEpsilon(t, c.bound, mean, 1e-9, "%v", c)
		require.True(t, check.Finite(s.Cost))
	}
}

// Errors state the bound as the caller gave it.
func TestErrorNamesBound(t *testing.T) {
	u, err := unlearn.New([]float64{0.5, 0.5}, []float64{0.4, 0.6})
	require.NoError(t, err)
	_, err = u.Solve(context.Background(), unlearn.LikelihoodRatio, []float64{0.5})
	require.ErrorContains(t, err, `"mean ratio of away[0]" ≤ 0.5`)
	_, err = u.Solve(context.Background(), unlearn.DiscreteSafe, []float64{2})
	require.ErrorContains(t, err, `"mean log-ratio from away[0]" ≥ 2`)
}
