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
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

func rowKernel(t *testing.T, m energy.Model, chains int, order []int32) *rowGibbs {
	t.Helper()
	k := newRowGibbs(m, chains, order)
	require.NotNil(t, k)
	return k
}

// rowMatrix is the product of the conditionals that the kernel looks up.
func rowMatrix(t *testing.T, m energy.Model, k *rowGibbs, all [][]int32, odds func(p uint64) uint64) (p *exact.Matrix) {
	d, y := make([]float64, 2), make([]int32, k.sites)
	order, up := []int{}, make([]map[int]float64, len(all))
	for x := range all {
		up[x] = map[int]float64{}
		order = order[:0]
		k.states.Visit(all[x], func(i, sum int, p uint64) {
			energy.Conditionals(m).Conditional(d, i, all[x])
			require.InDelta(t, 1/(1+math.Exp(d[1]-d[0])), float64(p)*0x1p-64, 1e-14)
			up[x][i] = float64(odds(p)) * 0x1p-64
			order = append(order, i)
		})
	}
	for _, i := range order {
		one := exact.NewMatrix(len(all), func(x int, dst []float64) {
			copy(y, all[x])
			y[i] = 0
			dst[exact.Index(y, 2)] += 1 - up[x][i]
			y[i] = 1
			dst[exact.Index(y, 2)] += up[x][i]
		})
		if p == nil {
			p = one
		} else {
			p = p.Mul(one)
		}
	}
	return p
}

// A sweep leaves π invariant to rounding, in any order, its matrix is what the kernel does,
// and a twin with half of the odds is found out.
func TestRowGibbsIsExact(t *testing.T) {
	exact.SkipUnderRace(t)
	for name, m := range rowModels(t) {
		t.Run(name, func(t *testing.T) {
			sites, _ := m.Shape()
			all := exact.States(sites, 2)
			pi, _ := exact.Law(m)
			turned := exact.Must(order("Gibbs", Systematic, m))
			slices.Reverse(turned)
			for n, sweep := range [][]int32{nil, turned} {
				k := rowKernel(t, m, sampler.BlockSize, sweep)
				p := rowMatrix(t, m, k, all, func(p uint64) uint64 { return p })
				assert.LessOrEqual(t, p.RowError(), 1e-12)
				assert.LessOrEqual(t, p.MaxDiff(pi), 1e-12)
				exact.Transitions(t, sweeptest.ObservedKernel(t, m, k, func() {}, 640, uint64(5+n)), p, exact.Rate)
				twin := rowMatrix(t, m, k, all, func(p uint64) uint64 { return p / 2 })
				assert.Greater(t, twin.MaxDiff(pi), 1e-4)
			}
		})
	}
}

// The odds of sites of any number of neighbours are those of the model, and a step is what
// a plain walk through the same random numbers makes of the model's own conditionals, chain
// by chain, with either generator; energies are those of the states.
func TestRowGibbsSteps(t *testing.T) {
	for name, m := range large(t) {
		for _, kind := range []sampler.Generator{sampler.Philox4x32, sampler.ARS4x32} {
			const chains = 19
			k := rowKernel(t, m, chains, nil)
			r := rand.New(rand.NewPCG(7, 7))
			x, info, streams := make([]int32, chains*k.sites), make([]sampler.Info, chains), make([]sampler.Stream, chains)
			for i := range x {
				x[i] = int32(r.IntN(2))
			}
			require.NoError(t, streams[0].SeedOf(kind, 3, 4))
			streams[0].Uint32() // groups begin behind one that has been begun
			require.NoError(t, k.Reset(sampler.Control{}, x))
			d, e := make([]float64, 2), make([]float64, chains)
			c := energy.Conditionals(m)
			order := []int{}
			k.states.Visit(x[:k.sites], func(i, sum int, p uint64) {
				c.Conditional(d, i, x[:k.sites])
				require.InDelta(t, 1/(1+math.Exp(d[1]-d[0])), float64(p)*0x1p-64, 2e-14, "%s: site %d", name, i)
				require.True(t, 0 <= sum && sum < simd.RowCounts)
				order = append(order, i)
			})
			for range 3 {
				want, from := slices.Clone(x), streams[0]
				moved := walk(k, c, want, chains, order, &from)
				k.Step(sampler.Control{}, info, x, streams)
				require.Equal(t, want, x, name)
				require.Equal(t, from, streams[0], name)
				m.Energy(e, x)
				for s := range info {
					require.Equal(t, moved[s], info[s].Moved, "%s: chain %d", name, s)
					require.InDelta(t, e[s], info[s].Energy, 1e-9*(1+math.Abs(e[s])), "%s: chain %d", name, s)
					require.Equal(t, 1.0, info[s].Accept)
				}
			}
		}
	}
}

