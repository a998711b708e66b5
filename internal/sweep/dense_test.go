package sweep

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// denseMatrix is the product of the conditionals that the kernel looks up.
func denseMatrix(k *denseGibbs, all [][]int32) *exact.Matrix {
	var p *exact.Matrix
	for _, i := range k.order {
		one := exact.NewMatrix(len(all), func(x int, dst []float64) {
			k.pack(0, all[x])
			q := float64(k.odds[k.look[i]]) * 0x1p-64
			y := append([]int32(nil), all[x]...)
			y[i] = 1
			dst[exact.Index(y, 2)] += q
			y[i] = 0
			dst[exact.Index(y, 2)] += 1 - q
		})
		if p == nil {
			p = one
		} else {
			p = p.Mul(one)
		}
	}
	return p
}

// A sweep leaves π invariant to rounding, and its matrix is what the kernel does.
func TestDenseGibbsIsExact(t *testing.T) {
	exact.SkipUnderRace(t)
	small := map[string]energy.Model{
		"ferro":  sweeptest.Complete(t, 6, 0.3, 0.2),
		"repel":  sweeptest.Complete(t, 6, -0.8, -0.1),
		"potts":  exact.Must(model.NewPotts(model.FreeLattice{2, 3}, 2, 0.7, []float64{0.5, -0.25})),
		"free":   sweeptest.Complete(t, 5, 0, 0.7),
		"scaled": exact.Must(energy.Scale(sweeptest.Complete(t, 5, 0.6, 0.4), 0.5)),
	}
	for name, m := range small {
		t.Run(name, func(t *testing.T) {
			const chains = sampler.BlockSize
			sites, _ := m.Shape()
			sweep := exact.Must(order("Gibbs", Systematic, m))
			sweep[0], sweep[sites-1] = sweep[sites-1], sweep[0]
			all := exact.States(sites, 2)
			pi, _ := exact.Law(m)
			p := denseMatrix(newDenseGibbs(m, 1, sweep), all)
			assert.LessOrEqual(t, p.RowError(), 1e-12)
			assert.LessOrEqual(t, p.MaxDiff(pi), 1e-12)
			exact.Transitions(t, sweeptest.ObservedKernel(t, m, newDenseGibbs(m, chains, sweep), func() {}, 320, 3), p, exact.Rate)

			twin := newDenseGibbs(m, 1, sweep) // one neighbour too many
			copy(twin.odds[1:], slices.Clone(twin.odds))
			if twin.coupling != 0 {
				assert.Greater(t, denseMatrix(twin, all).MaxDiff(pi), 1e-3)
			}
		})
	}
}

// The odds of sites of any number of neighbours are those of the model, also where
// couplings are so strong that a probability is 0 or 1.
func TestDenseGibbsConditionals(t *testing.T) {
	for _, coupling := range []float64{0.02, -0.5, 40} {
		m := sweeptest.Complete(t, 30, coupling, 0.3)
		k, ok := exact.Must(Gibbs{}.Kernel(context.Background(), m, 1)).(*denseGibbs)
		require.True(t, ok)
		r, x, d := sampler.NewStream(2, 0), make([]int32, 30), make([]float64, 2)
		for range 50 {
			for i := range x {
				x[i] = int32(r.IntN(2))
			}
			k.pack(0, x)
			for i := range x {
				m.Conditional(d, i, x)
				require.InDelta(t, 1/(1+math.Exp(d[1]-d[0])), float64(k.odds[k.look[i]])*0x1p-64, 1e-15)
			}
		}
	}
}

