package sweep

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
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

// The thresholds are the exact conditionals to the last digits of float64.
func TestTorusGibbsConditionals(t *testing.T) {
	withoutBits(t)
	m := sweeptest.Chequered(t, 4, 6)
	k, ok := exact.Must(Gibbs{Scan: Chromatic}.Kernel(context.Background(), m, 1)).(*torusGibbs)
	require.True(t, ok)
	d, x := make([]float64, 2), make([]int32, 24)
	for n, around := range [][]int{{}, {1}, {1, 6}, {1, 6, 18}, {1, 5, 6, 18}} { // neighbours of site 0
		clear(x)
		for _, j := range around {
			x[j] = 1
		}
		m.Conditional(d, 0, x)
		assert.InEpsilon(t, 1/(1+math.Exp(d[1]-d[0])), float64(odds(k.d[n]))*0x1p-64, 1e-15)
	}
	assert.Equal(t, uint64(math.MaxUint64), odds(-100))
	assert.Equal(t, uint64(1<<63), odds(0))
	assert.Zero(t, odds(100))
	assert.InEpsilon(t, math.Exp(-30), float64(odds(30))*0x1p-64, 1e-6)
}

// A sweep is the product over one colour of independent conditionals, then over
// the other: the law after a sweep from a fixed state, by the energy reached.
func TestTorusGibbsSweep(t *testing.T) {
	withoutBits(t)
	exact.SkipUnderRace(t)
	m := sweeptest.Chequered(t, 4, 4)
	start := []int32{1, 0, 0, 1, 1, 1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 1}
	// One half-sweep moves at most the 8 sites of a colour: 256 outcomes.
	half := func(x []int32, colour int, visit func(p float64, y []int32)) {
		var sites []int
		for i := range 16 {
			if (i/4+i%4)%2 == colour {
				sites = append(sites, i)
			}
		}
		d := make([]float64, 2)
		up := make([]float64, 8)
		for n, i := range sites {
			m.Conditional(d, i, x)
			up[n] = 1 / (1 + math.Exp(d[1]-d[0]))
		}
		y := append([]int32(nil), x...)
		for code := range 256 {
			p := 1.0
			for n, i := range sites {
				y[i] = int32(code >> n & 1)
				if y[i] == 1 {
					p *= up[n]
				} else {
					p *= 1 - up[n]
				}
			}
			visit(p, y)
		}
	}
	law := make([]float64, 1<<16)
	half(start, 0, func(p float64, y []int32) {
		half(y, 1, func(q float64, z []int32) { law[exact.Index(z, 2)] += p * q })
	})
	for _, g := range []sampler.Generator{sampler.Philox4x32, sampler.ARS4x32} {
		sweeps(t, m, start, law, g)
	}
}

// sweeps holds sweeps from the state start to the law of their ends.
func sweeps(t *testing.T, m *model.Ising, start []int32, law []float64, g sampler.Generator) {
	counts := make([]int, 1<<16)
	k := exact.Must(Gibbs{Scan: Chromatic}.Kernel(context.Background(), m, sampler.BlockSize))
	x, info, streams := make([]int32, sampler.BlockSize*16), make([]sampler.Info, sampler.BlockSize), make([]sampler.Stream, sampler.BlockSize)
	for s := range streams {
		require.NoError(t, streams[s].SeedOf(g, 8, uint64(s)))
	}
	for range 1000 {
		for s := range sampler.BlockSize {
			copy(x[16*s:], start)
		}
		require.NoError(t, k.Reset(sampler.Control{}, x))
		k.Step(sampler.Control{}, info, x, streams)
		exact.Tally(counts, x, 16, 2)
		e := make([]float64, sampler.BlockSize)
		m.Energy(e, x)
		for s := range info {
			require.InDelta(t, e[s], info[s].Energy, 1e-9)
		}
	}
	coarse, coarseLaw := make([]int, 256), make([]float64, 256)
	for i := range law { // by the last two rows, so that cells fill
		coarse[i>>8] += counts[i]
		coarseLaw[i>>8] += law[i]
	}
	exact.Counts(t, coarse, coarseLaw, exact.Rate)
	wrong := append([]float64(nil), coarseLaw...)
	for i := range wrong {
		wrong[i] = coarseLaw[i^1]
	}
	assert.Less(t, exact.PValue(coarse, wrong), exact.Rate)
}

