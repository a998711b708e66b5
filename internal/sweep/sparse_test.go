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

// sparseModels are small models that sparseGibbs takes: by table, by count, with
// and without a field, two and more levels, odd sides, an isolated site.
func sparseModels(t *testing.T) map[string]energy.Model {
	star := []model.Edge{{I: 0, J: 1, W: 0.5}, {I: 0, J: 2, W: 0.5}, {I: 0, J: 3, W: 0.5}, {I: 2, J: 3, W: 0.5}}
	graph := exact.Must(model.NewGraph(5, star))
	scaled, err := energy.Scale(exact.Must(model.NewPotts(model.Lattice{5}, 3, 0.8, []float64{0.3, 0, -0.1})), 0.5)
	require.NoError(t, err)
	return map[string]energy.Model{
		"ring":   exact.Must(model.NewIsing(model.Lattice{7}, 0.5, 0.2)),
		"torus":  exact.Must(model.NewIsing(model.Lattice{3, 3}, 0.3, 0)),
		"star":   exact.Must(model.NewIsing(graph, -0.7, 0.1)),
		"potts":  exact.Must(model.NewPotts(model.FreeLattice{2, 2}, 3, 0.6, nil)),
		"repel":  exact.Must(model.NewPotts(graph, 3, -1.5, []float64{0, 0.5, -0.5})),
		"scaled": scaled,
		"many":   exact.Must(model.NewPotts(model.Lattice{3}, 70, 0.9, nil)), // too many levels for a table
		"free":   exact.Must(model.NewPotts(graph, 3, 0, []float64{0, 1, 2})),
	}
}

// conditionals returns what the kernel draws site i at x from.
func (k *matching) conditionals(i int32, x []int32) []float64 {
	p, levels := make([]float64, k.levels), make([]int32, k.sites)
	for j, at := range k.place {
		levels[at] = x[j]
	}
	for n := range k.stretches {
		s := &k.stretches[n]
		if at := int(k.place[i]) - s.first; at >= 0 && at < s.sites {
			near := s.near[at*s.degree : (at+1)*s.degree]
			rows := k.tables[s.degree]
			c, scale, counts := 0, k.levels, make([]int, k.levels)
			for _, b := range near {
				c += int(levels[b]) * scale
				scale *= k.levels
				counts[levels[b]]++
			}
			total, before := 0.0, 0.0
			for l := range p {
				p[l] = k.weight(l, counts[l])
				total += p[l]
			}
			for l := range p {
				p[l] /= total
				if rows != nil {
					to := 1.0
					if l < k.levels-1 {
						to = float64(rows[c+l]) / (1 << 53)
					}
					p[l], before = to-before, to
				}
			}
		}
	}
	return p
}

func sparseMatrix(k *sparseGibbs, all [][]int32) *exact.Matrix {
	var p *exact.Matrix
	for at := range int32(k.sites) {
		i := int32(slices.Index(k.matching.place, at))
		one := exact.NewMatrix(len(all), func(x int, dst []float64) {
			y := append([]int32(nil), all[x]...)
			for l, q := range k.conditionals(i, all[x]) {
				y[i] = int32(l)
				dst[exact.Index(y, k.levels)] += q
			}
		})
		if p == nil {
			p = one
		} else {
			p = p.Mul(one)
		}
	}
	return p
}

// A sweep leaves π invariant to rounding, its matrix is what the kernel does, and
// the energies that it keeps are those of the states.
func TestSparseGibbsIsExact(t *testing.T) {
	withoutBits(t)
	exact.SkipRepeated(t)
	for name, m := range sparseModels(t) {
		t.Run(name, func(t *testing.T) {
			k, ok := exact.Must(Gibbs{}.Kernel(context.Background(), m, 1)).(*sparseGibbs)
			require.True(t, ok)
			sites, levels := m.Shape()
			d := make([]float64, levels)
			for _, x := range exact.States(sites, levels) {
				if len(d) > 17 && x[2] != 3 {
					continue
				}
				for i := range sites {
					energy.Conditionals(m).Conditional(d, i, x)
					total := 0.0
					for _, v := range d {
						total += math.Exp(-v)
					}
					for l, p := range k.conditionals(int32(i), x) {
						require.InDelta(t, math.Exp(-d[l])/total, p, 1e-15)
					}
				}
			}
			if name == "many" {
				return // 70³ states: the conditionals are enough
			}
			pi, _ := exact.Law(m)
			p := sparseMatrix(k, exact.States(sites, levels))
			assert.LessOrEqual(t, p.RowError(), 1e-12)
			assert.LessOrEqual(t, p.MaxDiff(pi), 1e-12)
			exact.Transitions(t, sweeptest.Observed(t, m, Gibbs{}, 320, 3), p, exact.Rate)

			twin := exact.Must(Gibbs{}.Kernel(context.Background(), m, 1)).(*sparseGibbs)
			for d, rows := range twin.tables { // the levels of the neighbours shifted by one
				if rows != nil && d > 0 {
					twin.tables[d] = append(rows[k.levels:len(rows):len(rows)], rows[:k.levels]...)
				}
			}
			if k.coupling != 0 {
				assert.Greater(t, sparseMatrix(twin, exact.States(sites, levels)).MaxDiff(pi), 1e-4)
			}
		})
	}
}

