package fit_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/fit"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

var ctx = context.Background()

// draws returns independent exact draws of a small model.
func draws(m energy.Model, n int, seed uint64) []int32 {
	sites, levels := m.Shape()
	p, _ := exact.Law(m)
	states, r := exact.States(sites, levels), rand.New(rand.NewPCG(seed, 4))
	var x []int32
	for range n {
		k := 0
		for u := r.Float64() - p[0]; u > 0 && k < len(p)-1; u -= p[k] {
			k++
		}
		x = append(x, states[k]...)
	}
	return x
}

// ring returns a learner of a ring of four spins, and data of one.
func ring(t testing.TB, rows int, seed uint64) (energy.Parametric, []int32) {
	truth, err := model.NewIsing(model.Lattice{4}, 0.3, 0.2)
	require.NoError(t, err)
	p, err := truth.Learn()
	require.NoError(t, err)
	require.NoError(t, p.SetParams(make([]float64, 8)))
	return p, draws(truth, rows, seed)
}

func chains(t testing.TB, p energy.Model, n int, seed uint64, method sampler.Method) *sampler.Chains {
	c, err := sampler.NewChains(context.Background(), p, method, sampler.Config{Chains: n, Seed: seed, Warmup: -1})
	require.NoError(t, err)
	return c
}

// best returns the exact maximum-likelihood estimate.
func best(t testing.TB, p energy.Parametric, data []int32, cfg fit.Config) []float64 {
	theta := p.Params()
	cfg.Objective, cfg.Chains = fit.Exact{}, nil
	cfg.Rate = dual.Constant(0.02)
	f, err := fit.New(context.Background(), p, data, cfg)
	require.NoError(t, err)
	require.NoError(t, f.Run(ctx, 3000))
	cfg.Rate = dual.Power(0.5, 1)
	f, err = fit.New(context.Background(), p, data, cfg)
	require.NoError(t, err)
	require.NoError(t, f.Run(ctx, 3000))
	opt := f.Params()
	require.NoError(t, p.SetParams(theta))
	return opt
}

// moments returns the mean of ∂E/∂θ over the model, by enumeration of its law.
func moments(p energy.Parametric) []float64 {
	sites, levels := p.Shape()
	w, _ := exact.Law(p)
	g := make([]float64, len(p.Params()))
	for k, x := range exact.States(sites, levels) {
		p.ParamGradient(g, x, w[k:k+1])
	}
	return g
}

// Exact fits have the moments of the data, to rounding.
func TestExactMatchesTheMoments(t *testing.T) {
	for name, m := range small(t) {
		p, err := m.Learn()
		require.NoError(t, err)
		sites, _ := p.Shape()
		data := draws(p, 200, 1)
		theta := p.Params()
		for k := range theta {
			theta[k] *= 0.5
		}
		require.NoError(t, p.SetParams(theta))
		opt := best(t, p, data, fit.Config{L2: 0.01})
		require.NoError(t, p.SetParams(opt))
		got, want := moments(p), make([]float64, len(opt))
		p.ParamGradient(want, data, nil)
		for k := range want {
			assert.InDelta(t, want[k]/float64(len(data)/sites)+0.01*opt[k], got[k], 2e-4, "%s: moment %d", name, k)
		}
	}
}

