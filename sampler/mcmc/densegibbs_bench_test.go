package mcmc

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// BenchmarkDenseGibbs sweeps a random graph of the size of G1, 800 sites and 19 176
// edges, whose neighbours repel: by counts, and, as a random scan, by differences.
func BenchmarkDenseGibbs(b *testing.B) {
	const sites, n = 800, 19176
	r := rand.New(rand.NewPCG(1, 1))
	seen, edges := map[[2]int]bool{}, []model.Edge{}
	for len(edges) < n {
		i, j := r.IntN(sites), r.IntN(sites)
		if i < j && !seen[[2]int{i, j}] {
			seen[[2]int{i, j}] = true
			edges = append(edges, model.Edge{I: i, J: j, W: 1})
		}
	}
	g := exact.Must(model.NewGraph(sites, edges))
	for _, beta := range []float64{0.1, 0.4, 1} {
		for name, method := range map[string]sampler.Method{
			"systematic": Gibbs{Scan: Systematic}, "random": Gibbs{Scan: Random}, "metropolis": Metropolis{Scan: Systematic},
		} {
			b.Run(fmt.Sprintf("beta=%v/%v", beta, name), func(b *testing.B) {
				m := exact.Must(model.NewIsing(g, -beta, 0))
				k := must(method.Kernel(context.Background(), m, 1))
				x, info, streams := make([]int32, sites), make([]sampler.Info, 1), []sampler.Stream{*sampler.NewStream(1, 0)}
				for i := range x {
					x[i] = int32(r.IntN(2))
				}
				if err := k.Reset(x); err != nil {
					b.Fatal(err)
				}
				for range 200 {
					k.Step(info, x, streams)
				}
				moved := 0
				for b.Loop() {
					k.Step(info, x, streams)
					moved += info[0].Moved
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*sites), "ns/update")
				b.ReportMetric(float64(moved)/float64(b.N*sites), "moved/update")
			})
		}
	}
}
