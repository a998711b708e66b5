package mcmc_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/auto"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/cluster"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/momentum"
)

// BenchmarkCancel reports how long Run works on after its context has ended, at a
// million sites: the mean and the longest of the runs, in milliseconds of processors.
func BenchmarkCancel(b *testing.B) {
	const side = 1000
	ising := exact.Must(model.NewIsing(model.Lattice{side, side}, 0.3, 0.1))
	potts := exact.Must(model.NewPotts(model.Lattice{side, side}, 3, 0.4, nil))
	w := make([]float32, 16*side*side)
	for i := range w {
		w[i] = float32(i%7-3) * 0.001
	}
	rbm := exact.Must(model.NewRBM(w, make([]float32, 16), make([]float32, side*side)))
	even := exact.Must(constraint.NewResidue([]int{0, 1}, 2, 0)) // paths never meet again
	no11 := exact.Must(constraint.Avoids([]int32{1, 1}))
	for _, c := range []struct {
		m      energy.Model
		method sampler.Method
	}{
		{ising, mcmc.Gibbs{}}, {ising, mcmc.Gibbs{Scan: mcmc.Random}}, {ising, mcmc.Gibbs{Scan: mcmc.Chromatic}}, {potts, mcmc.Gibbs{}},
		{ising, mcmc.Metropolis{}}, {ising, mcmc.HammingBall{}}, {ising, mcmc.PairGibbs{}}, {ising, mcmc.PairGibbs{Within: no11}}, {ising, mcmc.PairGibbs{Within: even}}, {ising, mcmc.Swap{}}, {ising, mcmc.Swap{Within: no11}},
		{ising, mcmc.BlockGibbs{Blocks: [][]int{{0, 1, 2}, {3, 4}}}}, {rbm, mcmc.BlockGibbs{}},
		{ising, mcmc.DULA{}}, {ising, mcmc.DMALA{}}, {potts, mcmc.DMALA{}}, {ising, mcmc.DMALA{Within: no11}}, {ising, mcmc.Cyclical{}}, {potts, mcmc.DLMC{}},
		{ising, mcmc.GWG{}}, {potts, mcmc.GWG{}}, {ising, mcmc.LocallyBalanced{Exact: true}}, {potts, mcmc.Paths{}}, {ising, mcmc.Tempering{Rungs: 3}},
		{ising, cluster.SwendsenWang{}}, {potts, cluster.SwendsenWang{}}, {ising, cluster.Wolff{}}, {potts, cluster.Wolff{}}, {ising, cluster.Houdayer{}},
		{ising, momentum.DHAMS{}}, {ising, auto.Method{}},
	} {
		b.Run(fmt.Sprintf("%T/%T", c.method, c.m), func(b *testing.B) {
			chains := exact.Must(sampler.NewChains(context.Background(), c.m, c.method, sampler.Config{Chains: 4, Warmup: 4, Workers: 1, Init: make([]int32, side*side)}))
			var sum, longest time.Duration
			n := 0
			for b.Loop() {
				ctx, cancel := context.WithCancel(context.Background())
				ended := make(chan time.Duration, 1)
				time.AfterFunc(time.Duration(20+37*(n%17))*time.Millisecond, func() { ended <- exact.CPU(); cancel() })
				if err := chains.Run(ctx, math.MaxInt); err != context.Canceled {
					b.Fatal(err)
				}
				took := exact.CPU() - <-ended
				sum, longest = sum+took, max(longest, took)
				n++
			}
			b.ReportMetric(float64(sum.Microseconds())/1e3/float64(n), "ms-mean")
			b.ReportMetric(float64(longest.Microseconds())/1e3, "ms-most")
		})
	}
}
