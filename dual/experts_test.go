package dual_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// pair returns two laws of six spins: q likes alignment, away a field too.
func pair() (q, away energy.Model) {
	return must(energy.NewIsing(energy.Lattice{6}, 0.4, 0)), must(energy.NewIsing(energy.Lattice{6}, 0.2, 0.5))
}

func logZ(m energy.Model) (float64, error) {
	sum, err := energy.Enumerate(ctx, m)
	return sum.LogZ, err
}

// The laws of the models are those of the finite problem.
func TestExpertsLaw(t *testing.T) {
	q, away := pair()
	u := must(dual.NewUnlearning(law(q), law(away)))
	m := must(dual.NewExperts(q, []energy.Model{away}, []float64{0.8}, logZ))
	require.InDeltaSlice(t, law(q), law(m), 1e-15)
	require.NoError(t, m.SetLambda([]float64{0.3}))
	want := must(u.Law(dual.ReverseKL, []float64{0.3}))
	require.InDeltaSlice(t, want, law(m), 1e-14)
	require.InDelta(t, 0.7, m.Beta(), 1e-15)

	// The mean of g under the law is the dual gradient.
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
	require.InDelta(t, 0.8-dual.KL(want, law(away)), mean, 1e-12)
	_, ok := energy.As[energy.Local](m)
	require.True(t, ok)
	_, ok = energy.As[energy.Binary](m)
	require.True(t, ok)
}

func law(m energy.Model) []float64 { p, _ := exact.Law(m); return p }

func TestTabulate(t *testing.T) {
	q, _ := pair()
	p, z, err := dual.Tabulate(ctx, q)
	require.NoError(t, err)
	want, wantZ := exact.Law(q)
	require.InDeltaSlice(t, want, p, 1e-15)
	require.InDelta(t, wantZ, z, 1e-12)
	_, _, err = dual.Tabulate(ctx, nil)
	require.Error(t, err)
	_, _, err = dual.Tabulate(ctx, energy.Func{Sites: 30, Levels: 2, E: func([]int32) float64 { return 0 }})
	require.ErrorContains(t, err, "30 sites")
	for _, e := range []float64{math.Inf(1), math.NaN(), math.Inf(-1)} {
		_, _, err = dual.Tabulate(ctx, energy.Func{Sites: 1, Levels: 2, E: func([]int32) float64 { return e }})
		require.Error(t, err)
	}
}

// Reverse KL by sampling: the loop finds the λ* of the finite solver.
func TestExpertsInference(t *testing.T) {
	q, away := pair()
	const bound, tol = 2.0, 0.05
	u := must(dual.NewUnlearning(law(q), law(away)))
	star := must(u.Solve(ctx, dual.ReverseKL, []float64{bound})).Lambda
	require.Positive(t, star[0])
	m := must(dual.NewExperts(q, []energy.Model{away}, []float64{bound}, logZ))
	chains := must(sampler.NewChains(m, sampler.Gibbs{}, sampler.Config{Chains: 64, Seed: 1, Warmup: -1}))
	inf := must(dual.NewInference(m, chains, dual.Config{Max: 0.95}))
	require.NoError(t, inf.Solve(ctx, 5000, tol))
	for _, lambda := range [][]float64{star, inf.Average()} {
		c, err := inf.Certify(ctx, lambda, 50, 1000)
		require.NoError(t, err)
		require.False(t, c.HasDual)
		want := bound - dual.KL(must(u.Law(dual.ReverseKL, lambda)), law(away))
		require.LessOrEqual(t, math.Abs(want-c.Violation[0]), 5.7*c.ViolationSE[0], "t quantile of 31 batches at 1e-6")
	}
}

// The discrete-safe form and the likelihood ratio as Lagrangians.
func TestRatioBounds(t *testing.T) {
	q, away := pair()
	zq, za := must(logZ(q)), must(logZ(away))
	u := must(dual.NewUnlearning(law(q), law(away)))
	safe := must(dual.NewLagrangian(q, dual.Bounds{dual.LogRatio(q, away, zq, za, 0.7)}))
	want, err := u.Solve(ctx, dual.DiscreteSafe, []float64{0.7})
	require.NoError(t, err)
	got, err := dual.Solve(ctx, safe)
	require.NoError(t, err)
	require.InDelta(t, want.Lambda[0], got.Lambda[0], 1e-9)
	require.NoError(t, safe.SetLambda(got.Lambda))
	require.InDeltaSlice(t, want.P, law(safe), 1e-10)

	ratio := must(dual.NewLagrangian(q, dual.Bounds{must(dual.Ratio(q, away, zq, za, 0.4))}))
	want, err = u.Solve(ctx, dual.LikelihoodRatio, []float64{0.4})
	require.NoError(t, err)
	got, err = dual.Solve(ctx, ratio)
	require.NoError(t, err)
	require.InDelta(t, want.Lambda[0], got.Lambda[0], 1e-9)
	_, err = dual.Ratio(nil, away, 0, 0, 1)
	require.Error(t, err)
}

