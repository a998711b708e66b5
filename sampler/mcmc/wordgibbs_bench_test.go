package mcmc

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// BenchmarkWordGibbs is a step of a block of chains, with states shown after every step
// and without.
func BenchmarkWordGibbs(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	glass := func(edges []model.Edge) []model.Edge {
		for i := range edges {
			edges[i].W = float64(2*r.IntN(2) - 1)
		}
		return edges
	}
	var square []model.Edge
	for i := range 1600 {
		square = append(square, model.Edge{I: i, J: i/40*40 + (i+1)%40}, model.Edge{I: i, J: (i + 40) % 1600})
	}
	for name, m := range map[string]energy.Model{
		"torus=5":  exact.Must(model.NewIsing(model.Lattice{5, 5}, 0.2, 0)),
		"torus=16": exact.Must(model.NewIsing(model.Lattice{16, 16}, 0.2, 0)),
		"torus=30": exact.Must(model.NewIsing(model.Lattice{30, 30}, 0.2, 0)),
		"torus=33": exact.Must(model.NewIsing(model.Lattice{33, 33}, 0.4, 0.1)),
		"cube=10":  exact.Must(model.NewIsing(model.Lattice{10, 10, 10}, 0.2, 0)),
		"glass=40": exact.Must(model.NewIsing(exact.Must(model.NewGraph(1600, glass(square))), 0.5, 0)),
	} {
		for _, chains := range []int{1, 2, 4, 8, 32} {
			for _, shown := range []bool{true, false} {
				b.Run(fmt.Sprintf("%s/chains=%d/shown=%v", name, chains, shown), func(b *testing.B) {
					sites, _ := m.Shape()
					k := must(Gibbs{}.Kernel(context.Background(), m, chains))
					x, info, streams := make([]int32, chains*sites), make([]sampler.Info, chains), make([]sampler.Stream, chains)
					for s := range streams {
						streams[s] = *sampler.NewStream(1, uint64(s))
					}
					if err := k.Reset(sampler.Control{}, x); err != nil {
						b.Fatal(err)
					}
					ctl := sampler.Control{Unread: !shown}
					for b.Loop() {
						k.Step(ctl, info, x, streams)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*chains*sites), "ns/site")
				})
			}
		}
	}
}
