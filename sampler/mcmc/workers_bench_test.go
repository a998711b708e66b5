package mcmc_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

// BenchmarkWorkers reports how much sooner a run ends with two workers than with
// one, the least of nine runs of about .3 seconds each by turns, and the processor
// time that two take of what one does. It wants two idle cores.
func BenchmarkWorkers(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var edges []model.Edge
	for i := range 800 {
		for range 24 {
			if j := r.IntN(800); j != i {
				edges = append(edges, model.Edge{I: min(i, j), J: max(i, j), W: float64(2*r.IntN(2) - 1)})
			}
		}
	}
	w := make([]float32, 500*784)
	for i := range w {
		w[i] = float32(r.NormFloat64()) * 0.05
	}
	lattice := func(side int) energy.Model {
		return exact.Must(model.NewIsing(model.Lattice{side, side}, 0.44, 0))
	}
	sparse := exact.Must(model.NewIsing(exact.Must(model.NewGraph(800, edges)), 0.2, 0))
	potts := exact.Must(model.NewPotts(model.Lattice{64, 64}, 3, 0.5, nil))
	rbm := exact.Must(model.NewRBM(w, make([]float32, 500), make([]float32, 784)))
	for _, c := range []struct {
		name   string
		m      energy.Model
		method sampler.Method
	}{
		{"lattice5", lattice(5), mcmc.Gibbs{}}, {"lattice6", lattice(6), mcmc.Gibbs{}}, {"lattice64", lattice(64), mcmc.Gibbs{}}, {"lattice256", lattice(256), mcmc.Gibbs{}},
		{"lattice50", lattice(50), mcmc.DMALA{}}, {"lattice256", lattice(256), mcmc.DMALA{}}, {"lattice50", lattice(50), mcmc.Metropolis{}}, {"lattice50", lattice(50), mcmc.GWG{}},
		{"graph800", sparse, mcmc.Gibbs{}}, {"graph800", sparse, mcmc.DMALA{}}, {"potts64", potts, mcmc.Gibbs{}}, {"potts64", potts, mcmc.DMALA{}},
		{"rbm784", rbm, mcmc.BlockGibbs{}}, {"rbm784", rbm, mcmc.DMALA{}}, {"rbm784", rbm, mcmc.Gibbs{}},
	} {
		for _, chains := range []int{4, 64} {
			if sites, _ := c.m.Shape(); chains*sites > 1<<19 {
				continue
			}
			b.Run(fmt.Sprintf("%s/%T/%d", c.name, c.method, chains), func(b *testing.B) {
				sooner(b, c.m, c.method, chains)
			})
		}
	}
}

// BenchmarkWorkersOfOne is BenchmarkWorkers for one chain of a large state.
func BenchmarkWorkersOfOne(b *testing.B) {
	const sites = 1000000
	r := rand.New(rand.NewPCG(1, 3))
	glass := func(strides ...int) energy.Model { // neighbours on both sides
		var edges []model.Edge
		for i := range sites {
			for _, by := range strides {
				j := (i + by) % sites
				edges = append(edges, model.Edge{I: min(i, j), J: max(i, j), W: float64(2*r.IntN(2) - 1)})
			}
		}
		return exact.Must(model.NewIsing(exact.Must(model.NewGraph(sites, edges)), 0.3, 0))
	}
	random := func(weight func() float64) energy.Model { // five neighbours on average, up to some twenty
		seen, edges := map[[2]int]bool{}, []model.Edge{}
		for len(edges) < 5*sites/2 {
			i, j := r.IntN(sites), r.IntN(sites)
			if i < j && !seen[[2]int{i, j}] {
				seen[[2]int{i, j}] = true
				edges = append(edges, model.Edge{I: i, J: j, W: weight()})
			}
		}
		return exact.Must(model.NewIsing(exact.Must(model.NewGraph(sites, edges)), 0.3, 0))
	}
	for name, c := range map[string]struct {
		m      energy.Model
		method sampler.Method
	}{
		"random1e6/Gibbs":    {random(r.NormFloat64), mcmc.Gibbs{}},
		"even1e6/Gibbs":      {random(func() float64 { return 1 }), mcmc.Gibbs{}},
		"potts1000/Gibbs":    {exact.Must(model.NewPotts(model.Lattice{1000, 1000}, 3, 0.9, nil)), mcmc.Gibbs{}},
		"lattice2048/Gibbs":  {exact.Must(model.NewIsing(model.Lattice{2048, 2048}, 0.44, 0)), mcmc.Gibbs{}},
		"lattice2048/DMALA":  {exact.Must(model.NewIsing(model.Lattice{2048, 2048}, 0.1, 0)), mcmc.DMALA{StepSize: 0.05}},
		"cube100/Gibbs":      {exact.Must(model.NewIsing(model.Lattice{100, 100, 100}, 0.22, 0)), mcmc.Gibbs{}},
		"triangles1e6/Gibbs": {glass(1, 1000, 1001), mcmc.Gibbs{}},
		"far1e6/Gibbs":       {glass(1, 1234, 271828), mcmc.Gibbs{}},
	} {
		b.Run(name, func(b *testing.B) { sooner(b, c.m, c.method, 1) })
	}
}

// sooner reports what BenchmarkWorkers says.
func sooner(b *testing.B, m energy.Model, method sampler.Method, chains int) {
	var wall, cpu [3]time.Duration
	draws := 1
	var samplers [3]*sampler.Chains
	for workers := range samplers[1:] {
		s := exact.Must(sampler.NewChains(context.Background(), m, method, sampler.Config{Chains: chains, Workers: 1 + workers}))
		require.NoError(b, s.Run(context.Background(), 1))
		samplers[1+workers] = s
	}
	run := func(workers int) (took, busy time.Duration) {
		s := samplers[workers]
		began, used := time.Now(), exact.CPU()
		require.NoError(b, s.Run(context.Background(), draws))
		return time.Since(began), exact.CPU() - used
	}
	for took, _ := run(1); took < 200*time.Millisecond; took, _ = run(1) {
		draws *= 2
	}
	for b.Loop() {
		for k := range 18 {
			workers := 1 + k%2
			took, busy := run(workers)
			if wall[workers] == 0 || took < wall[workers] {
				wall[workers], cpu[workers] = took, busy
			}
		}
	}
	b.ReportMetric(float64(wall[1])/float64(wall[2]), "x-sooner")
	b.ReportMetric(float64(cpu[2])/float64(cpu[1]), "x-processor")
}

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
