package mcmc

import (
	"context"
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
	k, ok := must(Gibbs{}.Kernel(context.Background(), m, chains)).(*wordGibbs)
	require.True(t, ok)
	return k
}

// A sweep leaves π invariant to rounding, its matrix is what the kernel does, and a twin
// with half of the odds is found out.
func TestWordGibbsIsExact(t *testing.T) {
	exact.SkipUnderRace(t)
	for name, m := range wordModels(t) {
		t.Run(name, func(t *testing.T) {
			k := wordKernel(t, m, sampler.BlockSize)
			sites, _ := m.Shape()
			all := exact.States(sites, 2)
			pi, _ := exact.Law(m)
			sweep := func(odds func(p uint64) uint64) (p *exact.Matrix) {
				d, y := make([]float64, 2), make([]int32, sites)
				order, up := []int{}, make([]map[int]float64, len(all))
				for x := range all {
					up[x] = map[int]float64{}
					order = order[:0]
					k.even.graph.Visit(all[x], func(i int, p uint64) {
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
			p := sweep(func(p uint64) uint64 { return p })
			assert.LessOrEqual(t, p.RowError(), 1e-12)
			assert.LessOrEqual(t, p.MaxDiff(pi), 1e-12)
			exact.Transitions(t, observed(t, m, Gibbs{}, 640, 5), p, exact.Rate)
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
	old := pollWork
	pollWork = 1
	defer func() { pollWork = old }()
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
	other := must(Gibbs{}.Kernel(context.Background(), m, 8))
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
			k := must(Gibbs{Scan: scan}.Kernel(context.Background(), c.m, sampler.BlockSize))
			_, fast := k.(*wordGibbs)
			assert.Equal(t, c.fast && scan != Systematic, fast, "%s, %v", c.name, scan)
		}
	}
}

// The numbers of ones in the last states of many chains have the law that all states of
// the model give, and those of chains beside each other are independent.
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
	_, fast := must(Gibbs{}.Kernel(context.Background(), exact.Must(model.NewIsing(model.Lattice{31, 31, 31}, 1, 0)), 1)).(*wordGibbs)
	assert.True(t, fast)
	_, fast = must(Gibbs{}.Kernel(context.Background(), exact.Must(model.NewIsing(model.Lattice{7}, 1, 0)), 1)).(*wordGibbs)
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
		var told []sampler.Info
		for _, workers := range []int{1, 2, 7, 1000} {
			k := wordKernel(t, m, chains)
			ctl := sampler.Control{Workers: workers}
			x, info, streams := make([]int32, chains*side*side), make([]sampler.Info, chains), make([]sampler.Stream, chains)
			require.NoError(t, k.Reset(ctl, x))
			for range 4 {
				k.Step(ctl, info, x, streams)
			}
			if want == nil {
				want, told = slices.Clone(x), slices.Clone(info)
			}
			require.Equal(t, told, info, "%d workers", workers)
			require.Equal(t, want, x, "%d workers", workers)
			if !exact.Race {
				assert.Zero(t, testing.AllocsPerRun(20, func() { k.Step(ctl, info, x, streams) }))
			}
		}
		e := make([]float64, chains)
		m.Energy(e, want)
		assert.InDelta(t, e[0], told[0].Energy, 1e-8)
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