// Running energies stay those of the states, and resumed runs and those of other
// workers have the same bits; nothing is allocated.
func TestDenseGibbsRuns(t *testing.T) {
	withoutBits(t)
	m := sweeptest.Complete(t, 24, 0.03, 0.1)
	for _, scan := range []Scan{Automatic, Systematic, Chromatic} {
		runs.Resume(t, m, Gibbs{Scan: scan})
	}
	e := make([]float64, 1)
	c := sampler.Config{Chains: 40, Seed: 2, Workers: 1, Warmup: -1, Observe: func(_, _ int, x []int32, info *sampler.Info) {
		m.Energy(e, x)
		require.InDelta(t, e[0], info.Energy, 1e-9)
	}}
	want := runs.Hash(runs.Run(t, m, Gibbs{}, c, 50).States())
	c.Workers, c.Observe = 7, nil
	assert.Equal(t, want, runs.Hash(runs.Run(t, m, Gibbs{}, c, 50).States()))

	k := exact.Must(Gibbs{}.Kernel(context.Background(), m, 2))
	x, info, streams := make([]int32, 48), make([]sampler.Info, 2), make([]sampler.Stream, 2)
	require.NoError(t, k.Reset(sampler.Control{}, x))
	if !exact.Race {
		assert.Zero(t, testing.AllocsPerRun(20, func() { k.Step(sampler.Control{}, info, x, streams) }))
	}
	assert.ErrorIs(t, k.UnmarshalBinary(make([]byte, 40)), wire.ErrShort)
}

// A step that stops in its middle goes on to the same bits, from a checkpoint, too.
func TestDenseGibbsStops(t *testing.T) {
	was := PollWork
	PollWork = 1 << 10
	defer func() { PollWork = was }()
	m := sweeptest.Complete(t, 400, 0.002, 0)
	kernel := func() (*denseGibbs, []int32, []sampler.Info, []sampler.Stream) {
		k := exact.Must(Gibbs{}.Kernel(context.Background(), m, 2)).(*denseGibbs)
		x := make([]int32, 800)
		require.NoError(t, k.Reset(sampler.Control{}, x))
		return k, x, make([]sampler.Info, 2), []sampler.Stream{*sampler.NewStream(1, 0), *sampler.NewStream(1, 1)}
	}
	whole, x, info, r := kernel()
	whole.Step(sampler.Control{}, info, x, r)
	k, y, parts, q := kernel()
	stops := 0
	for k.Step(sampler.Control{Stop: func() bool { return true }}, parts, y, q) == 0 {
		stops++
		b, err := k.AppendBinary(nil)
		require.NoError(t, err)
		k, _, _, _ = kernel()
		require.NoError(t, k.UnmarshalBinary(b))
	}
	assert.Greater(t, stops, 1)
	assert.Equal(t, x, y)
	assert.Equal(t, info, parts)
}

// Random scans, more levels and unequal weights go to the kernel that keeps
// differences; sparse graphs to that of sparse graphs.
func TestDenseGibbsIsUsedWhereItApplies(t *testing.T) {
	m := sweeptest.Complete(t, 30, 0.1, 0)
	for scan, want := range map[Scan]bool{Automatic: true, Systematic: true, Chromatic: true, Random: false} {
		_, fast := exact.Must(Gibbs{Scan: scan}.Kernel(context.Background(), m, 1)).(*denseGibbs)
		assert.Equal(t, want, fast, "%v", scan)
	}
	var edges []model.Edge
	for i := range 30 {
		for j := range i {
			edges = append(edges, model.Edge{I: i, J: j, W: float64(1 + i%2)})
		}
	}
	weights := exact.Must(model.NewGraph(30, edges))
	for _, other := range []energy.Model{
		exact.Must(model.NewIsing(weights, 0.1, 0)), exact.Must(m.WithFields(make([]float64, 30))),
		exact.Must(model.NewPotts(weights, 3, 0.1, nil)),
	} {
		_, fast := exact.Must(Gibbs{}.Kernel(context.Background(), other, 1)).(*gibbs)
		assert.True(t, fast)
	}
	_, sparse := exact.Must(Gibbs{}.Kernel(context.Background(), sweeptest.Complete(t, 12, 0.1, 0), 1)).(*sparseGibbs)
	assert.True(t, sparse)
}

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
		w := block{exact.Must(method.Kernel(context.Background(), m, n)), make([]int32, n*sites), make([]sampler.Info, n), make([]sampler.Stream, n)}
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
