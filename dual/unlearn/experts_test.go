package unlearn_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/unlearn"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/stretchr/testify/require"
)

// pair returns two distributions of six spins: q likes alignment, away a field
// too.
func pair() (q, away energy.Model) {
	return exact.Must(model.NewIsing(model.Lattice{6}, 0.4, 0)), exact.Must(model.NewIsing(model.Lattice{6}, 0.2, 0.5))
}

func logZ(m energy.Model) (float64, error) {
	sum, err := energy.Enumerate(context.Background(), m)
	return sum.LogZ, err
}

// The distributions of the models are those of the finite problem.
func TestExpertsLaw(t *testing.T) {
	q, away := pair()
	u := exact.Must(unlearn.New(table(q), table(away)))
	m := exact.Must(unlearn.NewExperts(q, []energy.Model{away}, []float64{0.8}, logZ))
	require.InDeltaSlice(t, table(q), table(m), 1e-15)
	require.NoError(t, m.SetLambda([]float64{0.3}))
	want := exact.Must(u.Law(unlearn.ReverseKL, []float64{0.3}))
	require.InDeltaSlice(t, want, table(m), 1e-14)
	require.InDelta(t, 0.7, m.Beta(), 1e-15)

	// The mean of g under the distribution is the dual gradient.
	g := make([]float64, 64)
	var all []int32
	for _, x := range exact.States(6, 2) {
		all = append(all, x...)
	}
	m.Violation(g, all)
	mean := 0.0
	for k, p := range want {
		mean += p * g[k]
	}
	require.InDelta(t, 0.8-unlearn.KL(want, table(away)), mean, 1e-12)
	_, ok := energy.As[energy.Local](m)
	require.True(t, ok)
	_, ok = energy.As[energy.Binary](m)
	require.True(t, ok)
}

func table(m energy.Model) []float64 { p, _ := exact.Law(m); return p }

// Reverse KL by sampling: the loop finds the λ* of the finite solver.
func TestExpertsInference(t *testing.T) {
	q, away := pair()
	const bound, tol = 2.0, 0.05
	u := exact.Must(unlearn.New(table(q), table(away)))
	star := exact.Must(u.Solve(t.Context(), unlearn.ReverseKL, []float64{bound})).Lambda
	require.Positive(t, star[0])
	m := exact.Must(unlearn.NewExperts(q, []energy.Model{away}, []float64{bound}, logZ))
	chains := exact.Must(sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, sampler.Config{Chains: 64, Seed: 1, Warmup: -1}))
	inf := exact.Must(dual.NewInference(context.Background(), m, chains, dual.Config{}))
	require.NoError(t, inf.Solve(t.Context(), 5000, tol))
	for _, lambda := range [][]float64{star, inf.Average()} {
		c, err := inf.Certify(t.Context(), lambda, 50, 1000)
		require.NoError(t, err)
		require.False(t, c.HasDual)
		want := bound - unlearn.KL(exact.Must(u.Law(unlearn.ReverseKL, lambda)), table(away))
		require.LessOrEqual(t, math.Abs(want-c.Violation[0]), 5.7*c.ViolationSE[0], "t quantile of 31 batches at 1e-6")
	}
}

// Chains that freeze drive the multiplier to its bound: the error names the row, what it
// has, what it should have, and the bound.
func TestExpertsAtTheirBound(t *testing.T) {
	q, away := exact.Must(model.NewIsing(model.Lattice{10}, 0.4, 0)), exact.Must(model.NewIsing(model.Lattice{10}, 0.2, 0.2))
	star := exact.Must(exact.Must(unlearn.New(table(q), table(away))).Solve(t.Context(), unlearn.ReverseKL, []float64{3})).Lambda[0]
	require.InDelta(t, 0.503, star, 1e-3)
	m := exact.Must(unlearn.NewExperts(q, []energy.Model{away}, []float64{3}, logZ))
	chains := exact.Must(sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, sampler.Config{Chains: 64, Seed: 1}))
	inf := exact.Must(dual.NewInference(context.Background(), m, chains, dual.Config{Max: new(0.99)}))
	var held *dual.NotConverged
	require.ErrorAs(t, inf.Run(t.Context(), 400), &held)
	require.Greater(t, held.Certificate.Lambda[0], 0.98)
	for _, want := range []string{`"KL from away[0]" has the mean -`, "want ≥ 3 nats", "at its bound Max = 0.99", "chains disagree"} {
		require.ErrorContains(t, held, want)
	}
}

// The discrete-safe form and the likelihood ratio as Lagrangians.
func TestRatioBounds(t *testing.T) {
	q, away := pair()
	zq, za := exact.Must(logZ(q)), exact.Must(logZ(away))
	u := exact.Must(unlearn.New(table(q), table(away)))
	safe := exact.Must(dual.NewLagrangian(q, unlearn.LogRatio(q, away, zq, za, 0.7)))
	want, err := u.Solve(t.Context(), unlearn.DiscreteSafe, []float64{0.7})
	require.NoError(t, err)
	got, err := dual.Solve(t.Context(), safe)
	require.NoError(t, err)
	require.InDelta(t, want.Lambda[0], got.Lambda[0], 1e-9)
	require.NoError(t, safe.SetLambda(got.Lambda))
	require.InDeltaSlice(t, want.P, table(safe), 1e-10)

	ratio := exact.Must(dual.NewLagrangian(q, exact.Must(unlearn.Ratio(q, away, zq, za, 0.4))))
	want, err = u.Solve(t.Context(), unlearn.LikelihoodRatio, []float64{0.4})
	require.NoError(t, err)
	got, err = dual.Solve(t.Context(), ratio)
	require.NoError(t, err)
	require.InDelta(t, want.Lambda[0], got.Lambda[0], 1e-9)
	_, err = unlearn.Ratio(nil, away, 0, 0, 1)
	require.Error(t, err)
}

func TestExpertsErrors(t *testing.T) {
	q, away := pair()
	other := exact.Must(model.NewIsing(model.Lattice{5}, 1, 0))
	broken := errors.New("no partition sum")
	for _, c := range []struct {
		q    energy.Model
		away []energy.Model
		b    []float64
		z    func(energy.Model) (float64, error)
	}{
		{nil, []energy.Model{away}, []float64{1}, logZ}, {q, nil, nil, logZ}, {q, []energy.Model{away}, nil, logZ},
		{q, []energy.Model{nil}, []float64{1}, logZ}, {q, []energy.Model{other}, []float64{1}, logZ},
		{q, []energy.Model{away}, []float64{math.NaN()}, logZ}, {q, []energy.Model{away}, []float64{1}, nil},
		{q, []energy.Model{away}, []float64{1}, func(energy.Model) (float64, error) { return 0, broken }},
	} {
		_, err := unlearn.NewExperts(c.q, c.away, c.b, c.z)
		require.Error(t, err)
	}
	calls := 0
	m := exact.Must(unlearn.NewExperts(q, []energy.Model{away}, []float64{1}, func(m energy.Model) (float64, error) {
		if calls++; calls > 2 {
			return 0, broken
		}
		return logZ(m)
	}))
	before := table(m)
	require.ErrorIs(t, m.SetLambda([]float64{0.5}), broken)
	require.Equal(t, before, table(m), "nothing changed")
	require.Error(t, m.SetLambda([]float64{1}))
	require.Error(t, m.SetLambda([]float64{-1}))
	require.Error(t, m.SetLambda([]float64{math.NaN()}))
}
