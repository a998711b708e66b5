package sweep

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/internal/spins"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// wordModels are small models that wordGibbs takes: with and without a field, couplings
// of both signs, odd sides, seven neighbours, an isolated site, two sites of one row that
// are neighbours twice, scaled ones, and couplings that rounding moves.
func wordModels(t *testing.T) map[string]energy.Model {
	star := []model.Edge{{I: 0, J: 1, W: 1}, {I: 0, J: 2, W: -1}, {I: 0, J: 3, W: -1}, {I: 2, J: 3, W: 1}}
	var wheel []model.Edge
	for i := range 7 {
		wheel = append(wheel, model.Edge{I: 7, J: i, W: 1 - 2*float64(i%2)})
	}
	glass := exact.Must(model.NewIsing(exact.Must(model.NewGraph(5, star)), -0.7, 0.1))
	return map[string]energy.Model{
		"ring":   exact.Must(model.NewIsing(model.Lattice{7}, 0.5, 0.2)),
		"torus":  exact.Must(model.NewIsing(model.Lattice{3, 3}, 0.3, 0)),
		"free":   exact.Must(model.NewIsing(model.FreeLattice{2, 2, 2}, -0.3, 0.4)),
		"glass":  glass,
		"wheel":  exact.Must(model.NewIsing(exact.Must(model.NewGraph(8, wheel)), 0.1, -0.3)),
		"scaled": exact.Must(energy.Scale(glass, 0.3)),
		"fields": exact.Must(glass.WithFields([]float64{0.5, -0.5, 0.5, 0, 0})),
		"potts":  exact.Must(model.NewPotts(model.Lattice{4}, 2, 0.8, []float64{0.3, 0})),
	}
}

func wordKernel(t *testing.T, m energy.Model, chains int) *wordGibbs {
	k, ok := exact.Must(Gibbs{}.Kernel(context.Background(), m, chains)).(*wordGibbs)
	require.True(t, ok)
	return k
}

