package dual_test

import (
	"fmt"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/stretchr/testify/require"
)

// BenchmarkStep is one dual step, one Gibbs sweep of 64 chains included, and
// the sweep alone beside it.
func BenchmarkStep(b *testing.B) {
	for _, n := range []int{10, 100} {
		base := exact.Must(model.NewIsing(model.Lattice{n}, 0.3, 0))
		set := dual.Bounds{
			dual.AtLeast(exact.Must(model.NewIsing(model.Lattice{n}, 0, -1/float64(n))), 0.3),
			dual.AtLeast(exact.Must(model.NewIsing(model.Lattice{n}, 0.5/float64(n), 0)), -0.05),
		}
		lag := exact.Must(dual.NewLagrangian(base, set))
		chains := exact.Must(sampler.NewChains(lag, mcmc.Gibbs{}, sampler.Config{Chains: 64, Warmup: -1, Workers: 1}))
		b.Run(fmt.Sprintf("sites=%d/sweep", n), func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, chains.Run(ctx, 1))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*64*n), "ns/site")
		})
		b.Run(fmt.Sprintf("sites=%d/dual", n), func(b *testing.B) {
			inf := exact.Must(dual.NewInference(lag, chains, dual.Config{}))
			for b.Loop() {
				require.NoError(b, inf.Step(ctx))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*64*n), "ns/site")
		})
	}
}
