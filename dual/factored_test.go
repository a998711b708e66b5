package dual

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/elimination"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// up is the model whose energy is 1 where a site has level 1.
func up(sites, i int) energy.Model {
	logits := make([]float64, sites)
	logits[i] = -1
	return exact.Must(model.NewBernoulli(logits))
}

// By tables and by enumeration the optimum is the same, at equalities, at inequalities that
// are not active, and at other temperatures; so are the proofs that there is none.
func TestSolveByTables(t *testing.T) {
	ctx := t.Context()
	bonds := exact.Must(model.NewIsing(model.FreeLattice{2, 5}, -1, 0)) // the number of equal bonds less that of unequal ones
	rbm := exact.Must(model.NewRBM([]float32{1, -1, .5, 2, 0, 1, -1, 1, .25, -2, 1, 1, 0, .5, -1, 1, 1, .5, -.5, 2}, []float32{.5, -1}, make([]float32, 10)))
	for name, c := range map[string]struct {
		base energy.Model
		set  []constraint.Set
		beta float64
	}{
		"count":       {exact.Must(model.NewIsing(model.Lattice{2, 5}, 0.3, 0.2)), []constraint.Set{constraint.Count{Levels: []int32{1}, Min: 2, Max: 4}}, 1},
		"equalities":  {exact.Must(model.NewIsing(model.Lattice{2, 5}, 0.3, 0.2)), []constraint.Set{Between(up(10, 3), .2, .2), Constraint[int32]{Of: []Energetic[int32]{bonds, up(10, 1)}, Coef: []float64{1, 2}, Low: 3, High: 3}, AtMost(up(10, 7), .9)}, 0.7},
		"clamped":     {exact.Must(energy.Clamp(exact.Must(model.NewIsing(model.Lattice{2, 5}, 0.3, 0.2)), map[int]int32{2: 1})), []constraint.Set{constraint.Count{Levels: []int32{1}, Max: 3}}, 1},
		"hidden":      {rbm, []constraint.Set{constraint.Count{Levels: []int32{1}, Max: 3}}, 1},
		"infeasible":  {exact.Must(model.NewIsing(model.Lattice{2, 5}, 0.3, 0.2)), []constraint.Set{AtLeast(up(10, 3), 1.25)}, 1},
		"contradict":  {exact.Must(model.NewIsing(model.Lattice{2, 5}, 0.3, 0.2)), []constraint.Set{AtLeast(up(10, 3), .75), AtMost(up(10, 3), .5)}, 1},
		"at its edge": {exact.Must(model.NewIsing(model.Lattice{2, 5}, 0.3, 0.2)), []constraint.Set{AtLeast(up(10, 3), 1)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := exact.Must(NewLagrangian(c.base, c.set...))
			l = exact.Must(l.AtTemperature(c.beta))
			want, wantErr := Solve(ctx, l)
			f, err := newFactored(ctx, l)
			require.NoError(t, err)
			require.NotNil(t, f)
			got, err := f.solve(l.lambda)
			if wantErr != nil {
				var a, b *DivergedError
				require.ErrorAs(t, wantErr, &a)
				require.ErrorAs(t, err, &b)
				require.Equal(t, a.Proven, b.Proven)
				require.InDelta(t, a.Margin, b.Margin, 1e-3)
				require.Equal(t, a.Margin > 0, b.Margin > 0)
				return
			}
			require.NoError(t, err)
			tolerance := 1e-9
			if name == "hidden" {
				tolerance = 1e-6 // energies of hidden units are rounded to float32
			}
			require.InDeltaSlice(t, want.Lambda, got.Lambda, tolerance)
			require.InDelta(t, want.Dual, got.Dual, tolerance)
			require.InDeltaSlice(t, want.Violation, got.Violation, tolerance)
		})
	}
}

// means returns an Ising model of 12 × 12 spins with bounds on its 144 means, which the fields h reach.
func means(tb testing.TB) (target *Lagrangian, h []float64) {
	const n = 144
	r := rand.New(rand.NewPCG(12, 12))
	h = make([]float64, n)
	for i := range h {
		h[i] = 0.5 * r.NormFloat64()
	}
	lattice := exact.Must(model.NewIsing(model.FreeLattice{12, 12}, 0.3, 0))
	cards, scopes, tables, _ := exact.Must(lattice.WithFields(h)).Factors()
	mean := make([]float64, n)
	_, err := exact.Must(elimination.New(tb.Context(), cards, scopes, elimination.Options{})).NewRun().Marginals(tb.Context(), tables, nil, func(v int32, p []float64) { mean[v] = p[1] })
	require.NoError(tb, err)
	var set []constraint.Set
	for i, m := range mean {
		set = append(set, Between(up(n, i), m, m))
	}
	return exact.Must(NewLagrangian(lattice, set...)), h
}

// The fields of an Ising model of 12 × 12 spins are found from its 144 means.
func TestSolveMeans(t *testing.T) {
	exact.SkipRepeated(t)
	target, h := means(t)
	s, err := Solve(t.Context(), target)
	require.NoError(t, err)
	for i, l := range s.Lambda { // E = −h·s = −2h·x + h
		require.InDelta(t, -2*h[i], l, 1e-11)
		require.InDelta(t, 0, s.Violation[i], 1e-12)
	}
}

// Processor time for the fields of 144 means:
//
//	go test ./dual -run xxx -bench SolveMeans -benchtime 5x -cpu 1
func BenchmarkSolveMeans(b *testing.B) {
	target, _ := means(b)
	began := exact.CPU()
	for b.Loop() {
		_, err := Solve(b.Context(), target)
		require.NoError(b, err)
	}
	b.ReportMetric((exact.CPU()-began).Seconds()/float64(b.N), "CPU-s/op")
}

func TestSolveRefuses(t *testing.T) {
	ctx := t.Context()
	wide := exact.Must(NewLagrangian(exact.Must(model.NewIsing(model.Lattice{60, 60}, 0.3, 0)), constraint.Count{Levels: []int32{1}, Max: 3}))
	_, err := Solve(ctx, wide)
	require.ErrorContains(t, err, "dual: Solve: a graph of 3600 variables and width ≥")
	long := exact.Must(model.NewIsing(model.FreeLattice{50}, 0.3, 0))
	never := exact.Must(energy.Clamp(exact.Must(energy.Clamp(long, map[int]int32{0: 0})), map[int]int32{0: 1}))
	_, err = Solve(ctx, exact.Must(NewLagrangian(never, constraint.Count{Levels: []int32{1}, Max: 3})))
	require.ErrorContains(t, err, "dual: Solve: every state has energy +Inf")
	unknown := energy.Func{Sites: 50, Levels: 2, E: func([]int32) float64 { return 0 }}
	_, err = Solve(ctx, exact.Must(NewLagrangian(unknown, constraint.Count{Levels: []int32{1}, Max: 3})))
	require.ErrorContains(t, err, "50 sites of 2 levels have more than 4194304 states")
	_, err = Solve(ctx, exact.Must(NewLagrangian(long, AtMost(unknown, 1))))
	require.ErrorContains(t, err, "more than 4194304 states")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = Solve(ended, exact.Must(NewLagrangian(long, constraint.Count{Levels: []int32{1}, Max: 3})))
	require.ErrorIs(t, err, context.Canceled)
	s, err := Solve(ctx, exact.Must(NewLagrangian(long, constraint.Count{Levels: []int32{1}, Max: 3})))
	require.NoError(t, err)
	require.Positive(t, s.Lambda[0])
	require.InDelta(t, 0, s.Violation[0], 1e-11)
	require.False(t, math.IsNaN(s.Dual))
}