// A sweep leaves π invariant to rounding, its matrix is what the kernel does, and a twin
// with half of the odds is found out.
func TestWordGibbsIsExact(t *testing.T) {
	exact.SkipRepeated(t)
	for name, m := range wordModels(t) {
		t.Run(name, func(t *testing.T) {
			k := wordKernel(t, m, sampler.BlockSize)
			sites, _ := m.Shape()
			all := exact.States(sites, 2)
			pi, _ := exact.Law(m)
			whole, fixed := unclamped(m)
			from := newEqual(whole)
			l, ok := (&equalByKind{weight: from.weight}).arrange(from, fixed)
			require.True(t, ok)
			require.True(t, k.even.graph.Share(spins.NewGraph(l)))
			order := exact.Must(order("Gibbs", Chromatic, m))
			sweep := func(odds func(p uint64) uint64) (p *exact.Matrix) {
				d, y := make([]float64, 2), make([]int32, sites)
				up := make([][]float64, len(all))
				for x := range all {
					up[x] = make([]float64, sites)
					for i := range sites {
						n := 0 // neighbours that count
						for e := l.Start[i]; e < l.Start[i+1]; e++ {
							if against := l.Against != nil && l.Against[e]; (all[x][l.Adj[e]] == 1) != against {
								n++
							}
						}
						p := l.Odds[l.Kind[i]].At(n)
						energy.Conditionals(m).Conditional(d, i, all[x])
						require.InDelta(t, 1/(1+math.Exp(d[1]-d[0])), float64(p)*0x1p-64, 1e-14)
						up[x][i] = float64(odds(p)) * 0x1p-64
					}
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
			p := sweep(func(p uint64) uint64 { return p })
			assert.LessOrEqual(t, p.RowError(), 1e-12)
			assert.LessOrEqual(t, p.MaxDiff(pi), 1e-12)
			exact.Transitions(t, sweeptest.Observed(t, m, Gibbs{}, 640, 5), p, exact.Rate)
			assert.Greater(t, sweep(func(p uint64) uint64 { return p / 2 }).MaxDiff(pi), 1e-4)
		})
	}
}

// Running energies stay those of the states, and resumed runs and those of other
// workers and in parts have the same bits; nothing is allocated.
func TestWordGibbsRuns(t *testing.T) {
	for name, m := range wordModels(t) {
		runs.Resume(t, m, Gibbs{})
		sites, _ := m.Shape()
		e := make([]float64, 1)
		last, moved := make([]int32, 130*sites), 0
		c := sampler.Config{Chains: 130, Seed: 2, Workers: 1, Warmup: -1, Observe: func(chain, draw int, x []int32, info *sampler.Info) {
			m.Energy(e, x)
			require.InDelta(t, e[0], info.Energy, 1e-9, name)
			if old := last[chain*sites : (chain+1)*sites]; draw > 0 {
				moved = 0
				for i, v := range x {
					moved += int(v ^ old[i])
				}
				require.Equal(t, moved, info.Moved, name)
			}
			copy(last[chain*sites:], x)
		}}
		want := runs.Hash(runs.Run(t, m, Gibbs{}, c, 50).States())
		c.Workers, c.Observe = 7, nil
		assert.Equal(t, want, runs.Hash(runs.Run(t, m, Gibbs{}, c, 50).States()), name)
		c.Thin = 2
		whole := runs.Run(t, m, Gibbs{}, c, 20).States()
		for part := range 3 {
			p := exact.Must(c.Part(part, 3))
			got := runs.Run(t, m, Gibbs{}, p, 20).States()
			assert.Equal(t, whole[p.First*sites:(p.First+p.Count)*sites], got, "%s: part %d", name, part)
		}

		k := wordKernel(t, m, 31)
		x, info, streams := make([]int32, 31*sites), make([]sampler.Info, 31), make([]sampler.Stream, 31)
		require.NoError(t, k.Reset(sampler.Control{}, x))
		if !exact.Race {
			assert.Zero(t, testing.AllocsPerRun(20, func() { k.Step(sampler.Control{}, info, x, streams) }), name)
		}
		b, err := k.AppendBinary(nil)
		require.NoError(t, err)
		assert.ErrorIs(t, k.UnmarshalBinary(b[:len(b)-1]), wire.ErrShort)
	}
}

// A large sweep stops between parts and goes on to the same bits, saved or not, and
// states that are not shown are right once they are.
func TestWordGibbsStops(t *testing.T) {
	m := exact.Must(model.NewIsing(model.Lattice{61, 67}, 0.4, 0.1))
	const chains, sites = 9, 61 * 67
	start := make([]int32, chains*sites)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range start {
		start[i] = r.Int32N(2)
	}
	kernel := func() (*wordGibbs, []int32, []sampler.Info, []sampler.Stream) {
		k, x := wordKernel(t, m, chains), slices.Clone(start)
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
				k, _, _, _ = kernel()
				require.NoError(t, k.UnmarshalBinary(b))
			}
		}
		assert.GreaterOrEqual(t, stops, 9)
		if hidden {
			assert.NotEqual(t, x, y)
		}
		k.Show(y)
		assert.Equal(t, x, y)
		assert.Equal(t, unread(info, hidden), unread(parts, hidden))
	}
}

// unread returns info without energies, where those are hidden.
func unread(info []sampler.Info, hidden bool) []sampler.Info {
	info = slices.Clone(info)
	for s := range info {
		if hidden {
			info[s].Energy = 0
		}
	}
	return info
}

// A checkpoint of the kernel that had these models before is as long, and refused.
func TestWordGibbsRefusesOtherKernels(t *testing.T) {
	m := wordModels(t)["ring"]
	k := wordKernel(t, m, 8)
	withoutBits(t)
	other := exact.Must(Gibbs{}.Kernel(context.Background(), m, 8))
	x := make([]int32, 8*7)
	require.NoError(t, other.Reset(sampler.Control{}, x))
	b, err := other.AppendBinary(nil)
	require.NoError(t, err)
	assert.ErrorContains(t, k.UnmarshalBinary(b), "the checkpoint is of another kernel of Gibbs: format ")
	require.NoError(t, k.Reset(sampler.Control{}, x))
	b, err = k.AppendBinary(nil)
	require.NoError(t, err)
	assert.Error(t, other.UnmarshalBinary(b))
}

