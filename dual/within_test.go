package dual_test

import (
	"context"
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/stretchr/testify/require"
)

// hard returns the problem "at most most of the first half up on average" on so
// many sites, and the language "at least three quarters up".
func hard(t testing.TB, sites int, most float64) (*dual.Lagrangian, constraint.Language) {
	logw := make([]float64, 2*sites)
	for i := range sites / 2 {
		logw[2*i+1] = -1
	}
	half := exact.Must(model.NewIndependent(logw, 2))
	base := exact.Must(model.NewIsing(model.Lattice{sites}, 0.2, 0))
	lag := exact.Must(dual.NewLagrangian(base, dual.AtMost(half, most)))
	return lag, constraint.Count{Levels: []int32{1}, Min: 3 * sites / 4, Max: constraint.Unbounded}
}

// Averages that only a hard language makes infeasible are proven to be: with 64
// sites by the trellis, with 8 by enumeration too. At least a half of the first
// half is up in every state of the language.
func TestWithin(t *testing.T) {
	exact.SkipUnderRace(t)
	for _, sites := range []int{8, 64} {
		least := float64(sites) / 4
		lag, language := hard(t, sites, least-0.5)
		run := func() error {
			chains := exact.Must(sampler.NewChains(context.Background(), lag, mcmc.Swap{Within: language}, sampler.Config{Chains: 16, Warmup: -1}))
			inf := exact.Must(dual.NewInference(context.Background(), lag, chains, dual.Config{Diverge: 300}))
			return inf.Run(ctx, 3000)
		}
		require.NotErrorIs(t, run(), constraint.ErrInfeasible, "the language is not known")
		require.NoError(t, lag.Within(ctx, language))
		require.ErrorIs(t, run(), constraint.ErrInfeasible)
		margin, ok, err := lag.Margin(ctx, []float64{1})
		require.True(t, ok && err == nil)
		require.InDelta(t, 0.5, margin, 1e-9)
	}
	lag, language := hard(t, 8, 1.5)
	require.NoError(t, lag.Within(ctx, language))
	require.ErrorIs(t, exact.Error(dual.Solve(ctx, lag)), constraint.ErrInfeasible)

	// What the language allows is solved on it.
	lag, language = hard(t, 8, 2.5)
	free := exact.Must(dual.Solve(ctx, lag))
	require.NoError(t, lag.Within(ctx, language))
	s := exact.Must(dual.Solve(ctx, lag))
	require.InDelta(t, 0, s.Violation[0], 1e-11)
	require.Greater(t, s.Lambda[0], free.Lambda[0]+1)
	require.InDelta(t, s.Dual, exact.Must(lag.Dual(ctx, s.Lambda)), 1e-11)
	z := 0.0
	e := make([]float64, 1)
	require.NoError(t, lag.SetLambda(s.Lambda))
	for _, x := range exact.States(8, 2) {
		if constraint.Accepts(language, x) {
			lag.Energy(e, x)
			z += math.Exp(-e[0])
		}
	}
	require.InDelta(t, -math.Log(z), s.Dual, 1e-11)
	half := exact.Must(lag.AtTemperature(0.5))
	require.NotEqual(t, s.Dual, exact.Must(half.Dual(ctx, s.Lambda)))

	require.ErrorContains(t, lag.Within(ctx, nil), "dual: Within: language = nil")
	require.ErrorIs(t, lag.Within(ctx, constraint.Count{Levels: []int32{1}, Min: 9, Max: constraint.Unbounded}), constraint.ErrInfeasible)
	stop, cancel := context.WithCancel(ctx)
	cancel()
	_, err := dual.Solve(stop, lag)
	require.ErrorIs(t, err, context.Canceled)
}
