package sweep

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/internal/tune"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// flipping is a law of flips as mcmc.DMALA and mcmc.DLMC have them.
type flipping struct {
	alpha float64
	jumps bool
	rate  simd.JumpRate
}

// SetStep implements [FlipLaw].
func (l *flipping) SetStep(alpha float64) { l.alpha = alpha }

// Thresholds implements [FlipLaw].
func (l *flipping) Thresholds(t []int32, h []float32, x []int32) {
	if l.jumps {
		simd.JumpThresholds(t, h, x, float32(l.alpha), l.rate)
		return
	}
	simd.FlipThresholds(t, h, x, 0.5, []float32{float32(1 / (2 * l.alpha))})
}

func laws() map[string]*flipping {
	return map[string]*flipping{
		"langevin": {alpha: 0.7}, "tiny": {alpha: 1e-4}, "jumps": {alpha: 0.4, jumps: true}, "jumps of Barker": {alpha: 0.4, jumps: true, rate: 1},
	}
}

func langevinOf(t *testing.T, m energy.Model, chains int, law *flipping, tuner *tune.Tuner) *torusLangevin {
	t.Helper()
	old := FewestSites
	defer func() { FewestSites = old }()
	FewestSites = 0
	k := newTorusLangevin(m, chains, law, law.alpha, tuner)
	require.NotNil(t, k)
	return k
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
	for name, law := range laws() {
		for _, shape := range [][2]int{{4, 4}, {5, 3}, {6, 10}, {40, 28}, {33, 35}} {
			m := sweeptest.Chequered(t, shape[0], shape[1])
			b, ok := energy.As[energy.Binary](m)
			require.True(t, ok)
			sites := shape[0] * shape[1]
			bits := langevinOf(t, m, 1, law, nil)
			require.Equal(t, law.alpha, bits.StepSize())
			x, y, e, h, p := make([]int32, sites), make([]int32, sites), make([]float64, 1), make([]float32, sites), make([]int32, sites)
			logProb := func(from, to []int32) float64 {
				b.Field(e, h, from)
				law.Thresholds(p, h, from)
				return simd.FlipLogProb(from, to, p)
			}
			for trial := range 30 {
				for i := range x {
					x[i], y[i] = r.Int32N(2), r.Int32N(2)
					if trial%2 == 0 {
						y[i] = x[i] ^ y[i]&r.Int32N(2)
					}
				}
				require.NoError(t, bits.Reset(sampler.Control{}, x))
				forth, back, reached := bits.between(y)
				slack := 1e-13 * float64(sites) * 40
				require.InDelta(t, logProb(x, y), bits.logProb(&forth, &simd.FlipTally{}), slack, name)
				require.InDelta(t, logProb(y, x), bits.logProb(&back, &simd.FlipTally{}), slack, name)
				m.Energy(e, y)
				require.InDelta(t, e[0], reached, 1e-10)
			}
		}
	}
}

// Rows of the transition matrix on all states of a torus, from the numbers that the
// kernel decides with: probabilities sum to 1, balance is detailed, and steps from
// there end where the row says.
func TestTorusLangevinTransition(t *testing.T) {
	exact.SkipUnderRace(t)
	m := sweeptest.Chequered(t, 4, 4)
	e := exact.Energies(m)
	all := exact.States(16, 2)
	r := rand.New(rand.NewPCG(9, 2))
	for n, law := range []*flipping{{alpha: 1}, {alpha: 1, jumps: true, rate: 1}} {
		from := all[[]int{0x3a5c, 0x0001}[n]]
		k := langevinOf(t, m, sampler.BlockSize, law, nil)
		x := slices.Repeat(from, sampler.BlockSize)
		require.NoError(t, k.Reset(sampler.Control{}, x))
		row, total := make([]float64, len(all)), 0.0
		for y, state := range all {
			forth, back, reached := k.between(state)
			a, ok := Accept(k.energy(0)-reached, k.logProb(&forth, &simd.FlipTally{}), k.logProb(&back, &simd.FlipTally{}))
			require.True(t, ok)
			total += math.Exp(k.logProb(&forth, &simd.FlipTally{}))
			row[y] = math.Exp(k.logProb(&forth, &simd.FlipTally{})) * a
			if r.IntN(64) == 0 { // the way back
				b, _ := Accept(reached-k.energy(0), k.logProb(&back, &simd.FlipTally{}), k.logProb(&forth, &simd.FlipTally{}))
				flow := math.Exp(e[exact.Index(from, 2)]-e[y]+k.logProb(&back, &simd.FlipTally{})) * b
				require.InDelta(t, row[y], flow, 1e-12)
			}
		}
		require.InDelta(t, 1, total, 1e-12)
		sweeptest.Stay(row, exact.Index(from, 2))
		for _, g := range []sampler.Generator{sampler.Philox4x32, sampler.ARS4x32} {
			holdSteps(t, k, from, row, g)
		}
	}
}