// Models that the kernel is not for, and blocks of few chains, go to others.
func TestWordGibbsIsUsedWhereItApplies(t *testing.T) {
	glass := func(weights ...float64) *model.Ising {
		var edges []model.Edge
		for i, w := range weights {
			edges = append(edges, model.Edge{I: i, J: i + 1, W: w})
		}
		return exact.Must(model.NewIsing(exact.Must(model.NewGraph(len(weights)+1, edges)), 1, 0))
	}
	fields := make([]float64, 40)
	for i := range fields {
		fields[i] = float64(i)
	}
	many := slices.Repeat([]float64{1, -1, 1}, 13)
	for _, c := range []struct {
		name string
		m    energy.Model
		fast bool
	}{
		{"one strength", glass(1, -1, 1), true},
		{"two strengths", glass(1, -2, 1), false},
		{"a few fields", exact.Must(glass(many...).WithFields(slices.Repeat([]float64{0, 1}, 20))), true},
		{"many fields", exact.Must(glass(many...).WithFields(fields)), false},
		{"torus", exact.Must(model.NewIsing(model.Lattice{64, 64}, 1, 0)), false},
		{"small torus", exact.Must(model.NewIsing(model.Lattice{30, 34}, 1, 0)), true},
		{"odd torus", exact.Must(model.NewIsing(model.Lattice{6, 7}, 1, 0)), true},
		{"eight neighbours", exact.Must(model.NewIsing(model.Lattice{3, 3, 3, 3}, 1, 0)), false},
		{"three levels", exact.Must(model.NewPotts(model.Lattice{7}, 3, 1, nil)), false},
		{"small", glass(1, 1), true},
		{"rounded", exact.Must(energy.Scale(glass(many...), 0.1)), true},
	} {
		for _, scan := range []Scan{Automatic, Chromatic, Systematic} {
			k := exact.Must(Gibbs{Scan: scan}.Kernel(context.Background(), c.m, sampler.BlockSize))
			_, fast := k.(*wordGibbs)
			assert.Equal(t, c.fast && scan != Systematic, fast, "%s, %v", c.name, scan)
		}
	}
}

// The numbers of ones in the last states of many chains have the law that all states of
// the model give, and those of neighbouring chains are independent.
func TestWordGibbsLaw(t *testing.T) {
	const sites, chains = 20, 6400
	m := exact.Must(model.NewIsing(model.Lattice{4, 5}, 0.15, 0.1))
	p, _ := exact.Law(m)
	law := make([]float64, sites+1)
	for code, v := range p {
		law[bits.OnesCount(uint(code))] += v
	}
	states := runs.Run(t, m, Gibbs{}, sampler.Config{Chains: chains, Seed: 3, Warmup: -1}, 40).States()
	counts, pairs, joint := make([]int, sites+1), make([]int, 9), make([]float64, 9)
	third := func(ones int) int { return min(max(ones-9, 0), 2) }
	var part [3]float64
	for ones, v := range law {
		part[third(ones)] += v
	}
	for a, v := range part {
		for b, w := range part {
			joint[3*a+b] = v * w
		}
	}
	before := 0
	for s := range chains {
		ones := 0
		for _, v := range states[s*sites : (s+1)*sites] {
			ones += int(v)
		}
		counts[ones]++
		if s%2 == 1 {
			pairs[3*third(before)+third(ones)]++
		}
		before = ones
	}
	exact.Counts(t, counts, law, exact.Rate)
	exact.Counts(t, pairs, joint, exact.Rate)
}

