package dual_test

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
)

// equal returns the ring with E[mean spin] = m instead of a bound: without it the
// mean spin is about −.27.
func equal(t testing.TB, m float64) *dual.Lagrangian {
	base := ring(t, 1).Base()
	spin := exact.Must(model.NewIsing(model.Lattice{10}, 0, -0.1))
	return exact.Must(dual.NewLagrangian(base, dual.Between(spin, m, m)))
}

// An equality's multiplier has either sign, exactly and by sampling.
func TestEqualities(t *testing.T) {
	exact.SkipUnderRace(t)
	for _, m := range []float64{-0.5, 0.3} {
		lag := equal(t, m)
		require.True(t, lag.Rows()[0].Equal)
		s := exact.Must(dual.Solve(ctx, lag))
		require.InDelta(t, 0, s.Violation[0], 1e-11)
		require.Negative(t, s.Lambda[0]*m)
		inf := loop(t, lag, 1, 1, dual.Config{})
		require.NoError(t, inf.Run(ctx, 1500))
		c := inf.Certificate()
		require.InDelta(t, s.Lambda[0], c.Lambda[0], 0.05*max(1, s.Lambda[0]))
		require.True(t, c.Holds(0.05), c)
		frozen := exact.Must(inf.Certify(ctx, []float64{0}, 20, 200))
		require.Greater(t, frozen.Residual(), 0.1, "0 misses it on either side")
		require.False(t, frozen.Holds(0.05))
	}
	// As a bound −.5 is met without a multiplier.
	spin := exact.Must(model.NewIsing(model.Lattice{10}, 0, -0.1))
	s := exact.Must(dual.Solve(ctx, exact.Must(dual.NewLagrangian(ring(t, 1).Base(), dual.AtLeast(spin, -0.5)))))
	require.Zero(t, s.Lambda[0])
}

// A negative multiplier of an equality is one that a checkpoint may have.
func TestEqualitiesResume(t *testing.T) {
	whole, first, second := loop(t, equal(t, 0.3), 1, 1, dual.Config{}), loop(t, equal(t, 0.3), 1, 1, dual.Config{}), loop(t, equal(t, 0.3), 1, 1, dual.Config{})
	require.NoError(t, whole.Run(ctx, 50))
	require.NoError(t, first.Run(ctx, 20))
	require.Negative(t, first.Lambda()[0])
	var file bytes.Buffer
	require.NoError(t, first.Save(&file))
	require.NoError(t, second.Load(ctx, &file))
	require.NoError(t, second.Run(ctx, 30))
	require.Equal(t, whole.Lambda(), second.Lambda())
}

// What no distribution can equal is proven, on either side.
func TestEqualitiesInfeasible(t *testing.T) {
	for _, m := range []float64{-1.5, 1.5} {
		lag := equal(t, m)
		_, err := dual.Solve(ctx, lag)
		require.ErrorIs(t, err, constraint.ErrInfeasible)
		require.ErrorIs(t, loop(t, lag, 1, 1, dual.Config{}).Run(ctx, 2000), constraint.ErrInfeasible)
	}
	require.Error(t, equal(t, 0).SetLambda([]float64{math.NaN()}))
	require.Error(t, ring(t, 1).SetLambda([]float64{-1, 0}))
	_, err := dual.NewInference(context.Background(), equal(t, 0), exact.Must(dual.NewResampler(10, 4, func(context.Context, []int32) error { return nil })), dual.Config{Start: []float64{-3}, Max: new(2.0)})
	require.ErrorContains(t, err, "want -2 … 2")
}
