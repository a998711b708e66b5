package dual_test

import (
	"context"
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
)

var ctx = context.Background()

// ring returns the Ising ring of ten spins with two average constraints: mean
// spin ≥ 0.3 and fraction of domain walls ≥ 0.45.
func ring(t testing.TB, beta float64) *dual.Lagrangian {
	t.Helper()
	const n = 10
	fields := make([]float64, n)
	for i := range fields {
		fields[i] = 0.01*float64(i) - 0.2
	}
	base := exact.Must(exact.Must(model.NewIsing(model.Lattice{n}, 0.3, 0)).WithFields(fields))
	// −Σ(1/n)s is minus the mean spin; −(1/2n)·(−Σss) + ½ the wall fraction.
	spin := exact.Must(model.NewIsing(model.Lattice{n}, 0, -1.0/n))
	bonds := exact.Must(model.NewIsing(model.Lattice{n}, 1.0/(2*n), 0))
	lag := exact.Must(dual.NewLagrangian(base,
		dual.AtLeast(spin, 0.3),
		dual.AtLeast(bonds, 0.45-0.5),
	))
	return exact.Must(lag.AtTemperature(beta))
}

// Known answers of the project's list of formulas: x ∈ {0,1} with E[x] ≥ 0.8
// has λ* = log 4, and the ring's come from an independent optimiser.
func TestSolveKnown(t *testing.T) {
	coin := energy.Func{Sites: 1, Levels: 2, E: func([]int32) float64 { return 0 }}
	x := energy.Func{Sites: 1, Levels: 2, E: func(x []int32) float64 { return float64(x[0]) }}
	s, err := dual.Solve(ctx, exact.Must(dual.NewLagrangian(coin, dual.AtLeast(x, 0.8))))
	require.NoError(t, err)
	require.InDelta(t, 1.386294361120, s.Lambda[0], 1e-10)

	s, err = dual.Solve(ctx, ring(t, 1))
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{4.578406183519, 5.766493609286}, s.Lambda, 1e-8)
	require.InDelta(t, -6.312653169784, s.Dual, 1e-10)
	require.InDeltaSlice(t, []float64{0, 0}, s.Violation, 1e-10)

	s, err = dual.Solve(ctx, ring(t, 0.5))
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{3.071274446083, 5.894471880007}, s.Lambda, 1e-8)
}

func TestSolveInfeasible(t *testing.T) {
	base := energy.Func{Sites: 3, Levels: 2, E: func([]int32) float64 { return 0 }}
	// At least 2 and at most 1 up, as two constraints.
	up := constraint.Count{Levels: []int32{1}, Min: 2, Max: constraint.Unbounded}
	few := constraint.Count{Levels: []int32{1}, Max: 1}
	_, err := dual.Solve(ctx, exact.Must(dual.NewLagrangian(base, up, few)))
	var diverged *dual.DivergedError
	require.ErrorAs(t, err, &diverged)
	require.ErrorIs(t, err, constraint.ErrInfeasible)
	require.True(t, diverged.Proven)
	require.InDelta(t, 0.5, diverged.Margin, 1e-6)

	// None up is met by one state only: λ* is infinite, but it is feasible.
	none := constraint.Count{Levels: []int32{1}, Max: 0}
	_, err = dual.Solve(ctx, exact.Must(dual.NewLagrangian(base, none)))
	require.ErrorAs(t, err, &diverged)
	require.NotErrorIs(t, err, constraint.ErrInfeasible)
}

// A list of states gives what the model gives, and a sample is weighed so that
// it meets a mean.
func TestSolveStates(t *testing.T) {
	lag := ring(t, 0.5)
	want := exact.Must(dual.Solve(ctx, lag))
	f0, g := make([]float64, 1024), make([]float64, 2048)
	var x []int32
	for _, s := range exact.States(10, 2) {
		x = append(x, s...)
	}
	lag.Base().Energy(f0, x)
	lag.Violation(g, x)
	got := exact.Must(dual.SolveStates(ctx, f0, g, 0.5, nil))
	require.Equal(t, make([]dual.Row, 2), got.Rows)
	want.Rows, got.Rows = nil, nil
	require.Equal(t, want, got)

	sample := []float64{0.2, -1, 3, 0.7}
	s := exact.Must(dual.SolveStates(ctx, make([]float64, 4), []float64{0.8, 2, -2, 0.3}, 1, nil)) // mean ≥ 1
	sum, mean := 0.0, 0.0
	for _, v := range sample {
		w := math.Exp(s.Lambda[0] * v)
		sum += w
		mean += w * v
	}
	require.InDelta(t, 1, mean/sum, 1e-10)

	for _, err := range []error{
		exact.Error(dual.SolveStates(ctx, nil, nil, 1, nil)), exact.Error(dual.SolveStates(ctx, []float64{0, 0}, []float64{1}, 1, nil)),
		exact.Error(dual.SolveStates(ctx, []float64{0}, []float64{-1}, 0, nil)), exact.Error(dual.SolveStates(ctx, []float64{math.Inf(1)}, []float64{-1}, 1, nil)),
		exact.Error(dual.SolveStates(ctx, []float64{0}, []float64{math.NaN()}, 1, nil)),
	} {
		require.Error(t, err)
	}
	require.ErrorIs(t, exact.Error(dual.SolveStates(ctx, []float64{0, 1}, []float64{1, 2}, 1, nil)), constraint.ErrInfeasible)
}
