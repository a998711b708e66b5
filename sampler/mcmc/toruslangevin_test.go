package mcmc

import (
	"context"
	"fmt"
	"math"
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
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/generator"
)

// withTorusFrom sets the number of sites from which on tori are bits.
func withTorusFrom(t testing.TB, sites int) {
	old := fewestSites
	fewestSites = sites
	t.Cleanup(func() { fewestSites = old })
}

// ways are the settings of methods whose proposals are bits on a torus.
func ways() map[string]sampler.Method {
	all := map[string]sampler.Method{"exact": DMALA{StepSize: 0.5, Exact: true}, "tiny": DMALA{StepSize: 1e-4}}
	for _, b := range balances() {
		all["DMALA "+b.String()] = DMALA{StepSize: 0.7, Balance: b}
		all["DLMC "+b.String()] = DLMC{StepSize: 0.4, Balance: b}
	}
	return all
}

// both returns the kernels of a method that hold states as bits and as numbers.
func both(t testing.TB, method sampler.Method, m energy.Model, chains int) (*torusLangevin, *hastings) {
	old := fewestSites
	defer func() { fewestSites = old }()
	fewestSites = 0
	bits, ok := must(method.Kernel(context.Background(), m, chains)).(*torusLangevin)
	require.True(t, ok)
	fewestSites = math.MaxInt
	numbers, ok := must(method.Kernel(context.Background(), m, chains)).(*hastings)
	require.True(t, ok)
	return bits, numbers
}

// between returns what a kernel counts of a move from the state it holds to y: sites,
// and the energy of y.
func (k *torusLangevin) between(y []int32) (forth, back simd.FlipTally, e float64) {
	k.next[0].Pack(y)
	k.job.state, k.job.next = k.states[0], k.next[0]
	k.tally(0)
	forth, back = k.forth[0], k.back[0]
	m := movementOf(&back)
	return forth, back, k.energyAt(0, m)
}

// The proposal is that of states that are numbers, whose matrices are proven: it has
// its probabilities, in both directions, and the model's energies.
func TestTorusLangevinIsTheProposal(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	for name, method := range ways() {
		for _, shape := range [][2]int{{4, 4}, {5, 3}, {6, 10}, {40, 28}, {33, 35}} {
			m := chequered(t, shape[0], shape[1])
			sites := shape[0] * shape[1]
			bits, numbers := both(t, method, m, 1)
			require.Equal(t, numbers.StepSize(), bits.StepSize())
			x, y := make([]int32, sites), make([]int32, sites)
			for trial := range 30 {
				for i := range x {
					x[i], y[i] = r.Int32N(2), r.Int32N(2)
					if trial%2 == 0 {
						y[i] = x[i] ^ y[i]&r.Int32N(2)
					}
				}
				require.NoError(t, bits.Reset(sampler.Control{}, x))
				require.NoError(t, numbers.Reset(sampler.Control{}, x))
				load(numbers.proposal, numbers.next, y, x)
				forth, back, e := bits.between(y)
				slack := 1e-13 * float64(sites) * 40
				require.InDelta(t, numbers.proposal.current(y, x, 0), bits.logProb(&forth, &simd.FlipTally{}), slack, name)
				require.InDelta(t, numbers.proposal.logProb(x, y, 0), bits.logProb(&back, &simd.FlipTally{}), slack, name)
				require.InDelta(t, numbers.next[0], e, 1e-4)
				m.Energy(numbers.next, y)
				require.InDelta(t, numbers.next[0], e, 1e-10)
			}
		}
	}
}

