package dual_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// BenchmarkConstrainedMixture is the constrained Gaussian mixture from λ = 0, one
// op per whole run, by method: how far E[f0] is from the optimum, the largest
// mean violation, and the effective number of candidates half way.
func BenchmarkConstrainedMixture(b *testing.B) {
	p := newConstrained(b)
	terms := make([]energy.Scored, len(p.terms))
	for j, g := range p.terms {
		terms[j] = g
	}
	lag := must(dual.NewRealLagrangian(p.base, 1, terms...))
	report := func(b *testing.B, x []float32) {
		u, worst := p.judge(x)
		b.ReportMetric(math.Abs(u-p.u), "U-gap")
		b.ReportMetric(worst, "violation")
	}
	diffusion := func(name string, samples, steps int, predictor dual.Predictor) {
		b.Run("method="+name, func(b *testing.B) {
			var x []float32
			d := must(dual.NewPDI(predictor, dual.PDIConfig{Rule: quick, Domain: dual.Box(-5, 5)}))
			for b.Loop() {
				x = sample(b, d, samples, samples, steps, 0)
			}
			report(b, x)
			b.ReportMetric(d.Effective()[steps/2], "ESS-half-way")
		})
	}
	diffusion("pdi-exact/samples=1024/steps=500", 1024, 500, p.predictor)
	diffusion("pdi-exact/samples=128/steps=200", 128, 200, p.predictor)
	for _, c := range []struct {
		name string
		o    dual.GibbsOptions
	}{
		{"paper", dual.GibbsOptions{}},
		{"control", dual.GibbsOptions{Control: true}},
		{"guess-antithetic", dual.GibbsOptions{Center: []float64{0}, Spread: []float64{1.5}, Antithetic: true}},
		{"guess-control", dual.GibbsOptions{Center: []float64{0}, Spread: []float64{1.5}, Control: true}},
	} {
		diffusion("pdi-gibbs="+c.name+"/samples=128/steps=200", 128, 200, must(dual.NewGibbsScore(lag, c.o)))
	}
	b.Run("method=pd-langevin/samples=1024/steps=500", func(b *testing.B) {
		var x []float32
		for b.Loop() {
			chains := must(sampler.NewLangevin(lag, sampler.LangevinConfig{Chains: 1024, Seed: 1, Warmup: -1, StepSize: 0.05}))
			inf := must(dual.NewInference(lag, chains, dual.Config{Rule: quick}))
			require.NoError(b, inf.Run(ctx, 500))
			x = chains.States()
		}
		report(b, x)
	})
}
