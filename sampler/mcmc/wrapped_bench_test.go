package mcmc_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// BenchmarkWrapped reports, for methods that run others on the rungs of a ladder, the
// processor time of a site of a step and rung, next to that of the method alone, read after
// every step: the least of seven runs of each, by turns.
//
//	go test ./sampler/mcmc -run xxx -bench Wrapped -benchtime 1x
func BenchmarkWrapped(b *testing.B) {
	const rungs = 8
	r := rand.New(rand.NewPCG(1, 4))
	graph := func(sites, degree int, weight func() float64) energy.Model {
		var edges []model.Edge
		seen := map[[2]int]bool{}
		for len(edges) < sites*degree/2 {
			if i, j := r.IntN(sites), r.IntN(sites); i < j && !seen[[2]int{i, j}] {
				seen[[2]int{i, j}] = true
				edges = append(edges, model.Edge{I: i, J: j, W: weight()})
			}
		}
		return exact.Must(model.NewIsing(exact.Must(model.NewGraph(sites, edges)), 0.2, 0.1))
	}
	one := func() float64 { return 1 }
	sign := func() float64 { return float64(2*r.IntN(2) - 1) }
	lattice := func(side int) energy.Model {
		return exact.Must(model.NewIsing(model.Lattice{side, side}, 0.4, 0))
	}
	for _, c := range []struct {
		name   string
		m      energy.Model
		method sampler.Method
		chains int
	}{
		{"lattice=5", lattice(5), mcmc.Gibbs{}, 64},
		{"lattice=64", lattice(64), mcmc.Gibbs{}, 4},
		{"lattice=64", lattice(64), mcmc.Gibbs{}, 64},
		{"lattice=64", lattice(64), mcmc.Metropolis{Scan: mcmc.Chromatic}, 4},
		{"lattice=64", lattice(64), mcmc.DMALA{StepSize: 0.3}, 4},
		{"graph=2000", graph(2000, 4, one), mcmc.Gibbs{}, 4},
		{"graph=2000", graph(2000, 4, one), mcmc.Gibbs{}, 64},
		{"glass=2000", graph(2000, 4, sign), mcmc.Gibbs{}, 64},
		{"gaussian=2000", graph(2000, 4, r.NormFloat64), mcmc.Gibbs{}, 4},
		{"gaussian=2000", graph(2000, 4, r.NormFloat64), mcmc.Gibbs{}, 64},
		{"ring=2000", exact.Must(model.NewIsing(model.Lattice{2000}, 0.4, 0.1)), mcmc.Gibbs{}, 4},
		{"ring=2000", exact.Must(model.NewIsing(model.Lattice{2000}, 0.4, 0.1)), mcmc.Gibbs{}, 64},
		{"potts=64", exact.Must(model.NewPotts(model.Lattice{64, 64}, 3, 0.5, nil)), mcmc.Gibbs{}, 4},
	} {
		b.Run(fmt.Sprintf("%s/%T/chains=%d", c.name, c.method, c.chains), func(b *testing.B) {
			sites, _ := c.m.Shape()
			ctx := context.Background()
			run := func(method sampler.Method, rungs int) func(n int) time.Duration {
				ch := exact.Must(sampler.NewChains(ctx, c.m, method, sampler.Config{Chains: c.chains, Workers: 1, Warmup: -1, Observe: func(int, int, []int32, *sampler.Info) {}}))
				return func(n int) time.Duration {
					began := exact.CPU()
					require.NoError(b, ch.Run(ctx, n))
					return (exact.CPU() - began) / time.Duration(n*rungs)
				}
			}
			plain, wrapped := run(c.method, 1), run(mcmc.Tempering{Base: c.method, Rungs: rungs}, rungs)
			wrapped(1)
			n := 1
			for wrapped(n)*time.Duration(n*rungs) < 30*time.Millisecond {
				n *= 2
			}
			var least [2]time.Duration
			for b.Loop() {
				for turn := range 14 {
					took := [2]func(int) time.Duration{plain, wrapped}[turn%2](n * [2]int{rungs, 1}[turn%2])
					if at := &least[turn%2]; *at == 0 || took < *at {
						*at = took
					}
				}
			}
			each := float64(c.chains * sites)
			b.ReportMetric(float64(least[0])/each, "plain-ns/site")
			b.ReportMetric(float64(least[1])/each, "wrapped-ns/site")
			b.ReportMetric(float64(least[1])/float64(least[0]), "x-plain")
		})
	}
}