// Rows of the transition matrix on all states of a torus, from the numbers that the
// kernel decides with: probabilities sum to 1, balance is detailed, and steps from
// there end where the row says.
func TestTorusLangevinTransition(t *testing.T) {
	exact.SkipUnderRace(t)
	m := chequered(t, 4, 4)
	e := exact.Energies(m)
	all := exact.States(16, 2)
	r := rand.New(rand.NewPCG(9, 2))
	for n, method := range []sampler.Method{DMALA{StepSize: 1}, DLMC{StepSize: 1, Balance: Barker}} {
		from := all[[]int{0x3a5c, 0x0001}[n]]
		k, _ := both(t, method, m, sampler.BlockSize)
		x := slices.Repeat(from, sampler.BlockSize)
		require.NoError(t, k.Reset(sampler.Control{}, x))
		law, total := make([]float64, len(all)), 0.0
		for y, state := range all {
			forth, back, reached := k.between(state)
			a, ok := accept(k.energy(0)-reached, k.logProb(&forth, &simd.FlipTally{}), k.logProb(&back, &simd.FlipTally{}))
			require.True(t, ok)
			total += math.Exp(k.logProb(&forth, &simd.FlipTally{}))
			law[y] = math.Exp(k.logProb(&forth, &simd.FlipTally{})) * a
			if r.IntN(64) == 0 { // the way back
				b, _ := accept(reached-k.energy(0), k.logProb(&back, &simd.FlipTally{}), k.logProb(&forth, &simd.FlipTally{}))
				flow := math.Exp(e[exact.Index(from, 2)]-e[y]+k.logProb(&back, &simd.FlipTally{})) * b
				require.InDelta(t, law[y], flow, 1e-12)
			}
		}
		require.InDelta(t, 1, total, 1e-12)
		stay(law, exact.Index(from, 2))
		for _, g := range []generator.Kind{generator.Philox4x32, generator.ARS4x32} {
			holdSteps(t, k, from, law, g)
		}
	}
}

// holdSteps holds steps from one state to the law of their ends.
func holdSteps(t *testing.T, k sampler.Kernel, from []int32, law []float64, g generator.Kind) {
	x, info, streams := make([]int32, sampler.BlockSize*16), make([]sampler.Info, sampler.BlockSize), make([]sampler.Stream, sampler.BlockSize)
	for s := range streams {
		require.NoError(t, streams[s].SeedOf(g, 8, uint64(s)))
	}
	counts := make([]int, len(law))
	for range 1500 {
		copy(x, slices.Repeat(from, sampler.BlockSize))
		require.NoError(t, k.Reset(sampler.Control{}, x))
		k.Step(sampler.Control{}, info, x, streams)
		exact.Tally(counts, x, 16, 2)
		for s, told := range info {
			require.Equal(t, changed(from, x[16*s:16*(s+1)]), told.Moved)
		}
	}
	for _, shift := range []int{0, 8} { // by rows, so that cells fill
		coarse, coarseLaw := make([]int, 256), make([]float64, 256)
		for i := range law {
			coarse[i>>shift&255] += counts[i]
			coarseLaw[i>>shift&255] += law[i]
		}
		exact.Counts(t, coarse, coarseLaw, exact.Rate)
		wrong := make([]float64, 256)
		for i := range wrong {
			wrong[i] = coarseLaw[i^1]
		}
		assert.Less(t, exact.PValue(coarse, wrong), exact.Rate)
	}
}

func TestTorusLangevinIsUsedWhereItApplies(t *testing.T) {
	withTorusFrom(t, 64)
	scaled, err := energy.Scale(chequered(t, 8, 8), 0.5)
	require.NoError(t, err)
	for n, c := range []struct {
		m      energy.Model
		method sampler.Method
		fast   bool
	}{
		{chequered(t, 8, 8), DMALA{}, true},
		{scaled, DMALA{Balance: Max, Exact: true}, true},
		{scaled, DLMC{}, true},
		{chequered(t, 6, 10), DMALA{}, false}, // too small
		{chequered(t, 8, 9), DMALA{}, true},
		{chequered(t, 27, 3), DLMC{}, true},
		{chequered(t, 2, 40), DLMC{}, false},
		{chequered(t, 8, 8), DULA{}, false},
		{chequered(t, 8, 8), Cyclical{}, false},
		{chequered(t, 8, 8), DMALA{Preconditioner: slices.Repeat([]float32{1}, 64)}, false},
		{chequered(t, 8, 8), DMALA{Window: 1}, false},
	} {
		_, fast := must(c.method.Kernel(context.Background(), c.m, 1)).(*torusLangevin)
		assert.Equal(t, c.fast, fast, "case %d", n)
	}
	for want, method := range map[string]sampler.Method{
		"Window = -1":              DMALA{Window: -1},
		"Balance = Balance(9)":     DMALA{Balance: 9},
		"StepSize = -1":            DLMC{StepSize: -1},
		"chains = 33, want 1 … 32": DMALA{},
	} {
		_, err := method.Kernel(context.Background(), chequered(t, 8, 8), 33)
		if !strings.Contains(want, "33") {
			_, err = method.Kernel(context.Background(), chequered(t, 8, 8), 1)
		}
		assert.ErrorContains(t, err, want)
	}
}

