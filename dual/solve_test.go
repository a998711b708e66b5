package dual_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
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
	base := must(must(energy.NewIsing(energy.Lattice{n}, 0.3, 0)).WithFields(fields))
	// −Σ(1/n)s is minus the mean spin; −(1/2n)·(−Σss) + ½ the wall fraction.
	spin := must(energy.NewIsing(energy.Lattice{n}, 0, -1.0/n))
	bonds := must(energy.NewIsing(energy.Lattice{n}, 1.0/(2*n), 0))
	lag := must(dual.NewLagrangian(base, dual.Bounds{
		dual.AtLeast(spin, 0.3),
		dual.AtLeast(bonds, 0.45-0.5),
	}))
	return must(lag.AtTemperature(beta))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Known answers of the project's list of formulas: x ∈ {0,1} with E[x] ≥ 0.8
// has λ* = log 4, and the ring's come from an independent optimiser.
func TestSolveKnown(t *testing.T) {
	coin := energy.Func{Sites: 1, Levels: 2, E: func([]int32) float64 { return 0 }}
	x := energy.Func{Sites: 1, Levels: 2, E: func(x []int32) float64 { return float64(x[0]) }}
	s, err := dual.Solve(ctx, must(dual.NewLagrangian(coin, dual.Bounds{dual.AtLeast(x, 0.8)})))
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
	up := constraint.Count{Levels: []int32{1}, Min: 2}
	few := constraint.Count{Levels: []int32{1}, Max: 1}
	_, err := dual.Solve(ctx, must(dual.NewLagrangian(base, dual.Join(up, few))))
	var diverged *dual.DivergedError
	require.ErrorAs(t, err, &diverged)
	require.ErrorIs(t, err, constraint.ErrInfeasible)
	require.True(t, diverged.Proven)
	require.InDelta(t, 0.5, diverged.Margin, 1e-6)

	// None up is met by one state only: λ* is infinite, but it is feasible.
	none := constraint.Count{Levels: []int32{1}, Max: constraint.None}
	_, err = dual.Solve(ctx, must(dual.NewLagrangian(base, none)))
	require.ErrorAs(t, err, &diverged)
	require.NotErrorIs(t, err, constraint.ErrInfeasible)
}
