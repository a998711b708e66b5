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

// BenchmarkDenseGibbs sweeps a random graph of the size of G1, 800 sites and 19 176
// edges, whose neighbours repel: by counts, and, as a random scan, by differences; many chains
// by rows.
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
		m := exact.Must(model.NewIsing(g, -beta, 0))
		for _, c := range []struct {
			name   string
			method sampler.Method
			blocks []int // numbers of chains
		}{
			{"systematic", Gibbs{Scan: Systematic}, []int{1, 64}}, {"random", Gibbs{Scan: Random}, []int{1}},
			{"automatic", Gibbs{}, []int{2, 4, 8, 16, 32, 64}}, {"metropolis", Metropolis{Scan: Systematic}, []int{1}},
		} {
			for _, chains := range c.blocks {
				b.Run(fmt.Sprintf("beta=%v/%v/chains=%d", beta, c.name, chains), func(b *testing.B) {
					benchmarkBlocks(b, m, c.method, chains)
				})
			}
		}
	}
}

// benchmarkBlocks steps chains, in blocks that take turns and do not show their states.
func benchmarkBlocks(b *testing.B, m energy.Model, method sampler.Method, chains int) {
	sites, _ := m.Shape()
	type block struct {
		k    sampler.Kernel
		x    []int32
		info []sampler.Info
		r    []sampler.Stream
	}
	var blocks []block
	r := rand.New(rand.NewPCG(2, 2))
	for first := 0; first < chains; first += sampler.BlockSize {
		n := min(sampler.BlockSize, chains-first)
		w := block{must(method.Kernel(context.Background(), m, n)), make([]int32, n*sites), make([]sampler.Info, n), make([]sampler.Stream, n)}
		for s := range w.r {
			w.r[s].Seed(1, uint64(first+s))
		}
		for i := range w.x {
			w.x[i] = int32(r.IntN(2))
		}
		if err := w.k.Reset(sampler.Control{}, w.x); err != nil {
			b.Fatal(err)
		}
		blocks = append(blocks, w)
	}
	step := func() (moved int) {
		for _, w := range blocks {
			w.k.Step(sampler.Control{Unread: true}, w.info, w.x, w.r)
			for s := range w.info {
				moved += w.info[s].Moved
			}
		}
		return moved
	}
	for range 200 {
		step()
	}
	moved := 0
	for b.Loop() {
		moved += step()
	}
	updates := float64(b.N * chains * sites)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/updates, "ns/update")
	b.ReportMetric(float64(moved)/updates, "moved/update")
}
