package mcmc

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// BenchmarkAffine compares a step of every engine on a model with that on the model in a
// wrapper: Scale, a Clamp of a tenth of the sites, a Lagrangian of a count at a multiplier
// that is not 0. States are read after every step. The figures to compare are ns/site, of
// all sites, fixed ones included.
func BenchmarkAffine(b *testing.B) {
	ising := func(n int) energy.Model { return exact.Must(model.NewIsing(model.Lattice{n, n}, 0.3, 0.1)) }
	r := rand.New(rand.NewPCG(1, 1))
	var edges, complete []model.Edge
	near := map[[2]int]bool{}
	for len(edges) < 4000 { // four neighbours a site on average, seven at most in nearly all
		i, j := r.IntN(2000), r.IntN(2000)
		if i, j = min(i, j), max(i, j); i != j && !near[[2]int{i, j}] {
			near[[2]int{i, j}] = true
			edges = append(edges, model.Edge{I: i, J: j, W: r.NormFloat64()})
		}
	}
	for i := range 100 {
		for j := range i {
			complete = append(complete, model.Edge{I: i, J: j, W: 1})
		}
	}
	sparse := exact.Must(model.NewGraph(2000, edges))
	for i := range edges {
		edges[i].W = 1
	}
	even := exact.Must(model.NewGraph(2000, edges))
	rbm := make([]float32, 64*256)
	for i := range rbm {
		rbm[i] = float32(0.1 * r.NormFloat64())
	}
	for _, c := range []struct {
		name   string
		m      energy.Model
		method sampler.Method
		chains int
	}{
		{"torus=5x5/gibbs", ising(5), Gibbs{}, 64},
		{"torus=64x64/gibbs", ising(64), Gibbs{}, 64},
		{"torus=64x64/metropolis", ising(64), Metropolis{Scan: Chromatic}, 64},
		{"torus=64x64/dmala", ising(64), DMALA{StepSize: 0.2}, 64},
		{"sparse=2000/equal/gibbs", exact.Must(model.NewIsing(even, 0.2, 0.1)), Gibbs{}, 64},
		{"sparse=2000/glass/gibbs", exact.Must(model.NewIsing(sparse, 0.2, 0.1)), Gibbs{}, 64},
		{"complete=100/gibbs", exact.Must(model.NewIsing(exact.Must(model.NewGraph(100, complete)), 0.01, 0.1)), Gibbs{}, 64},
		{"complete=100/metropolis", exact.Must(model.NewIsing(exact.Must(model.NewGraph(100, complete)), 0.01, 0.1)), Metropolis{Scan: Systematic}, 64},
		{"potts=64x64/gibbs", exact.Must(model.NewPotts(model.Lattice{64, 64}, 3, 0.5, nil)), Gibbs{}, 64},
		{"rbm=256x64/blockgibbs", exact.Must(model.NewRBM(rbm, make([]float32, 64), make([]float32, 256))), BlockGibbs{}, 64},
		{"rbm=256x64/dmala", exact.Must(model.NewRBM(rbm, make([]float32, 64), make([]float32, 256))), DMALA{StepSize: 0.2}, 64},
	} {
		for _, w := range []struct {
			name string
			m    energy.Model
		}{
			{"plain", c.m},
			{"scale", exact.Must(energy.Scale(c.m, 0.9))},
			{"clamp", sweeptest.Pinned(c.m, func(i int) bool { return i%10 != 0 })},
			{"lagrangian", counting(c.m, 0.1)},
		} {
			if _, ok := c.method.(BlockGibbs); ok && w.name == "scale" {
				continue
			}
			b.Run(c.name+"/"+w.name, func(b *testing.B) {
				benchmarkSteps(b, w.m, c.method, c.chains)
			})
		}
	}
}

// benchmarkSteps moves blocks of chains that are read after every step.
func benchmarkSteps(b *testing.B, m energy.Model, method sampler.Method, chains int) {
	b.Helper()
	sites, _ := m.Shape()
	var kernels []sampler.Kernel
	n := min(chains, sampler.BlockSize)
	x, info, streams := make([]int32, n*sites), make([]sampler.Info, n), make([]sampler.Stream, n)
	if s, ok := energy.As[energy.Supported](m); ok {
		s.Repair(x)
	}
	for at := 0; at < chains; at += n {
		k := exact.Must(method.Kernel(context.Background(), m, n))
		if err := k.Reset(sampler.Control{}, x); err != nil {
			b.Fatal(err)
		}
		kernels = append(kernels, k)
	}
	for s := range streams {
		streams[s] = *sampler.NewStream(1, uint64(s))
	}
	states := make([][]int32, len(kernels))
	for i := range states {
		states[i] = append([]int32(nil), x...)
	}
	for b.Loop() {
		for i, k := range kernels {
			k.Step(sampler.Control{}, info, states[i], streams)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*chains*sites), "ns/site")
	b.ReportMetric(0, "ns/op")
}

// A dense Quadratic of 625 sites with couplings of standard deviation .02 · 2 and
// 256 chains on one core, warmed up: the ms of a step of all chains.
func BenchmarkDenseQuadratic(b *testing.B) {
	const n, chains = 625, 256
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name   string
		values []float32
		grain  float64
	}{{"spins", []float32{-1, 1}, 0}, {"bits", nil, 0}, {"float32", []float32{-1, 1}, 1}} {
		q := make([]float64, n*n)
		for i := range q {
			q[i] = 0.02 * r.NormFloat64()
			if c.grain > 0 {
				q[i] = float64(int(q[i]*1024)) / 1024
			}
		}
		m, err := model.NewDenseQuadratic(n, q, model.Polynomial{Values: c.values})
		if err != nil {
			b.Fatal(err)
		}
		for name, method := range map[string]sampler.Method{"dmala": DMALA{}, "gibbs": Gibbs{}} {
			b.Run("method="+name+"/values="+c.name, func(b *testing.B) {
				ch, err := sampler.NewChains(context.Background(), m, method, sampler.Config{Chains: chains, Seed: 1, Warmup: 200, Workers: 1})
				if err != nil {
					b.Fatal(err)
				}
				if err := ch.Run(context.Background(), 1); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if err := ch.Run(context.Background(), 1); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N), "ms/step")
				b.ReportMetric(ch.Stats().Moved, "moved/step")
			})
		}
	}
}