// Gradients by elimination are those of enumeration, for models with shared parameters, fields of
// their own, several levels and longer tables, and they make fits of models that cannot be enumerated.
func TestExactByElimination(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	var edges []model.Edge
	for i := range 12 {
		edges = append(edges, model.Edge{I: i, J: i + 1, W: r.NormFloat64()}, model.Edge{I: max(0, i-3), J: i + 1, W: .5})
	}
	edges = edges[:len(edges)-1]
	slices.SortFunc(edges, func(a, b model.Edge) int { return cmp.Or(cmp.Compare(a.I, b.I), cmp.Compare(a.J, b.J)) })
	edges = slices.CompactFunc(edges, func(a, b model.Edge) bool { return a.I == b.I && a.J == b.J })
	start, moves := make([]float64, 3), make([]float64, 27)
	for i := range start {
		start[i] = 1. / 3
	}
	for i := range moves {
		moves[i] = 1. / 3
	}
	first := make([]float64, 9)
	for i := range first {
		first[i] = 1. / 9
	}
	for name, m := range map[string]energy.Learnable{
		"ising":     exact.Must(model.NewIsing(exact.Must(model.NewGraph(13, edges)), 0.4, 0.1)),
		"potts":     exact.Must(model.NewPotts(model.FreeLattice{2, 4}, 3, 0.5, []float64{0, 0.3, -0.2})),
		"quadratic": exact.Must(model.NewQuadratic(8, edges[:8], model.Polynomial{Values: []float32{-1, 0, 2}, Linear: []float64{.1, .2, .3, -.1, 0, 0, .4, .1}})),
		"markov":    exact.Must(model.NewMarkov(8, 3, 2, first, moves)),
	} {
		p := exact.Must(m.Learn())
		theta := p.Params()
		for k := range theta {
			theta[k] += .3 * r.NormFloat64()
		}
		require.NoError(t, p.SetParams(theta), name)
		sites, levels := p.Shape()
		data := make([]int32, 5*sites)
		for i := range data {
			data[i] = int32(r.IntN(levels))
		}
		gradient := func(p energy.Parametric) (string, []float64) {
			phase := exact.Must(fit.Exact{}.Bind(ctx, p, data, nil))
			g := make([]float64, len(theta))
			require.NoError(t, phase.Gradient(ctx, g, data, 0, 0))
			return fmt.Sprintf("%T", phase), g
		}
		kind, got := gradient(p)
		all, want := gradient(struct{ energy.Parametric }{p})
		require.NotEqual(t, kind, all, name)
		for k, v := range want {
			require.InDelta(t, v, got[k], 1e-11, "%s: θ_%d", name, k)
		}
	}
	p := exact.Must(exact.Must(model.NewIsing(model.Lattice{60}, 0.4, 0)).Learn())
	data := make([]int32, 50*60)
	for i := range data {
		data[i] = int32(r.IntN(2))
	}
	f := exact.Must(fit.New(ctx, p, data, fit.Config{Objective: fit.Exact{}, L2: .1, Rate: dual.Constant(.05)}))
	require.NoError(t, f.Run(ctx, 300))
	require.NoError(t, p.SetParams(f.Params()))
	g := make([]float64, len(f.Params()))
	require.NoError(t, exact.Must(fit.Exact{}.Bind(ctx, p, data, nil)).Gradient(ctx, g, data, 0, 0))
	for k, v := range f.Params() {
		require.InDelta(t, 0, g[k]+.1*v, 1e-3)
	}
}

func small(t *testing.T) map[string]energy.Learnable {
	ising, err := model.NewIsing(model.Lattice{4}, 0.4, 0.1)
	require.NoError(t, err)
	potts, err := model.NewPotts(model.FreeLattice{3}, 3, 0.5, []float64{0, 0.3, -0.2})
	require.NoError(t, err)
	quadratic, err := model.NewDenseQuadratic(3, []float64{0, 1, -1, 0, 0, 0.5, 0, 0, 0}, model.Polynomial{Linear: []float64{0.1, -0.5, 0.2}})
	require.NoError(t, err)
	markov, err := model.NewMarkov(4, 2, 1, []float64{0.3, 0.7}, []float64{0.2, 0.8, 0.6, 0.4})
	require.NoError(t, err)
	return map[string]energy.Learnable{"ising": ising, "potts": potts, "quadratic": quadratic, "markov": markov}
}

