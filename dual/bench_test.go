package dual_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// BenchmarkStep is one dual step, one Gibbs sweep of 64 chains included, and
// the sweep alone beside it.
func BenchmarkStep(b *testing.B) {
	for _, n := range []int{10, 100} {
		base := must(energy.NewIsing(energy.Lattice{n}, 0.3, 0))
		set := dual.Bounds{
			dual.AtLeast(must(energy.NewIsing(energy.Lattice{n}, 0, -1/float64(n))), 0.3),
			dual.AtLeast(must(energy.NewIsing(energy.Lattice{n}, 0.5/float64(n), 0)), -0.05),
		}
		lag := must(dual.NewLagrangian(base, set))
		chains := must(sampler.NewChains(lag, sampler.Gibbs{}, sampler.Config{Chains: 64, Warmup: -1, Workers: 1}))
		b.Run(fmt.Sprintf("sites=%d/sweep", n), func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, chains.Run(ctx, 1))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*64*n), "ns/site")
		})
		b.Run(fmt.Sprintf("sites=%d/dual", n), func(b *testing.B) {
			inf := must(dual.NewInference(lag, chains, dual.Config{}))
			for b.Loop() {
				require.NoError(b, inf.Step(ctx))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*64*n), "ns/site")
		})
	}
}

// BenchmarkPDI is one step of primal–dual inference for 64 samples in 30
// dimensions, by predictor.
func BenchmarkPDI(b *testing.B) {
	p := newConstrained(b)
	terms := make([]energy.Scored, len(p.terms))
	for j, g := range p.terms {
		terms[j] = g
	}
	lag := must(dual.NewRealLagrangian(p.base, 1, terms...))
	for _, c := range []struct {
		name string
		p    dual.Predictor
	}{
		{"exact", p.predictor},
		{"gibbs=64", must(dual.NewGibbsScore(lag, dual.GibbsOptions{}))},
		{"gibbs=64/mean", must(dual.NewGibbsScore(lag, dual.GibbsOptions{Mean: true}))},
	} {
		b.Run("predictor="+c.name, func(b *testing.B) {
			d := must(dual.NewPDI(c.p, dual.PDIConfig{Fixed: true}))
			q := energy.Noised[float32]{X: make([]float32, 64*30)}
			for k := range 64 {
				q.Time, q.Alpha, q.Src = append(q.Time, 1), append(q.Alpha, 0.5), append(q.Src, sampler.NewStream(1, uint64(k)))
			}
			v := make([]float32, len(q.X))
			for b.Loop() {
				require.NoError(b, d.Denoise(ctx, v, q))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*64*30), "ns/site")
		})
	}
}
