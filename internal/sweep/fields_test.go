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
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// withoutMemo lets models of two levels and pairs be drawn by their fields for the rest of a
// test.
func withoutMemo(t *testing.T) {
	withoutBits(t)
	old := memoEntries
	memoEntries = -1
	t.Cleanup(func() { memoEntries = old })
}

// fieldModels are small models that fieldGibbs takes: couplings and fields of their own,
// isolated sites, more than seven neighbours, scaled ones, steep ones.
func fieldModels(t *testing.T) map[string]energy.Model {
	glass := exact.Must(model.NewGraph(5, []model.Edge{{I: 0, J: 1, W: 1}, {I: 1, J: 2, W: -2}, {I: 0, J: 3, W: 0.5}, {I: 0, J: 2, W: 0.7}}))
	var wheel []model.Edge
	for i := range 9 {
		wheel = append(wheel, model.Edge{I: 9, J: i, W: 1 - 2*float64(i%2)})
	}
	spins := exact.Must(model.NewIsing(glass, 0.8, 0.1))
	return map[string]energy.Model{
		"glass":  spins,
		"fields": exact.Must(spins.WithFields([]float64{0.5, -0.3, 0.2, 0, 1})),
		"wheel":  exact.Must(model.NewIsing(exact.Must(model.NewGraph(10, wheel)), 0.2, -0.3)),
		"scaled": exact.Must(energy.Scale(spins, 1.7)),
		"steep":  exact.Must(model.NewIsing(glass, 30, 0)),
	}
}

func fieldKernel(t *testing.T, m energy.Model, chains int) *fieldGibbs {
	k, ok := exact.Must(Gibbs{}.Kernel(context.Background(), m, chains)).(*fieldGibbs)
	require.True(t, ok, "%T", exact.Must(Gibbs{}.Kernel(context.Background(), m, chains)))
	return k
}

// Draws by brackets are those by the probability itself, on whichever side of it the number lies.
func TestUpIsBelowTheProbability(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	known := brackets()
	check := func(rise, u float64) {
		want := int32(0)
		if u < simd.Sigmoid(-rise) {
			want = 1
		}
		require.Equal(t, want, up(known, rise, u), "difference %v, number %v", rise, u)
	}
	rises := []float64{0, 40, -40, math.Nextafter(40, 0), math.Nextafter(-40, 0), 39.9, -39.95, 100, -100, 1e300, -1e300, 1e-300}
	for n := range 40000 {
		rises = append(rises[:12], float64(r.IntN(640)-320)/8, math.Nextafter(float64(r.IntN(640)-320)/8, float64(2*r.IntN(2)-1)*100), 8*r.NormFloat64())
		rise := rises[n%len(rises)]
		p := simd.Sigmoid(-rise)
		check(rise, r.Float64())
		check(rise, 0)
		for _, u := range []float64{p, math.Nextafter(p, 0), math.Nextafter(p, 1), p * (1 - 1e-12), p * (1 + 1e-12), p * r.Float64(), min(p*1.01, 1)} {
			check(rise, u)
		}
	}
}

// A sweep leaves π invariant to rounding, its matrix is what the kernel does, and a twin
// with doubled fields is found out.
func TestFieldGibbsIsExact(t *testing.T) {
	withoutMemo(t)
	exact.SkipRepeated(t)
	for name, m := range fieldModels(t) {
		t.Run(name, func(t *testing.T) {
			k := fieldKernel(t, m, 1)
			sites, _ := m.Shape()
			all := exact.States(sites, 2)
			pi, _ := exact.Law(m)
			sweep := func(factor float64) (p *exact.Matrix) {
				d := make([]float64, 2)
				for at, i := range k.sweep {
					one := exact.NewMatrix(len(all), func(x int, dst []float64) {
						rise := k.field[at]
						for n := k.begin[at]; n < k.begin[at+1]; n++ {
							rise += k.weight[n] * float64(all[x][k.near[n]])
						}
						energy.Conditionals(m).Conditional(d, int(i), all[x])
						require.InDelta(t, d[1]-d[0], rise, 1e-12)
						y := slices.Clone(all[x])
						y[i] = 0
						dst[exact.Index(y, 2)] += 1 - simd.Sigmoid(-factor*rise)
						y[i] = 1
						dst[exact.Index(y, 2)] += simd.Sigmoid(-factor * rise)
					})
					if p == nil {
						p = one
					} else {
						p = p.Mul(one)
					}
				}
				return p
			}
			p := sweep(1)
			assert.LessOrEqual(t, p.RowError(), 1e-12)
			assert.LessOrEqual(t, p.MaxDiff(pi), 1e-12)
			exact.Transitions(t, sweeptest.Observed(t, m, Gibbs{}, 320, 3), p, exact.Rate)
			if name != "steep" {
				assert.Greater(t, sweep(2).MaxDiff(pi), 1e-4)
			}
		})
	}
}