func TestTorusGibbsIsUsedWhereItApplies(t *testing.T) {
	withoutBits(t)
	scaled, err := energy.Scale(sweeptest.Chequered(t, 4, 4), 0.5)
	require.NoError(t, err)
	fields, err := sweeptest.Chequered(t, 4, 4).WithFields(make([]float64, 16))
	require.NoError(t, err)
	cube, err := model.NewIsing(model.Lattice{4, 4, 4}, 1, 0)
	require.NoError(t, err)
	for _, c := range []struct {
		m    energy.Model
		fast bool
	}{{sweeptest.Chequered(t, 4, 4), true}, {scaled, true}, {sweeptest.Chequered(t, 5, 4), false}, {sweeptest.Chequered(t, 4, 5), false}, {sweeptest.Chequered(t, 2, 4), false}, {fields, false}, {cube, false}} {
		k := exact.Must(Gibbs{Scan: Chromatic}.Kernel(context.Background(), c.m, 1))
		_, fast := k.(*torusGibbs)
		assert.Equal(t, c.fast, fast, "%T %v", c.m, c.m)
	}
	k := exact.Must(Gibbs{Scan: Chromatic}.Kernel(context.Background(), scaled, 1)).(*torusGibbs)
	full := exact.Must(Gibbs{Scan: Chromatic}.Kernel(context.Background(), sweeptest.Chequered(t, 4, 4), 1)).(*torusGibbs)
	assert.InDelta(t, full.d[3]/2, k.d[3], 1e-15)
}

func TestTorusGibbsRuns(t *testing.T) {
	withoutBits(t)
	m := sweeptest.Chequered(t, 4, 6)
	runs.Resume(t, m, Gibbs{Scan: Chromatic})
	k := exact.Must(Gibbs{Scan: Chromatic}.Kernel(context.Background(), m, 4))
	x, info, streams := make([]int32, 4*24), make([]sampler.Info, 4), make([]sampler.Stream, 4)
	require.NoError(t, k.Reset(sampler.Control{}, x))
	if !exact.Race {
		assert.Zero(t, testing.AllocsPerRun(20, func() { k.Step(sampler.Control{}, info, x, streams) }))
	}
	assert.ErrorIs(t, k.UnmarshalBinary(make([]byte, 40)), wire.ErrShort)
	var want uint64
	for _, workers := range []int{1, 2, 7} {
		got := runs.Hash(runs.Run(t, m, Gibbs{Scan: Chromatic}, sampler.Config{Chains: 70, Workers: workers, Warmup: -1}, 9).States())
		if want == 0 {
			want = got
		}
		assert.Equal(t, want, got)
	}
}

// TestTorusGibbsParallel: a lattice of several strips has the same bits whatever
// the number of workers, stopped between half sweeps, resumed from a checkpoint or
// shown only now and then; energies are those of the model, and nothing allocates.
func TestTorusGibbsParallel(t *testing.T) {
	const rows, cols, sites = 400, 502, 400 * 502
	m := sweeptest.Chequered(t, rows, cols)
	ctx := context.Background()
	r := rand.New(rand.NewPCG(1, 2))
	first := make([]int32, sites)
	for i := range first {
		first[i] = r.Int32N(2)
	}
	kernel := func(workers int) *torusGibbs {
		k := exact.Must(Gibbs{}.Kernel(ctx, m, 1)).(*torusGibbs)
		k.share(workers)
		return k
	}
	step := func(k sampler.Kernel, x []int32, s []sampler.Stream) sampler.Info {
		info := make([]sampler.Info, 1)
		k.Step(sampler.Control{}, info, x, s)
		return info[0]
	}
	want, k, s := slices.Clone(first), kernel(1), []sampler.Stream{*sampler.NewStream(3, 0)}
	require.NoError(t, k.Reset(sampler.Control{}, want))
	var observed sampler.Info
	for range 3 {
		observed = step(k, want, s)
	}
	e := make([]float64, 1)
	m.Energy(e, want)
	assert.InEpsilon(t, e[0], observed.Energy, 1e-12)
	require.NotEqual(t, first, want)

	x, k, s := slices.Clone(first), kernel(3), []sampler.Stream{*sampler.NewStream(3, 0)}
	require.NoError(t, k.Reset(sampler.Control{}, x))
	k.Step(sampler.Control{Unread: true, Workers: 3}, make([]sampler.Info, 1), x, s)
	assert.Equal(t, first, x, "deferred")
	k.Show(x)
	assert.NotEqual(t, first, x)
	old := PollWork
	PollWork = 1
	defer func() { PollWork = old }()
	info := make([]sampler.Info, 1)
	require.Zero(t, k.Step(sampler.Control{Stop: func() bool { return true }, Unread: true, Workers: 3}, info, x, s))
	k.Show(x)
	saved, err := k.AppendBinary(nil)
	require.NoError(t, err)
	k = kernel(2)
	require.NoError(t, k.UnmarshalBinary(saved))
	require.Equal(t, 1, k.Step(sampler.Control{Stop: func() bool { return false }, Workers: 2}, info, x, s))
	assert.Equal(t, observed, step(k, x, s))
	require.Equal(t, want, x)
	if !exact.Race {
		assert.Zero(t, testing.AllocsPerRun(20, func() { k.Step(sampler.Control{}, info, x, s) }))
	}
}

