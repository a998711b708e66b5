package mcmc

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// looks counts the work between two questions whether to stop: random words drawn
// and, for models that count them, evaluations.
type looks struct {
	r                      []sampler.Stream
	evaluated              *int
	asked, words, energies int // the most between two questions
	lastWords, lastEnergy  int
}

// drawn returns the number of words drawn from all streams.
func (l *looks) drawn() (n int) {
	for s := range l.r {
		b, _ := l.r[s].MarshalBinary()
		n += int(binary.LittleEndian.Uint64(b[16:]))
	}
	return n
}

// gap takes stock of the work since the last question.
func (l *looks) gap() {
	words, energies := l.drawn(), *l.evaluated
	l.words, l.energies = max(l.words, words-l.lastWords), max(l.energies, energies-l.lastEnergy)
	l.lastWords, l.lastEnergy = words, energies
}

func (l *looks) ask() bool {
	l.asked++
	l.gap()
	return false
}

// measure makes a Reset and a step of c and returns the work between looks, of the
// step, and the words of the whole.
func measure(t *testing.T, c sized, chains int, evaluated *int, step func(k sampler.Kernel, stop func() bool, info []sampler.Info, x []int32, r []sampler.Stream)) (l *looks, resets, total int) {
	sites, _ := c.m.Shape()
	k := exact.Must(c.method.Kernel(context.Background(), c.m, chains))
	x := make([]int32, chains*sites)
	for i := 0; i < len(x); i += 5 {
		x[i] = 1
	}
	require.NoError(t, k.Reset(sampler.Control{Stop: func() bool { resets++; return false }}, x))
	l = &looks{r: sweeptest.Streams(chains), evaluated: evaluated, lastEnergy: *evaluated}
	step(k, l.ask, make([]sampler.Info, chains), x, l.r)
	l.gap()
	return l, resets, l.drawn()
}

// No kernel does more between two questions whether to stop than a stage of one
// chain, and on a user's model than the evaluations of one table of differences. A
// kernel that can only make whole steps is found out.
func TestWorkBetweenLooks(t *testing.T) {
	withoutBits(t) // a part of a sweep, of all chains, is less work than what it takes of a stream
	const chains = 16
	evaluated := 0
	for _, c := range partial(t) {
		if f, ok := c.m.(energy.Func); ok {
			e := f.E
			f.E = func(x []int32) float64 { evaluated++; return e(x) }
			c.m = f
		}
		l, resets, total := measure(t, c, chains, &evaluated, func(k sampler.Kernel, stop func() bool, info []sampler.Info, x []int32, r []sampler.Stream) {
			k.Step(sampler.Control{Stop: stop}, info, x, r)
		})
		bound := 2 * total / chains
		assert.GreaterOrEqual(t, l.asked, chains-1, "%v", c)
		assert.GreaterOrEqual(t, resets, chains/2, "%v", c)
		assert.LessOrEqual(t, l.words, bound, "%v: %d words in all", c, total)
		assert.LessOrEqual(t, l.energies, 30+1, "%v", c) // the table of one state, which a Func makes in one call

		twin, _, _ := measure(t, c, chains, &evaluated, func(k sampler.Kernel, _ func() bool, info []sampler.Info, x []int32, r []sampler.Stream) {
			k.Step(sampler.Control{}, info, x, r)
		})
		assert.Greater(t, twin.words, bound, "%v: whole steps pass", c)
	}
}

// withForests lets chains move forests eight at a time for the rest of a test, on every processor.
func withForests(t *testing.T) {
	forests := fewestForests
	fewestForests = 2
	t.Cleanup(func() { fewestForests = forests })
}

// withoutBits lets the chains of a block move one by one for the rest of a test.
func withoutBits(t *testing.T) {
	bits, rows, forests := sweep.FewestBits, sweep.FewestRows, fewestForests
	sweep.FewestBits, sweep.FewestRows, fewestForests = sampler.BlockSize+1, sampler.BlockSize+1, sampler.BlockSize+1
	t.Cleanup(func() { sweep.FewestBits, sweep.FewestRows, fewestForests = bits, rows, forests })
}