// The fixed point of persistent chains is maximum likelihood: over independent runs
// the averaged parameters differ from the exact optimum by no more than their standard
// errors allow. That of one draw from the data does not: its bias shows.
func TestPersistentIsMaximumLikelihood(t *testing.T) {
	exact.SkipUnderRace(t)
	p, _ := ring(t, 1, 3)
	data := draws(exact.NewRugged(4, 2, 1.5, 0, 3), 400, 3) // of no Ising model
	opt := best(t, p, data, fit.Config{})
	worst := map[string]float64{}
	const runs = 12
	for name, o := range map[string]fit.Objective{"persistent": fit.Persistent{}, "buffer": fit.Persistent{Buffer: 200, Draws: 2}, "twin": fit.Persistent{}} {
		sum, squares := make([]float64, len(opt)), make([]float64, len(opt))
		var method sampler.Method = mcmc.Gibbs{}
		if name == "twin" {
			method = mcmc.DULA{StepSize: 2}
		}
		for seed := range uint64(runs) {
			require.NoError(t, p.SetParams(make([]float64, len(opt))))
			f, err := fit.New(context.Background(), p, data, fit.Config{Objective: o, Chains: chains(t, p, 100, seed, method), Rate: dual.Power(0.1, 0.6)})
			require.NoError(t, err)
			require.NoError(t, f.Run(ctx, 800))
			for k, v := range f.Average() {
				sum[k] += v / runs
				squares[k] += v * v / runs
			}
		}
		for k, v := range sum {
			se := math.Sqrt((squares[k] - v*v) / (runs - 1))
			worst[name] = max(worst[name], math.Abs(v-opt[k])/se)
			if name != "twin" {
				assert.Less(t, se, 0.02, name)
			}
		}
	}
	// Student's t of 11 degrees of freedom is beyond 9.4 with probability 1e-6/8.
	assert.Less(t, worst["persistent"], 9.4)
	assert.Less(t, worst["buffer"], 9.4)
	assert.Greater(t, worst["twin"], 9.4)
}

// In closed form and by neighbours the pseudo-likelihood is the same, and with much
// data it finds the truth.
func TestPseudo(t *testing.T) {
	exact.SkipUnderRace(t)
	q, err := model.NewDenseQuadratic(3, []float64{0, 1, -1, 0, 0, 0.5, 0, 0, 0}, model.Polynomial{Linear: []float64{0.1, -0.5, 0.2}, Values: []float32{-1, 1}})
	require.NoError(t, err)
	data := draws(q, 20000, 5)
	var found [][]float64
	for _, hide := range []bool{false, true} {
		p, err := q.Learn()
		require.NoError(t, err)
		require.NoError(t, p.SetParams(make([]float64, 6)))
		if hide {
			p = plain{p}
			data = data[:len(data):len(data)]
		}
		f, err := fit.New(context.Background(), p, data[:600], fit.Config{Objective: fit.Pseudo{}, L1: 0.01})
		require.NoError(t, err)
		require.NoError(t, f.Run(ctx, 50))
		found = append(found, f.Params())
	}
	assert.InDeltaSlice(t, found[0], found[1], 1e-4)
	p, err := q.Learn()
	require.NoError(t, err)
	truth := p.Params()
	require.NoError(t, p.SetParams(make([]float64, 6)))
	f, err := fit.New(context.Background(), p, data, fit.Config{Objective: fit.Pseudo{}})
	require.NoError(t, err)
	require.NoError(t, f.Run(ctx, 500))
	assert.InDeltaSlice(t, truth, f.Params(), 0.1)
}

// plain hides what a model knows beyond its parameters.
type plain struct{ energy.Parametric }