// TestTorusGibbsGolden: a seed gives the same states in every version.
func TestTorusGibbsGolden(t *testing.T) {
	m := sweeptest.Chequered(t, 10, 14)
	var b strings.Builder
	for _, g := range []sampler.Generator{sampler.Philox4x32, sampler.ARS4x32} {
		c := runs.Run(t, m, Gibbs{Scan: Chromatic}, sampler.Config{Chains: 3, Seed: 5, Warmup: -1, Generator: g}, 20)
		fmt.Fprintf(&b, "%v %016x\n", g, runs.Hash(c.States()))
	}
	exact.Golden(t, "testdata/torus.golden", b.String())
}

// BenchmarkGibbsTorus steps with states that are read after each step, and with
// such that are not.
func BenchmarkGibbsTorus(b *testing.B) {
	for _, side := range []int{64, 1024} {
		for _, g := range []sampler.Generator{sampler.Philox4x32, sampler.ARS4x32} {
			for _, read := range []bool{true, false} {
				b.Run(fmt.Sprintf("side=%d/%v/read=%v", side, g, read), func(b *testing.B) {
					m, err := model.NewIsing(model.Lattice{side, side}, 0.44, 0)
					if err != nil {
						b.Fatal(err)
					}
					k := exact.Must(Gibbs{Scan: Chromatic}.Kernel(context.Background(), m, 1)).(*torusGibbs)
					x, info, streams := make([]int32, side*side), make([]sampler.Info, 1), make([]sampler.Stream, 1)
					if err := errors.Join(streams[0].SeedOf(g, 0, 0), k.Reset(sampler.Control{}, x)); err != nil {
						b.Fatal(err)
					}
					ctl := sampler.Control{Unread: !read}
					for range 20 {
						k.Step(ctl, info, x, streams)
					}
					for b.Loop() {
						k.Step(ctl, info, x, streams)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(side*side), "ns/site")
				})
			}
		}
	}
}

// smallTori lets Metropolis propose changes of the smallest tori as bits for the rest of
// a test.
func smallTori(t *testing.T) {
	old := fewestProposed
	fewestProposed = 0
	t.Cleanup(func() { fewestProposed = old })
}

func proposing(t *testing.T, m energy.Model, chains int) *torusGibbs {
	k, ok := exact.Must(Metropolis{Scan: Chromatic}.Kernel(context.Background(), m, chains)).(*torusGibbs)
	require.True(t, ok)
	return k
}

// A step leaves π over all 65 536 states of a 4×4 torus invariant, by the numbers that
// decide, which are those of the model's differences; a twin that mistakes the state of a
// site does not.
func TestTorusMetropolisIsExact(t *testing.T) {
	exact.SkipUnderRace(t)
	smallTori(t)
	for _, m := range []energy.Model{
		exact.Must(model.NewIsing(model.Lattice{4, 4}, 0.3, 0.1)),
		exact.Must(model.NewIsing(model.Lattice{4, 4}, -0.7, 0)),
		exact.Must(energy.Scale(exact.Must(model.NewIsing(model.Lattice{4, 4}, 0.4, 0.1)), 1.5)),
	} {
		k := proposing(t, m, 1)
		pi, _ := exact.Law(m)
		all := exact.States(16, 2)
		near := func(x []int32, i int) int32 {
			r, c := i/4, i%4
			return x[(r+1)%4*4+c] + x[(r+3)%4*4+c] + x[r*4+(c+1)%4] + x[r*4+(c+3)%4]
		}
		d := make([]float64, 2)
		for _, x := range all[:3000] {
			for i, l := range x {
				energy.Conditionals(m).Conditional(d, i, x)
				want := math.Min(1, math.Exp(d[l]-d[1-l]))
				n := near(x, i)
				require.InDelta(t, want, k.proposal.accept[l][n], 1e-14)
				require.InDelta(t, want, float64(k.proposal.p[l][n])*0x1p-64, 1e-14)
			}
		}
		step := func(p [2][5]uint64) (worst float64) {
			v := slices.Clone(pi)
			w := make([]float64, len(v))
			for colour := range 2 {
				for i := range 16 {
					if (i/4+i%4)%2 != colour {
						continue
					}
					clear(w)
					for at, x := range all {
						y := slices.Clone(x)
						y[i] = 1 - x[i]
						a := float64(p[x[i]][near(x, i)]) * 0x1p-64
						w[at] += v[at] * (1 - a)
						w[exact.Index(y, 2)] += v[at] * a
					}
					v, w = w, v
				}
			}
			for at := range v {
				worst = max(worst, math.Abs(v[at]-pi[at]))
			}
			return worst
		}
		assert.LessOrEqual(t, step(k.proposal.p), 1e-14)
		assert.Greater(t, step([2][5]uint64{k.proposal.p[1], k.proposal.p[0]}), 1e-6)
	}
}