// One chain of a large model is drawn as bits, one of a small model is not.
func TestWordGibbsOfOneChain(t *testing.T) {
	_, fast := exact.Must(Gibbs{}.Kernel(context.Background(), exact.Must(model.NewIsing(model.Lattice{31, 31, 31}, 1, 0)), 1)).(*wordGibbs)
	assert.True(t, fast)
	_, fast = exact.Must(Gibbs{}.Kernel(context.Background(), exact.Must(model.NewIsing(model.Lattice{7}, 1, 0)), 1)).(*wordGibbs)
	assert.False(t, fast)
}

// Any number of workers gives the same bits, also where colours have several kinds and
// the last part is not full, and allocates nothing.
func TestWordGibbsWorkers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	const side = 97
	var edges []model.Edge
	for i := range side * side {
		edges = append(edges, model.Edge{I: i, J: i/side*side + (i+1)%side, W: float64(1 - 2*r.IntN(2))})
		if r.IntN(3) > 0 {
			edges = append(edges, model.Edge{I: i, J: (i + side) % (side * side), W: float64(1 - 2*r.IntN(2))})
		}
	}
	m := exact.Must(model.NewIsing(exact.Must(model.NewGraph(side*side, edges)), 0.6, 0.1))
	for _, chains := range []int{1, 3} {
		var want []int32
		var observed []sampler.Info
		for _, workers := range []int{1, 2, 7, 1000} {
			k := wordKernel(t, m, chains)
			ctl := sampler.Control{Workers: workers}
			x, info, streams := make([]int32, chains*side*side), make([]sampler.Info, chains), make([]sampler.Stream, chains)
			require.NoError(t, k.Reset(ctl, x))
			for range 4 {
				k.Step(ctl, info, x, streams)
			}
			if want == nil {
				want, observed = slices.Clone(x), slices.Clone(info)
			}
			require.Equal(t, observed, info, "%d workers", workers)
			require.Equal(t, want, x, "%d workers", workers)
			if !exact.Race {
				assert.Zero(t, testing.AllocsPerRun(20, func() { k.Step(ctl, info, x, streams) }))
			}
		}
		e := make([]float64, chains)
		m.Energy(e, want)
		assert.InDelta(t, e[0], observed[0].Energy, 1e-8)
	}
}

// Saturation needs no more colours than the graph's parity does, and neighbours differ.
func TestSaturated(t *testing.T) {
	for _, c := range []struct {
		shape   model.Lattice
		colours int
	}{{model.Lattice{5, 5}, 3}, {model.Lattice{6, 6}, 2}, {model.Lattice{7}, 3}, {model.Lattice{4, 4, 4}, 2}} {
		start, adj := exact.Must(model.NewIsing(c.shape, 1, 0)).Graph()
		colour, colours := saturated(start, adj)
		assert.Equal(t, c.colours, colours, c.shape)
		for i, a := range colour {
			for _, j := range adj[start[i]:start[i+1]] {
				assert.NotEqual(t, a, colour[j])
			}
		}
	}
	_, colours := saturated([]int32{0, 0, 0}, nil)
	assert.Equal(t, 1, colours)
}

// saved is a checkpoint of chains.
func saved(t *testing.T, c *sampler.Chains) []byte {
	var b bytes.Buffer
	require.NoError(t, c.Save(&b))
	return b.Bytes()
}

