package dual_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
)

// A constant added to the energy changes nothing but the dual value.
func TestSolveEnergyOffset(t *testing.T) {
	ctx := context.Background()
	f0, h := []float64{0, 0.5, 2, 1}, []float64{0, 1, 2, 3}
	rows := []dual.Row{{Bound: 0.7}}
	want, err := dual.SolveStates(ctx, f0, h, 1, rows)
	require.NoError(t, err)
	for _, offset := range []float64{1e6, -1e9, 1e12} {
		shifted := make([]float64, len(f0))
		for k, v := range f0 {
			shifted[k] = v + offset
		}
		s, err := dual.SolveStates(ctx, shifted, h, 1, rows)
		require.NoError(t, err, "%v", offset)
		require.InDelta(t, want.Lambda[0], s.Lambda[0], 1e-3)
		require.InDelta(t, 0, s.Violation[0], 1e-9)
	}
}

// sum returns the model with the energy unit·Σx over the sites from first to last.
func sum(t *testing.T, sites, first, last int, unit float64) energy.Model {
	t.Helper()
	w := make([]float64, 2*sites)
	for i := first; i < last; i++ {
		w[2*i+1] = -unit
	}
	m, err := model.NewIndependent(w, 2)
	require.NoError(t, err)
	return m
}

// By tables, too, each bound has its own unit.
func TestSolveTablesUnits(t *testing.T) {
	const n = 40
	base, err := model.NewIsing(model.Lattice{n}, 0.3, 0.1)
	require.NoError(t, err)
	var want []float64
	for _, unit := range []float64{1, 1e3, 1e6, 1e9} {
		l, err := dual.NewLagrangian(base, dual.AtMost(sum(t, n, 0, n, unit), 16*unit), dual.AtLeast(sum(t, n, 0, 1, 1/unit), 0.7/unit))
		require.NoError(t, err)
		s, err := dual.Solve(context.Background(), l)
		require.NoError(t, err, "unit %v", unit)
		got := []float64{s.Lambda[0] * unit, s.Lambda[1] / unit}
		if want == nil {
			want = got
		}
		require.InDeltaSlice(t, want, got, 1e-9, "unit %v", unit)
	}
}

// Reports show as many digits as a bound or a mean with a small error needs.
func TestReportDigits(t *testing.T) {
	rows := []dual.Row{{Bound: 1700000003}, {Bound: 5.000000001, AtLeast: true}, {Bound: 0.1 + 0.2}}
	c := &dual.Certificate{Lambda: make([]float64, 3), Violation: []float64{-0.5, 0, -0.3}, ViolationSE: []float64{0.01, 1e-10, 0}, Slack: make([]float64, 3), SlackSE: make([]float64, 3),
		RHat: []float64{1, 1, 1}, ESS: []float64{10, 10, 10}, Rows: rows, Steps: 1, States: 1}
	text := c.Report(0).String()
	for _, want := range []string{"1700000002.5 ", "≤ 1700000003 ", "5.000000001  ", "≥ 5.000000001 ", "≤ 0.3 "} {
		require.Contains(t, text, want)
	}
}
