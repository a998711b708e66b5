package dual_test

import (
	"context"
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/stretchr/testify/require"
)

// log Z along the path agrees with enumeration, and half of it does not.
func TestThermodynamic(t *testing.T) {
	exact.SkipUnderRace(t)
	lag := ring(t, 0.5)
	lambda := []float64{2, 3}
	run := func(seed uint64, path dual.Path) (float64, float64) {
		chains := exact.Must(sampler.NewChains(context.Background(), lag, mcmc.Gibbs{}, sampler.Config{Chains: 64, Seed: seed, Warmup: -1}))
		z, se, err := dual.Thermodynamic(ctx, lag, chains, lambda, path)
		require.NoError(t, err)
		return z, se
	}
	// The trapezoid rule with exact means.
	trapezoid := func(points int) float64 {
		sum := 0.0
		for k := range points {
			at := []float64{lambda[0] * float64(k) / float64(points-1), lambda[1] * float64(k) / float64(points-1)}
			require.NoError(t, lag.SetLambda(at))
			p, _ := exact.Law(lag)
			g := make([]float64, 2)
			w := 1 / float64(points-1) / 0.5
			if k == 0 || k == points-1 {
				w /= 2
			}
			sum -= w * exact.Expect(p, 10, 2, func(x []int32) float64 {
				lag.Violation(g, x)
				return lambda[0]*g[0] + lambda[1]*g[1]
			})
		}
		return sum
	}
	want := -(exact.Must(lag.Dual(ctx, lambda)) - exact.Must(lag.Dual(ctx, []float64{0, 0}))) / 0.5
	require.InDelta(t, want, trapezoid(16), 0.01)
	require.InDelta(t, 4, (trapezoid(16)-want)/(trapezoid(31)-want), 0.1, "the bias is quadratic")
	z, se := run(1, dual.Path{})
	require.InDelta(t, trapezoid(16), z, 5*se)
	require.Greater(t, math.Abs(want/2-z), 5*se, "half of it would not pass")
	require.NoError(t, lag.SetLambda(lambda))
	require.Equal(t, lambda, lag.Lambda())
	for _, path := range []dual.Path{{Points: 1}, {Discard: -2}, {Draws: 1}} {
		_, _, err := dual.Thermodynamic[int32](ctx, lag, nil, lambda, path)
		require.Error(t, err)
	}
}