// Steps that nobody reads go to the bits of those that an observer reads one by one: states,
// what the last step reports, statistics and checkpoints, with blocks in turn and side by
// side, few and many workers, parts of a run, and observers from time to time.
func TestWordBatchIsSteps(t *testing.T) {
	exact.SkipUnderRace(t)
	ctx := context.Background()
	for name, m := range wordModels(t) {
		for _, chains := range []int{1, 5, 64, 300, 512, 1100} {
			for _, g := range []sampler.Generator{sampler.Philox4x32, sampler.ARS4x32} {
				if testing.Short() && (g != sampler.Philox4x32 || chains > 512) {
					continue
				}
				cfg := sampler.Config{Chains: chains, Seed: 5, Warmup: 3, Workers: 1, Generator: g}
				stepped := cfg
				stepped.Observe = func(int, int, []int32, *sampler.Info) {}
				one := exact.Must(sampler.NewChains(context.Background(), m, Gibbs{}, stepped))
				require.NoError(t, one.Run(ctx, 5))
				require.NoError(t, one.Run(ctx, 70))
				for _, workers := range []int{1, 2, 5} {
					leaping := cfg
					leaping.Workers = workers
					c := exact.Must(sampler.NewChains(context.Background(), m, Gibbs{}, leaping))
					require.NoError(t, c.Run(ctx, 5))
					require.NoError(t, c.Run(ctx, 70))
					require.Equal(t, one.States(), c.States(), "%s, %d chains, %d workers", name, chains, workers)
					require.Equal(t, one.Info(), c.Info(), "%s, %d chains", name, chains)
					require.Equal(t, one.Stats(), c.Stats(), "%s, %d chains", name, chains)
					require.Equal(t, saved(t, one), saved(t, c), "%s, %d chains", name, chains)
				}
				if chains < 64 {
					continue
				}
				part := exact.Must(cfg.Part(1, 2))
				c := exact.Must(sampler.NewChains(context.Background(), m, Gibbs{}, part))
				require.NoError(t, c.Run(ctx, 75))
				sites, _ := m.Shape()
				assert.Equal(t, one.States()[part.First*sites:], c.States(), name)
			}
		}
	}
}

// Observers that read some draws see what those that read all do.
func TestWordBatchBetweenDraws(t *testing.T) {
	m := wordModels(t)["glass"]
	for _, thin := range []int{5, 12} {
		seen := [2]map[[2]int][]int32{{}, {}}
		observed := [2]map[[2]int]sampler.Info{{}, {}}
		for way := range 2 {
			cfg := sampler.Config{Chains: 290, Seed: 5, Warmup: 9, Workers: 1, Thin: thin}
			keep := func(chain, draw int, x []int32, info *sampler.Info) {
				seen[way][[2]int{chain, draw}] = slices.Clone(x)
				observed[way][[2]int{chain, draw}] = *info
			}
			if cfg.Observe = keep; way == 1 {
				cfg.Thin = 1
				cfg.Observe = func(chain, draw int, x []int32, info *sampler.Info) {
					if (draw+1)%thin == 0 {
						keep(chain, draw/thin, x, info)
					}
				}
			}
			c := exact.Must(sampler.NewChains(context.Background(), m, Gibbs{}, cfg))
			require.NoError(t, c.Run(context.Background(), 10*thin/cfg.Thin))
		}
		require.Len(t, seen[0], 2900)
		assert.Equal(t, seen[1], seen[0])
		assert.Equal(t, observed[1], observed[0])
	}
}

// Runs that end anywhere go on to the same bits, and a block that is verified agrees.
func TestWordBatchStops(t *testing.T) {
	m := exact.Must(model.NewIsing(model.Lattice{9, 9}, 0.3, 0.1))
	cfg := sampler.Config{Chains: 512, Seed: 3, Warmup: -1, Workers: 2}
	draws := 6000
	if exact.Race {
		draws = 1000
	}
	whole := exact.Must(sampler.NewChains(context.Background(), m, Gibbs{}, cfg))
	require.NoError(t, whole.Run(context.Background(), draws))
	c := exact.Must(sampler.NewChains(context.Background(), m, Gibbs{}, cfg))
	old := PollWork
	PollWork = 1 << 12
	defer func() { PollWork = old }()
	stops := 0
	for c.Len() < draws {
		ctx, cancel := context.WithCancel(context.Background())
		go cancel()
		if err := c.Run(ctx, draws-c.Len()); err != nil {
			require.ErrorIs(t, err, context.Canceled)
			stops++
		}
		cancel()
	}
	assert.Positive(t, stops)
	assert.Equal(t, whole.States(), c.States())
	assert.Equal(t, saved(t, whole), saved(t, c))

	require.NoError(t, whole.Reset())
	require.NoError(t, whole.Run(context.Background(), 10))
	assert.Equal(t, whole.Len(), draws+10)
}

