package dual_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/stretchr/testify/require"
)

// BenchmarkStep is one dual step, one Gibbs sweep of 64 chains included, and compared
// with the sweep alone.
func BenchmarkStep(b *testing.B) {
	for _, n := range []int{10, 100} {
		base := exact.Must(model.NewIsing(model.Lattice{n}, 0.3, 0))
		set := []constraint.Set{
			dual.AtLeast(exact.Must(model.NewIsing(model.Lattice{n}, 0, -1/float64(n))), 0.3),
			dual.AtLeast(exact.Must(model.NewIsing(model.Lattice{n}, 0.5/float64(n), 0)), -0.05),
		}
		lag := exact.Must(dual.NewLagrangian(base, set...))
		chains := exact.Must(sampler.NewChains(context.Background(), lag, mcmc.Gibbs{}, sampler.Config{Chains: 64, Warmup: -1, Workers: 1}))
		b.Run(fmt.Sprintf("sites=%d/sweep", n), func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, chains.Run(ctx, 1))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*64*n), "ns/site")
		})
		b.Run(fmt.Sprintf("sites=%d/dual", n), func(b *testing.B) {
			inf := exact.Must(dual.NewInference(context.Background(), lag, chains, dual.Config{}))
			for b.Loop() {
				require.NoError(b, inf.Run(ctx, 1))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*64*n), "ns/site")
		})
	}
}

// BenchmarkLinear is a Gibbs sweep of 64 chains with so many linear statistics, compared
// with the base alone (0).
func BenchmarkLinear(b *testing.B) {
	const n = 100
	base := exact.Must(model.NewIsing(model.Lattice{n}, 0.3, 0))
	for _, statistics := range []int{0, 1, 64} {
		var m energy.Model = base
		if statistics > 0 {
			var set []constraint.Set
			lambda := make([]float64, statistics)
			for j := range lambda {
				w := make([]float64, 2*n)
				for i := range w {
					w[i] = math.Sin(float64(i * (j + 1)))
				}
				set = append(set, dual.AtMost(exact.Must(model.NewIndependent(w, 2)), 0))
				lambda[j] = 0.01 * float64(j+1)
			}
			lag := exact.Must(dual.NewLagrangian(base, set...))
			require.NoError(b, lag.SetLambda(lambda))
			m = lag
		}
		chains := exact.Must(sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, sampler.Config{Chains: 64, Warmup: -1, Workers: 1}))
		b.Run(fmt.Sprintf("statistics=%d", statistics), func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, chains.Run(ctx, 1))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*64*n), "ns/site")
		})
	}
}