// L1 gives exact zeros, whatever the rate, and L2 pulls; a fixed parameter stays.
func TestPenalties(t *testing.T) {
	p, data := ring(t, 300, 7)
	zero := func(v []float64) (n int) {
		for _, a := range v {
			if a == 0 {
				n++
			}
		}
		return n
	}
	all := best(t, p, data, fit.Config{L1: 10})
	assert.Equal(t, make([]float64, 8), all)
	some := best(t, p, data, fit.Config{L1: 10, Penalty: []float64{1, 1, 1, 1, 0, 0, 0, 0}})
	assert.Equal(t, 4, zero(some))
	assert.Equal(t, 0, zero(some[4:]))
	none := best(t, p, data, fit.Config{})
	pulled := best(t, p, data, fit.Config{L2: 1})
	assert.Less(t, norm(pulled), 0.7*norm(none))
	require.NoError(t, p.SetParams([]float64{0.25, 0, 0, 0, 0, 0, 0, 0}))
	fixed := best(t, p, data, fit.Config{Fixed: []bool{true, false, false, false, false, false, false, false}})
	assert.Equal(t, 0.25, fixed[0])
	// At the optimum of a penalised fit the residuals vanish, penalties included.
	require.NoError(t, p.SetParams(best(t, p, data, fit.Config{L1: 0.02, L2: 0.1})))
	f, err := fit.New(context.Background(), p, data, fit.Config{Objective: fit.Exact{}, L1: 0.02, L2: 0.1, Rate: dual.Constant(0)})
	require.NoError(t, err)
	require.NoError(t, f.Run(ctx, 16))
	assert.Less(t, f.Report().Residual, 1e-3)
	assert.Equal(t, 16, f.Report().Window)
}

func norm(v []float64) (sum float64) {
	for _, a := range v {
		sum += a * a
	}
	return math.Sqrt(sum)
}

// Solve stops when the moments agree and reports it; a bound that noise alone exceeds is
// never met.
func TestSolve(t *testing.T) {
	p, data := ring(t, 300, 8)
	f, err := fit.New(context.Background(), p, data, fit.Config{Chains: chains(t, p, 200, 1, mcmc.Gibbs{})})
	require.NoError(t, err)
	met, err := f.Solve(ctx, 20000, 0.01)
	require.NoError(t, err)
	assert.True(t, met)
	assert.Less(t, f.Len(), 20000)
	r := f.Report()
	assert.LessOrEqual(t, r.Residual, 0.01+4*r.StdErr)
	assert.Contains(t, r.String(), fmt.Sprintf("%d steps: largest residual", r.Steps))
	met, err = f.Solve(ctx, 40, 1e-9)
	require.NoError(t, err)
	assert.False(t, met)
	for want, call := range map[string]func() error{
		"tol = 0, want positive": func() error { _, err := f.Solve(ctx, 1, 0); return err },
		"limit = -1, want ≥ 0":   func() error { _, err := f.Solve(ctx, -1, 1); return err },
		"Run: n = -1, want ≥ 0":  func() error { return f.Run(ctx, -1) },
		"fit: Run: ctx = nil":    func() error { var none context.Context; return f.Run(none, 1) },
	} {
		assert.ErrorContains(t, call(), want)
	}
}

