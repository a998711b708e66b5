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