// Running energies stay those of the states, resumed runs and those of other workers
// and in parts have the same bits; nothing is allocated.
func TestFieldGibbsRuns(t *testing.T) {
	withoutMemo(t)
	for name, m := range fieldModels(t) {
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

		k := fieldKernel(t, m, 2)
		x, info, r := make([]int32, 2*sites), make([]sampler.Info, 2), sweeptest.Streams(2)
		require.NoError(t, k.Reset(sampler.Control{}, x))
		if !exact.Race {
			assert.Zero(t, testing.AllocsPerRun(20, func() { k.Step(sampler.Control{}, info, x, r) }), name)
		}
		assert.ErrorIs(t, k.UnmarshalBinary(make([]byte, 10)), wire.ErrShort)
	}
}

// Large irregular graphs, of one coupling and of many, are redrawn by any number of workers to the
// same bits, stopped anywhere, saved or not, and allocate nothing.
func TestPiecesAreShared(t *testing.T) {
	one := func(*rand.Rand) float64 { return 1 }
	steps := 3
	if exact.Race {
		steps = 1
	}
	for name, m := range map[string]energy.Model{
		"glass":  sweeptest.Scattered(14000, 6, sweeptest.Normal),
		"signs":  sweeptest.Scattered(14000, 5, func(r *rand.Rand) float64 { return float64(2*r.IntN(2) - 1) }),
		"even":   sweeptest.Scattered(14000, 6, one),
		"potts":  exact.Must(model.NewPotts(model.Lattice{90, 91}, 3, 0.9, []float64{0, 0.1, 0})),
		"levels": exact.Must(model.NewPotts(model.Lattice{70, 72}, 70, 0.9, nil)),
	} {
		sites, levels := m.Shape()
		const chains = 2
		start := make([]int32, chains*sites)
		r := rand.New(rand.NewPCG(3, 1))
		for i := range start {
			start[i] = r.Int32N(int32(levels))
		}
		kernel := func(workers int) sampler.Kernel {
			k := exact.Must(Gibbs{}.Kernel(context.Background(), m, chains))
			require.NoError(t, k.Reset(sampler.Control{Workers: workers}, start))
			return k
		}
		var want []int32
		var observed []sampler.Info
		var saved []byte
		for _, workers := range []int{1, 2, 3, 1000} {
			if exact.Race && workers == 2 {
				continue
			}
			k, x, info, r := kernel(workers), slices.Clone(start), make([]sampler.Info, chains), sweeptest.Streams(chains)
			r[0].Skip(17) // the streams stand anywhere
			for range steps {
				k.Step(sampler.Control{Workers: workers}, info, x, r)
			}
			b := exact.Must(k.AppendBinary(nil))
			if want == nil {
				want, observed, saved = slices.Clone(x), slices.Clone(info), b
				e := make([]float64, chains)
				m.Energy(e, x)
				assert.InDelta(t, e[1], info[1].Energy, 1e-7, name)
			}
			require.Equal(t, want, x, "%s: %d workers", name, workers)
			require.Equal(t, observed, info, "%s: %d workers", name, workers)
			require.Equal(t, saved, b, "%s: %d workers", name, workers)
			if !exact.Race {
				assert.Zero(t, testing.AllocsPerRun(3, func() { k.Step(sampler.Control{Workers: workers}, info, x, r) }), name)
			}
		}
		old := PollWork
		PollWork = 1
		k, x, info, q := kernel(2), slices.Clone(start), make([]sampler.Info, chains), sweeptest.Streams(chains)
		q[0].Skip(17)
		stops := 0
		for range steps {
			for k.Step(sampler.Control{Stop: func() bool { return true }, Workers: 1 + stops%3}, info, x, q) == 0 {
				if stops++; stops%5 == 1 { // making a kernel takes longest here
					b := exact.Must(k.AppendBinary(nil))
					k = kernel(1 + stops%3)
					require.NoError(t, k.UnmarshalBinary(b))
				}
			}
		}
		PollWork = old
		assert.Greater(t, stops, 5, name)
		assert.Equal(t, want, x, name)
		assert.Equal(t, observed, info, name)
	}
}