// Batches allocate nothing, and are refused where a step is under way.
func TestWordBatchAlone(t *testing.T) {
	m := exact.Must(model.NewIsing(model.Lattice{5, 5}, 0.2, 0.2))
	for _, blocks := range []int{1, 9, 16} {
		kernels, x, r := make([]sampler.Kernel, blocks), make([][]int32, blocks), make([][]sampler.Stream, blocks)
		for b := range blocks {
			k := wordKernel(t, m, 32)
			x[b], r[b], kernels[b] = make([]int32, 25*32), make([]sampler.Stream, 32), k
			for s := range r[b] {
				r[b][s] = *sampler.NewStream(1, uint64(32*b+s))
			}
			require.NoError(t, k.Reset(sampler.Control{}, x[b]))
		}
		lead, info := kernels[0].(*wordGibbs), make([]sampler.Info, 32)
		var company []sampler.Block
		for b := 1; b < blocks; b++ {
			company = append(company, sampler.Block{Kernel: kernels[b], Info: make([]sampler.Info, 32), X: x[b], R: r[b]})
		}
		batch := func(stop func() bool, n int) int {
			return lead.Step(sampler.Control{Steps: n, Stop: stop, Unread: true, Company: company}, info, x[0], r[0])
		}
		require.Equal(t, 7, batch(nil, 7))
		if !exact.Race {
			assert.Zero(t, testing.AllocsPerRun(20, func() { batch(nil, 7) }))
		}
		assert.Equal(t, 1, batch(func() bool { return true }, 1))
		old := PollWork
		PollWork = 1
		assert.Equal(t, 1, batch(func() bool { return true }, 9))
		require.Zero(t, lead.Step(sampler.Control{Stop: func() bool { return true }}, make([]sampler.Info, 32), x[0], r[0]))
		PollWork = old
		want := 0
		if blocks == 1 {
			want = 1 // the rest of the step
		}
		assert.Equal(t, want, batch(nil, 7))
	}
	large := wordKernel(t, exact.Must(model.NewIsing(model.Lattice{65, 65}, 0.2, 0.2)), 32)
	assert.Zero(t, large.Company(16), "the sites of a large graph take longer than the report of them")
	many := wordKernel(t, exact.Must(model.NewIsing(model.Lattice{61, 67}, 0.2, 0.2)), 32)
	assert.Positive(t, many.Company(16))
	many.share(2)
	assert.Zero(t, many.Company(16))
}

// BenchmarkWordBatch is a step of several blocks of chains that nobody reads, by
// Run.
func BenchmarkWordBatch(b *testing.B) {
	for name, m := range map[string]energy.Model{
		"torus=5":  exact.Must(model.NewIsing(model.Lattice{5, 5}, 0.2, 0.2)),
		"torus=30": exact.Must(model.NewIsing(model.Lattice{30, 30}, 0.2, 0.2)),
		"torus=60": exact.Must(model.NewIsing(model.Lattice{60, 60}, 0.2, 0.2)),
	} {
		for _, g := range []sampler.Generator{sampler.Philox4x32, sampler.ARS4x32} {
			for _, chains := range []int{32, 64, 128, 256, 512} {
				b.Run(fmt.Sprintf("%s/%v/chains=%d", name, g, chains), func(b *testing.B) {
					sites, _ := m.Shape()
					c := exact.Must(sampler.NewChains(context.Background(), m, Gibbs{}, sampler.Config{Chains: chains, Workers: 1, Generator: g}))
					ctx := context.Background()
					require.NoError(b, c.Run(ctx, 1))
					b.ResetTimer()
					require.NoError(b, c.Run(ctx, b.N))
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*chains*sites), "ns/site")
				})
			}
		}
	}
}

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
					k := exact.Must(Gibbs{}.Kernel(context.Background(), m, chains))
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