// walk makes a step by the model's conditionals, from the random numbers that
// simd.HeatRows says.
func walk(k *rowGibbs, m energy.Conditional, x []int32, chains int, order []int, r *sampler.Stream) (moved []int) {
	d := make([]float64, 2)
	moved = make([]int, chains)
	for part := range k.states.Parts() {
		visits, _ := k.states.PartSites(part)
		first := (visits + 7) / 8
		words := make([]uint32, (first+1+visits)*simd.GroupWords)
		kind, seed, chain, group := r.Reserve(uint64(first + 1 + visits))
		if kind == sampler.ARS4x32 {
			simd.ARS(words, seed, chain, group)
		} else {
			simd.Philox(words, seed, chain, group)
		}
		last := words[(first+1)*simd.GroupWords:]
		for v, i := range order[:visits] {
			var p, u [sampler.BlockSize]uint64
			ties := []int{}
			for s := range chains {
				m.Conditional(d, i, x[s*k.sites:(s+1)*k.sites])
				p[s], u[s] = odds(d[1]-d[0]), uint64(byte(words[8*v+s/4]>>(s%4*8)))<<56
				if u[s] == p[s]>>56<<56 {
					ties = append(ties, s)
				}
			}
			for j, s := range ties {
				word := uint64(last[1])<<32 | uint64(last[0])
				if j > 0 {
					word >>= 8
				} else if second := uint64(byte(words[first*simd.GroupWords+v/4] >> (v % 4 * 8))); len(ties) == 1 && second != p[s]>>48&255 {
					u[s] |= second << 48
					break
				} else {
					word = second<<48 | word>>16
				}
				u[s] |= word
				last = last[2:]
			}
			for s := range chains {
				if at, l := s*k.sites+i, int32(0); true {
					if u[s] < p[s] {
						l = 1
					}
					moved[s] += int(x[at] ^ l)
					x[at] = l
				}
			}
		}
		order = order[visits:]
	}
	return moved
}

// Running energies stay those of the states, and resumed runs and those of other workers
// and in parts have the same bits; nothing is allocated.
func TestRowGibbsRuns(t *testing.T) {
	for name, m := range rowModels(t) {
		if _, rows := exact.Must(Gibbs{Scan: Systematic}.Kernel(context.Background(), m, sampler.BlockSize)).(*rowGibbs); !rows {
			t.Fatal(name)
		}
		g := Gibbs{Scan: Systematic}
		runs.Resume(t, m, g)
		sites, _ := m.Shape()
		e := make([]float64, 1)
		last := make([]int32, 130*sites)
		c := sampler.Config{Chains: 130, Seed: 2, Workers: 1, Warmup: -1, Observe: func(chain, draw int, x []int32, info *sampler.Info) {
			m.Energy(e, x)
			require.InDelta(t, e[0], info.Energy, 1e-9, name)
			if old := last[chain*sites : (chain+1)*sites]; draw > 0 {
				moved := 0
				for i, v := range x {
					moved += int(v ^ old[i])
				}
				require.Equal(t, moved, info.Moved, name)
			}
			copy(last[chain*sites:], x)
		}}
		want := runs.Hash(runs.Run(t, m, g, c, 50).States())
		c.Workers, c.Observe = 7, nil
		assert.Equal(t, want, runs.Hash(runs.Run(t, m, g, c, 50).States()), name)
		c.Thin = 2
		whole := runs.Run(t, m, g, c, 20).States()
		for part := range 3 {
			p := exact.Must(c.Part(part, 3))
			got := runs.Run(t, m, g, p, 20).States()
			assert.Equal(t, whole[p.First*sites:(p.First+p.Count)*sites], got, "%s: part %d", name, part)
		}

		k := rowKernel(t, m, 31, nil)
		x, info, streams := make([]int32, 31*sites), make([]sampler.Info, 31), make([]sampler.Stream, 31)
		require.NoError(t, k.Reset(sampler.Control{}, x))
		if !exact.Race {
			assert.Zero(t, testing.AllocsPerRun(20, func() { k.Step(sampler.Control{}, info, x, streams) }), name)
		}
		b, err := k.AppendBinary(nil)
		require.NoError(t, err)
		for n := range len(b) {
			require.Error(t, k.UnmarshalBinary(b[:n]))
		}
		assert.ErrorIs(t, k.UnmarshalBinary(b[:len(b)-1]), wire.ErrShort)
	}
}

