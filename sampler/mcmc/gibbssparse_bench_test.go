package mcmc

import (
	"context"
	"fmt"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// BenchmarkSparseGibbs compares Gibbs on sparse graphs with the kernel that keeps
// differences.
func BenchmarkSparseGibbs(b *testing.B) {
	models := map[string]energy.Model{
		"ising/torus=32": exact.Must(model.NewIsing(model.Lattice{32, 32}, 0.4, 0)),
		"ising/torus=33": exact.Must(model.NewIsing(model.Lattice{33, 33}, 0.4, 0)),
		"ising/cube=10":  exact.Must(model.NewIsing(model.Lattice{10, 10, 10}, 0.2, 0)),
		"ising/degree=8": exact.Must(model.NewIsing(model.Lattice{6, 6, 6, 6}, 0.1, 0)),
		"ising/field":    exact.Must(model.NewIsing(model.Lattice{33, 33}, 0.4, 0.1)),
	}
	for _, n := range []int{16, 24} {
		var edges []model.Edge
		for i := range 400 {
			for d := range n / 2 {
				edges = append(edges, model.Edge{I: i, J: (i + 7*d + 1) % 400, W: 1})
			}
		}
		models[fmt.Sprintf("ising/degree=%d", n)] = exact.Must(model.NewIsing(exact.Must(model.NewGraph(400, edges)), 0.05, 0))
	}
	for _, q := range []int{3, 4, 5, 8, 10, 20} {
		models[fmt.Sprintf("potts/q=%d", q)] = exact.Must(model.NewPotts(model.Lattice{32, 32}, q, 1, nil))
	}
	for name, m := range models {
		for _, scan := range []Scan{Automatic, Systematic} {
			b.Run(fmt.Sprintf("%s/%v", name, scan), func(b *testing.B) {
				const chains = 4
				sites, levels := m.Shape()
				k := must(Gibbs{Scan: scan}.Kernel(context.Background(), m, chains))
				x, info, streams := make([]int32, chains*sites), make([]sampler.Info, chains), make([]sampler.Stream, chains)
				for s := range streams {
					streams[s] = *sampler.NewStream(1, uint64(s))
				}
				for i := range x {
					x[i] = int32(streams[0].IntN(levels))
				}
				if err := k.Reset(sampler.Control{}, x); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					k.Step(sampler.Control{}, info, x, streams)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(chains*sites), "ns/site")
			})
		}
	}
}
