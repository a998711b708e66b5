package pdi_test

import (
	"context"
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/langevin"
	"github.com/stretchr/testify/require"
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
	lag := exact.Must(dual.NewRealLagrangian(p.base, 1, atMost(terms)...))
	report := func(b *testing.B, x []float32) {
		u, worst := p.judge(x)
		b.ReportMetric(math.Abs(u-p.u), "U-gap")
		b.ReportMetric(worst, "violation")
	}
	diffusion := func(name string, samples, steps int, predictor pdi.Predictor) {
		b.Run("method="+name, func(b *testing.B) {
			var x []float32
			d := exact.Must(pdi.New(context.Background(), predictor, pdi.Config{Rule: quick, Domain: pdi.Box(-5, 5), Scarce: true}))
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
		o    pdi.GibbsOptions
	}{
		{"paper", pdi.GibbsOptions{Score: true}},
		{"control", pdi.GibbsOptions{Control: true}},
		{"guess-antithetic", pdi.GibbsOptions{Center: []float64{0}, Spread: []float64{1.5}, Antithetic: true, Score: true}},
		{"guess-control", pdi.GibbsOptions{Center: []float64{0}, Spread: []float64{1.5}, Control: true}},
	} {
		diffusion("pdi-gibbs="+c.name+"/samples=128/steps=200", 128, 200, exact.Must(pdi.NewGibbsScore(lag, c.o)))
	}
	b.Run("method=pd-langevin/samples=1024/steps=500", func(b *testing.B) {
		var x []float32
		for b.Loop() {
			chains := exact.Must(langevin.New(context.Background(), lag, langevin.Config{Chains: 1024, Seed: 1, Warmup: -1, StepSize: 0.05}))
			inf := exact.Must(dual.NewInference(context.Background(), lag, chains, dual.Config{Rule: quick}))
			require.NoError(b, inf.Run(b.Context(), 500))
			x = chains.States()
		}
		report(b, x)
	})
}

// BenchmarkPDI is one step of primal–dual inference for 64 samples in 30
// dimensions, by predictor.
func BenchmarkPDI(b *testing.B) {
	p := newConstrained(b)
	terms := make([]energy.Scored, len(p.terms))
	for j, g := range p.terms {
		terms[j] = g
	}
	lag := exact.Must(dual.NewRealLagrangian(p.base, 1, atMost(terms)...))
	for _, c := range []struct {
		name string
		p    pdi.Predictor
	}{
		{"exact", p.predictor},
		{"gibbs=64", exact.Must(pdi.NewGibbsScore(lag, pdi.GibbsOptions{Score: true}))},
		{"gibbs=64/mean", exact.Must(pdi.NewGibbsScore(lag, pdi.GibbsOptions{Center: []float64{0}, Spread: []float64{1.5}}))},
	} {
		b.Run("predictor="+c.name, func(b *testing.B) {
			d := exact.Must(pdi.New(context.Background(), c.p, pdi.Config{Fixed: true}))
			q := energy.Noised[float32]{X: make([]float32, 64*30)}
			for k := range 64 {
				q.Time, q.Alpha, q.Src = append(q.Time, 1), append(q.Alpha, 0.5), append(q.Src, sampler.NewStream(1, uint64(k)))
			}
			v := make([]float32, len(q.X))
			for b.Loop() {
				require.NoError(b, d.Denoise(b.Context(), v, q))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*64*30), "ns/site")
		})
	}
}