// A large sweep stops between parts and goes on to the same bits, saved or not, and states
// that are not shown are right once they are.
func TestRowGibbsStops(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const chains, sites = 9, 1500
	var edges []model.Edge
	for i := range sites {
		for k := range 8 {
			edges = append(edges, model.Edge{I: i, J: (i + k*k + 1) % sites, W: float64(2*r.IntN(2) - 1)})
		}
	}
	m := exact.Must(model.NewIsing(exact.Must(model.NewGraph(sites, edges)), 0.2, 0.1))
	start := make([]int32, chains*sites)
	for i := range start {
		start[i] = r.Int32N(2)
	}
	kernel := func() (*rowGibbs, []int32, []sampler.Info, []sampler.Stream) {
		k, ok := exact.Must(Gibbs{}.Kernel(context.Background(), m, chains)).(*rowGibbs)
		require.True(t, ok)
		x := slices.Clone(start)
		require.NoError(t, k.Reset(sampler.Control{}, x))
		streams := make([]sampler.Stream, chains)
		for s := range streams {
			streams[s] = *sampler.NewStream(4, uint64(s))
		}
		return k, x, make([]sampler.Info, chains), streams
	}
	whole, x, info, streams := kernel()
	for range 3 {
		whole.Step(sampler.Control{}, info, x, streams)
	}
	old := PollWork
	PollWork = 1
	defer func() { PollWork = old }()
	for _, hidden := range []bool{false, true} {
		k, y, parts, q := kernel()
		stops := 0
		for range 3 {
			for k.Step(sampler.Control{Stop: func() bool { return true }, Unread: hidden}, parts, y, q) == 0 {
				if stops++; !hidden {
					e := make([]float64, chains)
					m.Energy(e, y)
					require.InDelta(t, e[3], k.energy(3), 1e-9)
				}
				k.Show(y)
				b, err := k.AppendBinary(nil)
				require.NoError(t, err)
				if stops%2 == 1 {
					k, _, _, _ = kernel()
					require.NoError(t, k.UnmarshalBinary(b))
				}
			}
		}
		assert.GreaterOrEqual(t, stops, 3*(whole.states.Parts()-1))
		if hidden {
			assert.NotEqual(t, x, y)
		}
		k.Show(y)
		assert.Equal(t, x, y)
		assert.Equal(t, unread(info, hidden), unread(parts, hidden))
	}

	// After a Reset to other states, those that were not shown are forgotten.
	k, y, _, q := kernel()
	k.Step(sampler.Control{Unread: true}, info, y, q)
	clear(y)
	require.NoError(t, k.Reset(sampler.Control{}, y))
	k.Show(y)
	assert.Equal(t, make([]int32, chains*sites), y)
}

// Checkpoints of the kernels that have these models in blocks of fewer chains are refused,
// and theirs of this one.
func TestRowGibbsRefusesOtherKernels(t *testing.T) {
	m := sweeptest.Complete(t, 30, 0.1, 0)
	k := rowKernel(t, m, 8, nil)
	withoutBits(t)
	other := exact.Must(Gibbs{}.Kernel(context.Background(), m, 8))
	x := make([]int32, 8*30)
	require.NoError(t, other.Reset(sampler.Control{}, x))
	b, err := other.AppendBinary(nil)
	require.NoError(t, err)
	assert.ErrorContains(t, k.UnmarshalBinary(b), "the checkpoint is of another kernel of Gibbs: format ")
	require.NoError(t, k.Reset(sampler.Control{}, x))
	b, err = k.AppendBinary(nil)
	require.NoError(t, err)
	assert.Error(t, other.UnmarshalBinary(b))
}