// holdSteps holds steps from one state to the law of their ends.
func holdSteps(t *testing.T, k sampler.Kernel, from []int32, law []float64, g sampler.Generator) {
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
		for s, observed := range info {
			require.Equal(t, Changed(from, x[16*s:16*(s+1)]), observed.Moved)
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

func TestTorusLangevinRuns(t *testing.T) {
	m := sweeptest.Chequered(t, 4, 6)
	for _, law := range laws() {
		tuner, err := tune.New("test", law.alpha, 0)
		require.NoError(t, err)
		k := langevinOf(t, m, 4, law, tuner)
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
		colours := wire.AppendInts(nil, 0x6b696e64) // began those of states in two colours
		assert.ErrorContains(t, k.UnmarshalBinary(append(colours, saved[8:]...)), "the kernel that DMALA and DLMC had")
		assert.Error(t, k.UnmarshalBinary(append(slices.Clone(saved), 0)))
		for want, alpha := range map[string][]byte{"step size NaN": {0, 0, 0, 0, 0, 0, 0xf8, 0xff}, "step size 0": make([]byte, 8)} {
			copy(saved[8+4*8+4*24:], alpha)
			assert.ErrorContains(t, k.UnmarshalBinary(saved), want)
		}
	}
}

// It says where its step size has come to a bound, and gives it to another kernel.
func TestTorusLangevinSteps(t *testing.T) {
	m := sweeptest.Chequered(t, 8, 8)
	tuner, err := tune.New("test", 0.2, 0)
	require.NoError(t, err)
	k := langevinOf(t, m, 1, &flipping{alpha: 0.2}, tuner)
	assert.Empty(t, k.Warning())
	require.NoError(t, k.Reset(sampler.Control{}, make([]int32, 64)))
	for step := range 400 {
		k.Adapt([]sampler.Info{{Accept: 0}}, step, 400)
	}
	assert.Contains(t, k.Warning(), "down to its bound")
	next := langevinOf(t, m, 1, &flipping{alpha: 3}, nil)
	KeepStep(next, k)
	assert.Equal(t, k.StepSize(), next.StepSize())
}

// A lattice of several strips has the same bits whatever the number of workers, stopped
// between stages, resumed from a checkpoint or shown only now and then; energies are
// those of the model, and nothing allocates.
func TestTorusLangevinParallel(t *testing.T) {
	const rows, cols, sites = 400, 502, 400 * 502
	m := sweeptest.Chequered(t, rows, cols)
	r := rand.New(rand.NewPCG(1, 2))
	first := make([]int32, sites)
	for i := range first {
		first[i] = r.Int32N(2)
	}
	kernel := func(workers int) *torusLangevin {
		k := langevinOf(t, m, 1, &flipping{alpha: 0.07}, nil)
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
		require.Positive(t, observed.Moved) // from a hot state
	}
	e := make([]float64, 1)
	m.Energy(e, want)
	assert.InEpsilon(t, e[0], observed.Energy, 1e-12)

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
	assert.Equal(t, observed, step(k, x, s))
	require.Equal(t, want, x)
	if !exact.Race {
		assert.Zero(t, testing.AllocsPerRun(20, func() { k.Step(sampler.Control{}, info, x, s) }))
	}
}