// Models that the kernel is not for, and other orders, go to others.
func TestFieldGibbsIsUsedWhereItApplies(t *testing.T) {
	withoutMemo(t)
	spins := fieldModels(t)["glass"].(*model.Ising)
	for _, c := range []struct {
		m    energy.Model
		scan Scan
		fast bool
	}{
		{spins, Automatic, true}, {spins, Chromatic, true}, {spins, Systematic, false}, {spins, Random, false},
		{sweeptest.Scattered(60, 15, sweeptest.Normal), Automatic, true},
		{sweeptest.Scattered(60, 18, sweeptest.Normal), Automatic, false},
		{exact.Must(model.NewPotts(model.Lattice{7}, 3, 1, nil)), Automatic, false},
		{energy.Func{Sites: 3, Levels: 2, E: func([]int32) float64 { return 0 }}, Automatic, false},
	} {
		_, fast := exact.Must(Gibbs{Scan: c.scan}.Kernel(context.Background(), c.m, 1)).(*fieldGibbs)
		assert.Equal(t, c.fast, fast, "%v on %T", c.scan, c.m)
	}
	large := sweeptest.Scattered(4000, 8, sweeptest.Normal)
	memoEntries = 1 << 16
	_, fast := exact.Must(Gibbs{}.Kernel(context.Background(), large, 1)).(*fieldGibbs)
	assert.True(t, fast)
}

// Local fields of spins that are free, added up, are those of the clamped model.
func TestClampedFields(t *testing.T) {
	defer func(n, entries int) { FewestFree, memoEntries = n, entries }(FewestFree, memoEntries)
	FewestFree, memoEntries = 1, -1
	glass := exact.Must(model.NewIsing(exact.Must(model.NewGraph(6, []model.Edge{{I: 0, J: 1, W: 1}, {I: 1, J: 2, W: -2}, {I: 2, J: 3, W: 0.5}, {I: 3, J: 4, W: 1}, {I: 4, J: 5, W: 1.5}, {I: 0, J: 5, W: -1}})), 0.4, 0.2))
	m := sweeptest.Pinned(glass, func(i int) bool { return i != 1 && i != 4 })
	require.Equal(t, "fieldGibbs", sweeptest.EngineOf(exact.Must(Gibbs{}.Kernel(context.Background(), m, 2))))
	free, p := sweeptest.Distribution(m)
	counts, y := make([]int, len(p)), make([]int32, len(free))
	runs.Run(t, m, Gibbs{}, sampler.Config{Chains: 2, Seed: 3, Thin: 4, Workers: 1, Observe: func(_, _ int, x []int32, _ *sampler.Info) {
		for at, i := range free {
			y[at] = x[i]
		}
		counts[exact.Index(y, 2)]++
	}}, sweeptest.Many(20000))
	exact.Counts(t, counts, p, exact.Rate)
	runs.Resume(t, m, Gibbs{})
}

// BenchmarkFieldGibbs is a sweep of one chain of a spin glass on a random graph, by local fields and by
// differences that are kept up to date.
func BenchmarkFieldGibbs(b *testing.B) {
	for _, sites := range []int{300, 3000, 30000, 300000} {
		for _, degree := range []float64{4, 8, 15} {
			m := sweeptest.Scattered(sites, degree, sweeptest.Normal)
			sweep, err := order("Gibbs", Systematic, m)
			require.NoError(b, err)
			for name, k := range map[string]sampler.Kernel{
				"fields":      newFieldGibbs(m, 1),
				"differences": padded.New(gibbs{order: sweep, sitewise: newSitewise(NewLocals(m, 1, sites)), w: make([]float64, 2), unpolled: 1000}),
			} {
				b.Run(fmt.Sprintf("sites=%d/degree=%v/%s", sites, degree, name), func(b *testing.B) {
					x, info, r := make([]int32, sites), make([]sampler.Info, 1), sweeptest.Streams(1)
					require.NoError(b, k.Reset(sampler.Control{}, x))
					for range 5 {
						k.Step(sampler.Control{}, info, x, r)
					}
					for b.Loop() {
						k.Step(sampler.Control{}, info, x, r)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*sites), "ns/site")
				})
			}
		}
	}
}