// Blocks of few chains, random scans, more levels, unequal weights and many fields go to
// other kernels, and so do sites of more neighbours than a table has entries.
func TestRowGibbsIsUsedWhereItApplies(t *testing.T) {
	m := sweeptest.Complete(t, 30, 0.1, 0)
	for scan, want := range map[Scan]bool{Automatic: true, Systematic: true, Chromatic: true, Random: false} {
		_, fast := exact.Must(Gibbs{Scan: scan}.Kernel(context.Background(), m, FewestRows)).(*rowGibbs)
		assert.Equal(t, want, fast, "%v", scan)
		_, fast = exact.Must(Gibbs{Scan: scan}.Kernel(context.Background(), m, FewestRows-1)).(*rowGibbs)
		assert.False(t, fast, "%v", scan)
	}
	var uneven []model.Edge
	for i := range 30 {
		for j := range i {
			uneven = append(uneven, model.Edge{I: i, J: j, W: float64(1 + i%2)})
		}
	}
	weights := exact.Must(model.NewGraph(30, uneven))
	several, many := make([]float64, 300), make([]float64, 300)
	for i := range many {
		several[i], many[i] = math.Sqrt(float64(i%200)), math.Sqrt(float64(i))
	}
	for _, c := range []struct {
		name string
		m    energy.Model
		fast bool
	}{
		{"degrees 0 … 127", large(t)["repel"], true},
		{"128 neighbours", sweeptest.Complete(t, 131, 0.01, 0), false},
		{"126 neighbours", sweeptest.Complete(t, 129, 0.01, 0), true},
		{"a glass", sweeptest.Glass(t, 20, 1, 0.3), true},
		{"no coupling", sweeptest.Complete(t, 30, 0, 0.4), false},
		{"two strengths", exact.Must(model.NewIsing(weights, 0.1, 0)), false},
		{"three levels", exact.Must(model.NewPotts(weights, 3, 0.1, nil)), false},
		{"several fields", exact.Must(sweeptest.Glass(t, 300, 0.1, 0).WithFields(several)), false}, // 299 neighbours
		{"fields that are multiples", exact.Must(sweeptest.Glass(t, 40, 0.25, 0).WithFields(slices.Repeat([]float64{0, 0.5, 1, 1.5}, 10))), true},
	} {
		_, fast := exact.Must(Gibbs{}.Kernel(context.Background(), c.m, sampler.BlockSize)).(*rowGibbs)
		assert.Equal(t, c.fast, fast, c.name)
	}
	sixteen := sweeptest.Ring(t, 300, 8, 0.1)
	for n, fields := range [][]float64{several, many} {
		k := newRowGibbs(exact.Must(sixteen.WithFields(fields)), sampler.BlockSize, nil)
		assert.Equal(t, n == 0, k != nil)
	}
}

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
func TestRowBatchIsSteps(t *testing.T) {
	exact.SkipUnderRace(t)
	ctx := context.Background()
	models := rowModels(t)
	models["hot"], models["cool"], models["cold"] = denseGraph(200, 0.1), denseGraph(200, 1), denseGraph(200, 3)
	batches := 0
	for name, m := range models {
		for _, chains := range []int{64, 75, 96, 136} {
			for _, g := range []sampler.Generator{sampler.Philox4x32, sampler.ARS4x32} {
				if exact.Race && (chains != 75 || g != sampler.Philox4x32) {
					continue
				}
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
				batches++
			}
		}
	}
	assert.Positive(t, batches)
}

// Batches allocate nothing, end once stop is true and where few sites change, and are
// refused where they do not pay or a step is under way.
func TestRowBatchAlone(t *testing.T) {
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
	batch := func(stop func() bool, n int) int {
		company[0] = sampler.Block{Kernel: kernels[1], Info: info[1], X: x[1], R: r[1]}
		return lead.Step(sampler.Control{Steps: n, Stop: stop, Unread: true, Company: company}, info[0], x[0], r[0])
	}
	batchWith := func(other sampler.Kernel, n int) int {
		kernels[1] = other
		return batch(nil, n)
	}
	assert.Equal(t, 2, lead.Company(5))
	assert.Zero(t, lead.Company(1))
	require.Equal(t, 7, batch(nil, 7))
	if !exact.Race {
		assert.Zero(t, testing.AllocsPerRun(20, func() { batch(nil, 7) }))
	}
	assert.Zero(t, lead.batch(sampler.Control{Steps: 7, Unread: true}, info[0], x[0], r[0]))
	old := PollWork
	PollWork = 1
	assert.Equal(t, 1, batch(func() bool { return true }, 9))
	PollWork = old
	kernels[1].Step(sampler.Control{}, make([]sampler.Info, 32), x[1], r[1])
	assert.Equal(t, 7, batch(nil, 7))

	other := rowKernel(t, denseGraph(200, 0.1), 32, exact.Must(order("Gibbs", Systematic, denseGraph(200, 0.1))))
	require.NoError(t, other.Reset(sampler.Control{}, x[1]))
	assert.Zero(t, batchWith(other, 7), "sites in another order")
	other = rowKernel(t, denseGraph(200, 0.2), 32, nil)
	require.NoError(t, other.Reset(sampler.Control{}, x[1]))
	assert.Zero(t, batchWith(other, 7), "other conditionals")

	kernels, x, r = pair(5)
	lead = kernels[0].(*rowGibbs)
	steps := batch(nil, 10000)
	assert.Less(t, steps, 2000, "hardly any site changes")
	for b, k := range kernels {
		k.(*rowGibbs).Show(x[b])
		k.Step(sampler.Control{}, make([]sampler.Info, 32), x[b], r[b])
	}
	assert.Zero(t, batch(nil, 10), "sums that are kept do better")
}

// BenchmarkRowBatch is a step of two blocks of chains of a graph of the size of G1 that
// nobody reads, by Run.
func BenchmarkRowBatch(b *testing.B) {
	for _, beta := range []float64{0.1, 0.4, 1, 1.5, 2, 5} {
		m := denseGraph(800, beta)
		for _, g := range []sampler.Generator{sampler.Philox4x32, sampler.ARS4x32} {
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