func TestTorusLangevinRuns(t *testing.T) {
	withTorusFrom(t, 0)
	m := chequered(t, 4, 6)
	for _, method := range []sampler.Method{DMALA{}, DMALA{StepSize: 0.5}, DLMC{}} {
		runs.Resume(t, m, method)
		k := must(method.Kernel(context.Background(), m, 4))
		x, info, streams := make([]int32, 4*24), make([]sampler.Info, 4), make([]sampler.Stream, 4)
		require.NoError(t, k.Reset(sampler.Control{}, x))
		if !exact.Race {
			assert.Zero(t, testing.AllocsPerRun(20, func() { k.Step(sampler.Control{}, info, x, streams) }))
		}
		saved, err := k.AppendBinary(nil)
		require.NoError(t, err)
		for _, n := range []int{0, 8, 31, 39, len(saved) - 16} {
			assert.ErrorIs(t, k.UnmarshalBinary(saved[:n]), wire.ErrShort)
		}
		_, numbers := both(t, method, m, 4)
		require.NoError(t, numbers.Reset(sampler.Control{}, x))
		old, err := numbers.AppendBinary(nil)
		require.NoError(t, err)
		assert.ErrorContains(t, k.UnmarshalBinary(old), "the kernel that DMALA and DLMC had")
		colours := wire.AppendInts(nil, 0x6b696e64) // began those of states in two colours
		assert.ErrorContains(t, k.UnmarshalBinary(append(colours, saved[8:]...)), "the kernel that DMALA and DLMC had")
		assert.Error(t, k.UnmarshalBinary(append(slices.Clone(saved), 0)))
		for want, alpha := range map[string][]byte{"step size NaN": {0, 0, 0, 0, 0, 0, 0xf8, 0xff}, "step size 0": make([]byte, 8)} {
			copy(saved[8+4*8+4*24:], alpha)
			assert.ErrorContains(t, k.UnmarshalBinary(saved), want)
		}
	}
}

// It adapts as the kernel of numbers does, to the same acceptance.
func TestTorusLangevinAdapts(t *testing.T) {
	exact.SkipUnderRace(t)
	withTorusFrom(t, 0)
	m := chequered(t, 8, 8)
	for _, method := range []sampler.Method{DMALA{}, DLMC{Balance: Min}} {
		c := runs.Run(t, m, method, sampler.Config{Chains: 32, Seed: 1, Warmup: 600}, 300)
		assert.InDelta(t, 0.574, c.Stats().Accept, 0.05)
	}
	k := must(DMALA{}.Kernel(context.Background(), m, 1)).(*torusLangevin)
	assert.Empty(t, k.Warning())
	require.NoError(t, k.Reset(sampler.Control{}, make([]int32, 64)))
	for step := range 400 {
		k.Adapt([]sampler.Info{{Accept: 0}}, step, 400)
	}
	assert.Contains(t, k.Warning(), "down to its bound")
}

