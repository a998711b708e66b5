package mcmc

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/generator"
)

// denseGraph is a random graph of the density of G1 whose neighbours repel.
func denseGraph(sites int, beta float64) energy.Model {
	r := rand.New(rand.NewPCG(1, 1))
	seen, edges := map[[2]int]bool{}, []model.Edge{}
	for len(edges) < 24*sites {
		i, j := r.IntN(sites), r.IntN(sites)
		if i < j && !seen[[2]int{i, j}] {
			seen[[2]int{i, j}] = true
			edges = append(edges, model.Edge{I: i, J: j, W: 1})
		}
	}
	return exact.Must(model.NewIsing(exact.Must(model.NewGraph(sites, edges)), -beta, 0))
}

// Steps that nobody reads go to the bits of those that an observer reads one by one: states,
// what the last step reports, statistics and checkpoints, by few and many workers, in parts
// of a run, hot and cold, and with blocks that are not alike.
func TestRowLeapIsSteps(t *testing.T) {
	ctx := context.Background()
	models := rowModels(t)
	models["hot"], models["cool"], models["cold"] = denseGraph(200, 0.1), denseGraph(200, 1), denseGraph(200, 3)
	leaps := 0
	for name, m := range models {
		for _, chains := range []int{64, 75, 96, 136} {
			for _, g := range []generator.Kind{generator.Philox4x32, generator.ARS4x32} {
				cfg := sampler.Config{Chains: chains, Seed: 5, Warmup: 3, Workers: 1, Generator: g}
				method := Gibbs{Scan: Systematic} // by rows also where there are other kernels
				stepped := cfg
				stepped.Observe = func(int, int, []int32, *sampler.Info) {}
				one := exact.Must(sampler.NewChains(context.Background(), m, method, stepped))
				require.NoError(t, one.Run(ctx, 5))
				require.NoError(t, one.Run(ctx, 70))
				for _, workers := range []int{1, 2} {
					leaping := cfg
					leaping.Workers = workers
					c := exact.Must(sampler.NewChains(context.Background(), m, method, leaping))
					require.NoError(t, c.Run(ctx, 5))
					require.NoError(t, c.Run(ctx, 70))
					require.Equal(t, one.States(), c.States(), "%s, %d chains, %d workers", name, chains, workers)
					require.Equal(t, one.Info(), c.Info(), "%s, %d chains", name, chains)
					require.Equal(t, one.Stats(), c.Stats(), "%s, %d chains", name, chains)
					require.Equal(t, saved(t, one), saved(t, c), "%s, %d chains", name, chains)
				}
				leaps++
			}
		}
	}
	assert.Positive(t, leaps)
}

// Leaps allocate nothing, end once stop is true and where few sites change, and are
// refused where they do not pay or a step is under way.
func TestRowLeapAlone(t *testing.T) {
	if !simd.PairOfRows() {
		t.Skip("blocks of rows are not redrawn side by side here")
	}
	pair := func(beta float64) (kernels []sampler.Kernel, x [][]int32, r [][]sampler.Stream) {
		for b := range 2 {
			k := rowKernel(t, denseGraph(200, beta), 32, nil)
			x, r, kernels = append(x, make([]int32, 200*32)), append(r, make([]sampler.Stream, 32)), append(kernels, k)
			for s := range r[b] {
				r[b][s] = *sampler.NewStream(1, uint64(32*b+s))
			}
			require.NoError(t, k.Reset(sampler.Control{}, x[b]))
		}
		return kernels, x, r
	}
	kernels, x, r := pair(0.1)
	lead := kernels[0].(*rowGibbs)
	info := [2][]sampler.Info{make([]sampler.Info, 32), make([]sampler.Info, 32)}
	company := make([]sampler.Block, 1)
	leap := func(stop func() bool, n int) int {
		company[0] = sampler.Block{Kernel: kernels[1], Info: info[1], X: x[1], R: r[1]}
		return lead.Step(sampler.Control{Steps: n, Stop: stop, Unread: true, Company: company}, info[0], x[0], r[0])
	}
	leapWith := func(other sampler.Kernel, n int) int {
		kernels[1] = other
		return leap(nil, n)
	}
	assert.Equal(t, 2, lead.Company(5))
	assert.Zero(t, lead.Company(1))
	require.Equal(t, 7, leap(nil, 7))
	if !exact.Race {
		assert.Zero(t, testing.AllocsPerRun(20, func() { leap(nil, 7) }))
	}
	assert.Zero(t, lead.leap(sampler.Control{Steps: 7, Unread: true}, info[0], x[0], r[0]))
	old := pollWork
	pollWork = 1
	assert.Equal(t, 1, leap(func() bool { return true }, 9))
	pollWork = old
	kernels[1].Step(sampler.Control{}, make([]sampler.Info, 32), x[1], r[1])
	assert.Equal(t, 7, leap(nil, 7))

	other := rowKernel(t, denseGraph(200, 0.1), 32, exact.Must(order("Gibbs", systematic, denseGraph(200, 0.1))))
	require.NoError(t, other.Reset(sampler.Control{}, x[1]))
	assert.Zero(t, leapWith(other, 7), "sites in another order")
	other = rowKernel(t, denseGraph(200, 0.2), 32, nil)
	require.NoError(t, other.Reset(sampler.Control{}, x[1]))
	assert.Zero(t, leapWith(other, 7), "other conditionals")

	kernels, x, r = pair(5)
	lead = kernels[0].(*rowGibbs)
	steps := leap(nil, 10000)
	assert.Less(t, steps, 2000, "hardly any site changes")
	for b, k := range kernels {
		k.(*rowGibbs).Show(x[b])
		k.Step(sampler.Control{}, make([]sampler.Info, 32), x[b], r[b])
	}
	assert.Zero(t, leap(nil, 10), "sums that are kept do better")
}

// BenchmarkRowLeap is a step of two blocks of chains of a graph of the size of G1 that
// nobody reads, by Run.
func BenchmarkRowLeap(b *testing.B) {
	for _, beta := range []float64{0.1, 0.4, 1, 1.5, 2, 5} {
		m := denseGraph(800, beta)
		for _, g := range []generator.Kind{generator.Philox4x32, generator.ARS4x32} {
			b.Run(fmt.Sprintf("beta=%v/%v/chains=64", beta, g), func(b *testing.B) {
				const chains = 64
				c := exact.Must(sampler.NewChains(context.Background(), m, Gibbs{}, sampler.Config{Chains: chains, Workers: 1, Generator: g}))
				ctx := context.Background()
				require.NoError(b, c.Run(ctx, 100))
				b.ResetTimer()
				require.NoError(b, c.Run(ctx, b.N))
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*chains*800), "ns/update")
			})
		}
	}
}