// The numbers of ones in the last states of many chains have the law that all states of the
// model give.
func TestTorusMetropolisLaw(t *testing.T) {
	exact.SkipUnderRace(t)
	smallTori(t)
	m := exact.Must(model.NewIsing(model.Lattice{4, 4}, 0.2, 0.1))
	p, _ := exact.Law(m)
	law := make([]float64, 17)
	for code, v := range p {
		law[bits.OnesCount(uint(code))] += v
	}
	states := runs.Run(t, m, Metropolis{Scan: Chromatic}, sampler.Config{Chains: 6400, Seed: 3, Warmup: -1}, 60).States()
	counts := make([]int, 17)
	for s := range 6400 {
		ones := 0
		for _, v := range states[16*s : 16*s+16] {
			ones += int(v)
		}
		counts[ones]++
	}
	exact.Counts(t, counts, law, exact.Rate)
}

// Energies, moves and acceptance are those of the states, resumed runs have the bits of whole
// ones, and nothing is allocated.
func TestTorusMetropolisRuns(t *testing.T) {
	method := Metropolis{Scan: Chromatic}
	m := exact.Must(model.NewIsing(model.Lattice{6, 10}, 0.3, 0.2))
	runs.Resume(t, m, method)
	e, last := make([]float64, 1), make([]int32, 3*60)
	runs.Run(t, m, method, sampler.Config{Chains: 3, Seed: 2, Workers: 1, Warmup: -1, Observe: func(chain, draw int, x []int32, info *sampler.Info) {
		m.Energy(e, x)
		require.InDelta(t, e[0], info.Energy, 1e-9)
		moved, old := 0, last[60*chain:60*chain+60]
		for i, v := range x {
			moved += int(v ^ old[i])
		}
		if draw > 0 {
			require.Equal(t, moved, info.Moved)
		}
		copy(old, x)
	}}, 50)

	k := proposing(t, m, 2)
	x, info, r := make([]int32, 120), make([]sampler.Info, 2), sweeptest.Streams(2)
	for i := range x {
		x[i] = int32(i * i % 7 % 2)
	}
	require.NoError(t, k.Reset(sampler.Control{}, x))
	old := PollWork
	PollWork = 1
	sum, d := 0.0, make([]float64, 2)
	for colour := range 2 { // of the first chain, of which one colour moves at a time
		for i, l := range x[:60] {
			if (i/10+i%10)%2 == colour {
				m.Conditional(d, i, x[:60])
				sum += math.Min(1, math.Exp(d[l]-d[1-l]))
			}
		}
		k.Step(sampler.Control{Stop: func() bool { return true }}, info, x, r)
	}
	for k.Step(sampler.Control{Stop: func() bool { return true }}, info, x, r) == 0 {
	}
	PollWork = old
	assert.InDelta(t, sum/60, info[0].Accept, 1e-12)
	if !exact.Race {
		assert.Zero(t, testing.AllocsPerRun(20, func() { k.Step(sampler.Control{}, info, x, r) }))
	}
}

// Any number of workers gives the same bits.
func TestTorusMetropolisWorkers(t *testing.T) {
	m := exact.Must(model.NewIsing(model.Lattice{300, 334}, 0.3, 0.1))
	r := rand.New(rand.NewPCG(1, 1))
	start := make([]int32, 300*334)
	for i := range start {
		start[i] = r.Int32N(2)
	}
	var want []int32
	var observed []sampler.Info
	for _, workers := range []int{1, 2, 9} {
		k, x, info, r := proposing(t, m, 1), slices.Clone(start), make([]sampler.Info, 1), sweeptest.Streams(1)
		ctl := sampler.Control{Workers: workers}
		require.NoError(t, k.Reset(ctl, x))
		for range 3 {
			k.Step(ctl, info, x, r)
		}
		if want == nil {
			want, observed = x, info
		}
		require.Equal(t, want, x)
		require.Equal(t, observed, info)
	}
}