// A lattice of several strips has the same bits whatever the number of workers, stopped
// between stages, resumed from a checkpoint or shown only now and then; energies are
// those of the model, and nothing allocates.
func TestTorusLangevinParallel(t *testing.T) {
	const rows, cols, sites = 400, 502, 400 * 502
	m := chequered(t, rows, cols)
	r := rand.New(rand.NewPCG(1, 2))
	first := make([]int32, sites)
	for i := range first {
		first[i] = r.Int32N(2)
	}
	kernel := func(workers int) *torusLangevin {
		k := must(DMALA{StepSize: 0.07}.Kernel(context.Background(), m, 1)).(*torusLangevin)
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
	var told sampler.Info
	for range 3 {
		told = step(k, want, s)
		require.Positive(t, told.Moved) // from a hot state
	}
	e := make([]float64, 1)
	m.Energy(e, want)
	assert.InEpsilon(t, e[0], told.Energy, 1e-12)

	x, k, s := slices.Clone(first), kernel(3), []sampler.Stream{*sampler.NewStream(3, 0)}
	require.NoError(t, k.Reset(sampler.Control{}, x))
	k.Step(sampler.Control{Unread: true, Workers: 3}, make([]sampler.Info, 1), x, s)
	assert.Equal(t, first, x, "deferred")
	k.Show(x)
	assert.NotEqual(t, first, x)
	old := pollWork
	pollWork = 1
	defer func() { pollWork = old }()
	info := make([]sampler.Info, 1)
	for range 2 { // after one stage, and after the next
		require.Zero(t, k.Step(sampler.Control{Stop: func() bool { return true }, Unread: true, Workers: 3}, info, x, s))
	}
	k.Show(x)
	saved, err := k.AppendBinary(nil)
	require.NoError(t, err)
	k = kernel(2)
	require.NoError(t, k.UnmarshalBinary(saved))
	for k.Step(sampler.Control{Stop: func() bool { return true }}, info, x, s) == 0 {
		require.NotEqual(t, want, x)
	}
	assert.Equal(t, told, step(k, x, s))
	require.Equal(t, want, x)
	if !exact.Race {
		assert.Zero(t, testing.AllocsPerRun(20, func() { k.Step(sampler.Control{}, info, x, s) }))
	}
}

// TestTorusLangevinGolden: a seed gives the same states in every version.
func TestTorusLangevinGolden(t *testing.T) {
	m := chequered(t, 18, 30)
	var b strings.Builder
	for _, method := range []sampler.Method{DMALA{}, DLMC{}, DMALA{Balance: Max}} {
		for _, g := range []generator.Kind{generator.Philox4x32, generator.ARS4x32} {
			c := runs.Run(t, m, method, sampler.Config{Chains: 3, Seed: 5, Warmup: 60, Generator: g}, 20)
			fmt.Fprintf(&b, "%T %v %016x\n", method, g, runs.Hash(c.States()))
		}
	}
	exact.Golden(t, "testdata/toruslangevin.golden", b.String())
}

// BenchmarkTorusLangevin steps chains of DMALA as bits and as numbers, with states that
// are read after each step and with such that are not.
func BenchmarkTorusLangevin(b *testing.B) {
	for _, side := range []int{8, 10, 12, 14, 16, 20, 24, 50, 256} {
		for _, chains := range []int{1, sampler.BlockSize} {
			for _, g := range []generator.Kind{generator.Philox4x32, generator.ARS4x32} {
				for _, how := range []string{"numbers", "bits", "deferred"} {
					b.Run(fmt.Sprintf("side=%d/chains=%d/%v/%s", side, chains, g, how), func(b *testing.B) {
						m, err := model.NewIsing(model.Lattice{side, side}, 0.1, 0.05)
						require.NoError(b, err)
						fewest := fewestSites
						fewestSites = map[string]int{"numbers": 1 << 30}[how]
						k := must(DMALA{StepSize: 0.2}.Kernel(context.Background(), m, chains))
						fewestSites = fewest
						sites := side * side
						x, info, streams := make([]int32, chains*sites), make([]sampler.Info, chains), make([]sampler.Stream, chains)
						for s := range streams {
							require.NoError(b, streams[s].SeedOf(g, 0, uint64(s)))
						}
						require.NoError(b, k.Reset(sampler.Control{}, x))
						ctl := sampler.Control{Unread: how == "deferred"}
						for range 20 {
							k.Step(ctl, info, x, streams)
						}
						for b.Loop() {
							k.Step(ctl, info, x, streams)
						}
						b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(chains*sites), "ns/site")
						b.ReportMetric(info[0].Accept, "accept")
					})
				}
			}
		}
	}
}