// Running energies stay those of the states, and resumed runs and those of other
// workers have the same bits; nothing is allocated.
func TestSparseGibbsRuns(t *testing.T) {
	withoutBits(t)
	for name, m := range sparseModels(t) {
		runs.Resume(t, m, Gibbs{})
		sites, _ := m.Shape()
		e := make([]float64, 1)
		c := sampler.Config{Chains: 40, Seed: 2, Workers: 1, Warmup: -1, Observe: func(_, _ int, x []int32, info *sampler.Info) {
			m.Energy(e, x)
			require.InDelta(t, e[0], info.Energy, 1e-9, name)
		}}
		want := runs.Hash(runs.Run(t, m, Gibbs{}, c, 50).States())
		c.Workers, c.Observe = 7, nil
		assert.Equal(t, want, runs.Hash(runs.Run(t, m, Gibbs{}, c, 50).States()), name)

		k := exact.Must(Gibbs{}.Kernel(context.Background(), m, 2))
		x, info, streams := make([]int32, 2*sites), make([]sampler.Info, 2), make([]sampler.Stream, 2)
		require.NoError(t, k.Reset(sampler.Control{}, x))
		if !exact.Race {
			assert.Zero(t, testing.AllocsPerRun(20, func() { k.Step(sampler.Control{}, info, x, streams) }), name)
		}
		assert.ErrorIs(t, k.UnmarshalBinary(make([]byte, 40)), wire.ErrShort)
	}
}

// A step that stops in its middle goes on to the same bits.
func TestSparseGibbsStops(t *testing.T) {
	m := exact.Must(model.NewPotts(model.Lattice{300, 301}, 3, 0.9, nil))
	kernel := func() (sampler.Kernel, []int32, []sampler.Info, []sampler.Stream) {
		k := exact.Must(Gibbs{}.Kernel(context.Background(), m, 2))
		x := make([]int32, 2*300*301)
		require.NoError(t, k.Reset(sampler.Control{}, x))
		return k, x, make([]sampler.Info, 2), []sampler.Stream{*sampler.NewStream(1, 0), *sampler.NewStream(1, 1)}
	}
	whole, x, info, r := kernel()
	whole.Step(sampler.Control{}, info, x, r)
	k, y, parts, q := kernel()
	stops := 0
	for k.(*sparseGibbs).Step(sampler.Control{Stop: func() bool { return true }}, parts, y, q) == 0 {
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

// Models that the kernel is not for go to the one that keeps differences.
func TestSparseGibbsIsUsedWhereItApplies(t *testing.T) {
	withoutBits(t)
	ring := exact.Must(model.NewIsing(model.Lattice{7}, 0.5, 0.2))
	weights := exact.Must(model.NewGraph(3, []model.Edge{{I: 0, J: 1, W: 1}, {I: 1, J: 2, W: 2}}))
	var edges []model.Edge
	for i := range 20 {
		for j := range i {
			edges = append(edges, model.Edge{I: i, J: j, W: 1})
		}
	}
	dense := exact.Must(model.NewGraph(20, edges))
	for _, c := range []struct {
		m    energy.Model
		scan Scan
		fast bool
	}{
		{ring, Automatic, true}, {ring, Chromatic, true}, {ring, Systematic, false}, {ring, Random, false},
		{exact.Must(ring.WithFields(make([]float64, 7))), Automatic, false},
		{exact.Must(model.NewIsing(weights, 1, 0)), Automatic, false},
		{exact.Must(model.NewIsing(dense, 0.1, 0)), Automatic, false},
		{exact.Must(model.NewIsing(model.Lattice{7}, 400, 0)), Automatic, false}, // exp(1600)
		{exact.Must(model.NewPotts(model.Lattice{7}, 1, 1, nil)), Automatic, false},
		{exact.Must(model.NewPotts(model.Lattice{4, 4}, 2, 1, nil)), Automatic, true},
	} {
		_, fast := exact.Must(Gibbs{Scan: c.scan}.Kernel(context.Background(), c.m, 1)).(*sparseGibbs)
		assert.Equal(t, c.fast, fast, "%v on %T", c.scan, c.m)
	}
}

// Deferred states are those of steps that show them, once they are asked for, and a Reset
// takes others.
func TestOrderedLevelsAreShown(t *testing.T) {
	m := exact.Must(model.NewPotts(model.Lattice{5, 7}, 300, 0.4, nil))
	const chains = 3
	start := make([]int32, chains*35)
	r := rand.New(rand.NewPCG(1, 4))
	for i := range start {
		start[i] = r.Int32N(300)
	}
	shown, hidden := newSparseGibbs(m, chains), newSparseGibbs(m, chains)
	require.NotNil(t, shown)
	x, y, info, observed := slices.Clone(start), slices.Clone(start), make([]sampler.Info, chains), make([]sampler.Info, chains)
	a, b := sweeptest.Streams(chains), sweeptest.Streams(chains)
	for range 2 {
		require.NoError(t, shown.Reset(sampler.Control{}, x))
		require.NoError(t, hidden.Reset(sampler.Control{}, y))
		before := slices.Clone(y)
		for range 3 {
			shown.Step(sampler.Control{}, info, x, a)
			hidden.Step(sampler.Control{Unread: true}, observed, y, b)
		}
		assert.Equal(t, before, y)
		assert.True(t, math.IsNaN(observed[0].Energy), "nobody reads it")
		assert.Equal(t, unread(info, true), unread(observed, true))
		hidden.Show(y)
		assert.Equal(t, x, y)
		y[0] ^= 1
		hidden.Show(y) // they have been shown
		assert.NotEqual(t, x, y)
		x[0] = y[0]
	}
	assert.Nil(t, newMatching(exact.Must(model.NewPotts(model.Lattice{3, 3}, orderedLevels+1, 0.1, nil))))
	assert.NotNil(t, newMatching(exact.Must(model.NewPotts(model.Lattice{3, 3}, orderedLevels, 0.1, nil))))
}

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
				k := exact.Must(Gibbs{Scan: scan}.Kernel(context.Background(), m, chains))
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