// log Z along the path agrees with enumeration, and half of it does not.
func TestThermodynamic(t *testing.T) {
	slow(t)
	lag := ring(t, 0.5)
	lambda := []float64{2, 3}
	run := func(seed uint64, path dual.Path) (float64, float64) {
		chains := must(sampler.NewChains(lag, sampler.Gibbs{}, sampler.Config{Chains: 64, Seed: seed, Warmup: -1}))
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
	want := -(must(lag.Dual(ctx, lambda)) - must(lag.Dual(ctx, []float64{0, 0}))) / 0.5
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

func TestExpertsErrors(t *testing.T) {
	q, away := pair()
	other := must(energy.NewIsing(energy.Lattice{5}, 1, 0))
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
		_, err := dual.NewExperts(c.q, c.away, c.b, c.z)
		require.Error(t, err)
	}
	calls := 0
	m := must(dual.NewExperts(q, []energy.Model{away}, []float64{1}, func(m energy.Model) (float64, error) {
		if calls++; calls > 2 {
			return 0, broken
		}
		return logZ(m)
	}))
	before := law(m)
	require.ErrorIs(t, m.SetLambda([]float64{0.5}), broken)
	require.Equal(t, before, law(m), "nothing changed")
	require.Error(t, m.SetLambda([]float64{1}))
	require.Error(t, m.SetLambda([]float64{-1}))
	require.Error(t, m.SetLambda([]float64{math.NaN()}))
}

// Rejection draws the laws of the formulations exactly.
func TestRejection(t *testing.T) {
	slow(t)
	u := must(dual.NewUnlearning(known, forgotten))
	draw := func(x []int32, src rand.Source) error {
		v := rand.New(src).Float64()
		for k, q := range known {
			if v -= q; v < 0 {
				x[0] = int32(k)
				return nil
			}
		}
		x[0] = 3
		return nil
	}
	ratio := func(x []int32) []float64 { return []float64{forgotten[x[0]] / known[x[0]]} }
	counts := func(accept func(x []int32) float64) ([]int, *dual.Rejection[int32]) {
		var src []rand.Source
		for k := range 64 {
			src = append(src, sampler.NewStream(7, uint64(k)))
		}
		r := must(dual.NewRejection(1, draw, accept, 0, src...))
		c := make([]int, 4)
		for range 500 {
			require.NoError(t, r.Run(ctx, 1))
			for _, x := range r.States() {
				c[x]++
			}
		}
		require.Equal(t, 500, r.Len())
		return c, r
	}
	forward, r := counts(func(x []int32) float64 { return dual.AcceptForward([]float64{0.2}, ratio(x)) })
	p := must(u.Law(dual.ForwardKL, []float64{0.2}))
	exact.Counts(t, forward, p, 1e-6)
	n := 500 * 64 / r.Acceptance()
	require.InDelta(t, 0.8, r.Acceptance(), 4.9*math.Sqrt(0.8*0.2/n))
	require.Less(t, exact.PValue(forward, known), 1e-6, "q itself is another law")

	tilted, _ := counts(func(x []int32) float64 { return dual.AcceptLikelihood([]float64{1.5}, ratio(x)) })
	exact.Counts(t, tilted, must(u.Law(dual.LikelihoodRatio, []float64{1.5})), 1e-6)
	require.Less(t, exact.PValue(tilted, p), 1e-6)
}

func TestRejectionErrors(t *testing.T) {
	draw := func(x []float32, src rand.Source) error { return nil }
	build := func(draw func([]float32, rand.Source) error, accept float64) error {
		r, err := dual.NewRejection(2, draw, func([]float32) float64 { return accept }, 100, rand.NewPCG(1, 2))
		require.NoError(t, err)
		require.Zero(t, r.Acceptance())
		require.NoError(t, r.Reset())
		return r.Run(ctx, 1)
	}
	var trials *dual.TrialsError
	require.ErrorAs(t, build(draw, math.Inf(-1)), &trials)
	require.Equal(t, 100, trials.Trials)
	require.Contains(t, trials.Error(), "100 trials")
	require.ErrorContains(t, build(draw, 0.1), "want ≤ 0")
	require.ErrorContains(t, build(draw, dual.AcceptForward([]float64{0.5}, []float64{3})), "NaN")
	broken := errors.New("broken")
	require.ErrorIs(t, build(func([]float32, rand.Source) error { return broken }, 0), broken)
	_, err := dual.NewRejection(0, draw, func([]float32) float64 { return 0 }, 0, rand.NewPCG(1, 2))
	require.Error(t, err)
}