func TestErrors(t *testing.T) {
	p, data := ring(t, 10, 1)
	holed, err := model.NewIndependent([]float64{0, math.Inf(-1), 0, 0}, 2)
	require.NoError(t, err)
	forbids, err := holed.Learn()
	require.NoError(t, err)
	good := func() dual.Primal[int32] { return chains(t, p, 4, 1, mcmc.Gibbs{}) }
	wide, err := model.NewIsing(model.Lattice{30}, 0, 0)
	require.NoError(t, err)
	big, err := wide.Learn()
	require.NoError(t, err)
	for want, c := range map[string]struct {
		p    energy.Parametric
		data []int32
		cfg  fit.Config
	}{
		"fit: New: the model is nil":                   {nil, data, fit.Config{}},
		"len(data) = 0, want a positive multiple of 4": {p, nil, fit.Config{}},
		"len(data) = 3, want a positive multiple of 4": {p, data[:3], fit.Config{}},
		"row 1 of the data has level 2 at site 3":      {p, []int32{0, 1, 0, 1, 0, 1, 0, 2}, fit.Config{}},
		"energy of row 1 of the data = +Inf":           {forbids, []int32{0, 1, 1, 1}, fit.Config{}},
		"Persistent: Config.Chains = nil":              {p, data, fit.Config{}},
		"Contrastive: Draws = -1":                      {p, data, fit.Config{Objective: fit.Contrastive{Draws: -1}, Chains: good()}},
		"Persistent: Restart = 2, want 0 … 1":          {p, data, fit.Config{Objective: fit.Persistent{Restart: 2}, Chains: good()}},
		"Persistent: Buffer = 3, want ≥ 4":             {p, data, fit.Config{Objective: fit.Persistent{Buffer: 3}, Chains: good()}},
		"Config.Batch = 11, want 0 … 10":               {p, data, fit.Config{Batch: 11, Chains: good()}},
		"Config.L1 = NaN":                              {p, data, fit.Config{L1: math.NaN(), Chains: good()}},
		"Config.Memory = 1, want":                      {p, data, fit.Config{Memory: 1, Chains: good()}},
		"Config.L2 = -1":                               {p, data, fit.Config{L2: -1, Chains: good()}},
		"len(Config.Penalty) = 1, want 8":              {p, data, fit.Config{Penalty: []float64{1}, Chains: good()}},
		"Config.Penalty[7] = -1":                       {p, data, fit.Config{Penalty: []float64{1, 1, 1, 1, 1, 1, 1, -1}, Chains: good()}},
		"len(Config.Fixed) = 1, want 8":                {p, data, fit.Config{Fixed: []bool{true}, Chains: good()}},
		"Exact: 30 sites of 2 levels, want at most":    {struct{ energy.Parametric }{big}, make([]int32, 30), fit.Config{Objective: fit.Exact{}}},
		"the chains have 0 entries of states":          {p, data, fit.Config{Chains: nothing{}}},
	} {
		_, err := fit.New(context.Background(), c.p, c.data, c.cfg)
		assert.ErrorContains(t, err, want)
	}
	f, err := fit.New(context.Background(), p, data, fit.Config{Objective: fit.Pseudo{}, Rate: dual.Constant(math.NaN())})
	require.NoError(t, err)
	require.ErrorContains(t, f.Run(ctx, 1), "Config.Rate = NaN")
	f, err = fit.New(context.Background(), p, data, fit.Config{Objective: fit.Pseudo{}, Rate: dual.Constant(math.MaxFloat64)})
	require.NoError(t, err)
	require.ErrorContains(t, f.Run(ctx, 2), "fit: step 0: model: SetParams")
	assert.Equal(t, make([]float64, 8), f.Params(), "those before the step")
}

type nothing struct{ dual.Primal[int32] }

func (nothing) States() []int32 { return nil }

// The certificate of an enumerable model is exact; that of an estimate carries its error.
func TestCertify(t *testing.T) {
	p, data := ring(t, 50, 2)
	require.NoError(t, p.SetParams([]float64{0.3, 0.2, 0.1, 0, 0.5, 0.1, 0, 0}))
	law, logZ := exact.Law(p)
	c, err := fit.Certify(ctx, p, data, nil)
	require.NoError(t, err)
	want := 0.0
	for r := range 50 {
		k := 0
		for i := range 4 {
			k = k*2 + int(data[r*4+i])
		}
		for s, x := range exact.States(4, 2) {
			if x[0] == data[r*4] && x[1] == data[r*4+1] && x[2] == data[r*4+2] && x[3] == data[r*4+3] {
				want += math.Log(law[s]) / 50
			}
		}
	}
	assert.InDelta(t, want, c.LogLik, 1e-9)
	assert.InDelta(t, logZ, c.LogZ, 1e-9)
	est, err := fit.Certify(ctx, p, data, func(context.Context) (float64, float64, error) { return logZ + 1, 0.5, nil })
	require.NoError(t, err)
	assert.InDelta(t, want-1, est.LogLik, 1e-9)
	assert.InDelta(t, math.Hypot(0.5, c.StdErr), est.StdErr, 1e-12)
	assert.Contains(t, est.String(), "50 states")
	_, err = fit.Certify(ctx, p, data[:3], nil)
	require.ErrorContains(t, err, "len(x) = 3, want a positive multiple of 4")
	_, err = fit.Certify(ctx, nil, data, nil)
	require.ErrorContains(t, err, "the model is nil")
	_, err = fit.Certify(ctx, p, data, func(context.Context) (float64, float64, error) { return 0, 0, fmt.Errorf("no luck") })
	require.ErrorContains(t, err, "no luck")
}
