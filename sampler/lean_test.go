package sampler_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/langevin"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// Lean parts, with checkpoints and any number of workers, are the whole too.
func TestLeanPartsAreTheWhole(t *testing.T) {
	m := exact.NewQuadratic(4, 1)
	plain := tokensOf(m, mcmc.DMALA{})
	lean := plain
	lean.build = func(part sampler.Config, observe func(chain, draw int, x []int32, info *sampler.Info)) (*sampler.Chains, error) {
		part.Lean = true
		return plain.build(part, observe)
	}
	want := plain.digest(t, 1, 2, 0)
	for _, workers := range []int{1, 3} {
		assert.Equal(t, want, lean.digest(t, 1, workers, 0), "%d workers", workers)
	}
	assert.Equal(t, want, lean.digest(t, 7, 2, 2))

	target := exact.Must(continuous.NewQuadratic([]float64{1, 0.3, 0.3, 2}, nil, 0))
	var states [][]float32
	for _, lean := range []bool{false, true} {
		c := exact.Must(langevin.New(context.Background(), target, langevin.Config{Chains: 70, Warmup: 20, Lean: lean}))
		require.NoError(t, c.Run(t.Context(), 10))
		require.NoError(t, c.Run(t.Context(), 5))
		states = append(states, slices.Clone(c.States()))
	}
	assert.Equal(t, states[0], states[1])
}

// A Lean run that its context ends leaves blocks apart; a later one, of these
// chains or of others that load their checkpoint, gets to the same end.
func TestLeanRunsGoOn(t *testing.T) {
	m := exact.NewQuadratic(9, 1)
	cfg := sampler.Config{Chains: 200, Warmup: 20, Seed: 2}
	want := runs.Run(t, m, mcmc.DMALA{}, cfg, 50)
	cfg.Lean, cfg.Workers = true, 2
	ctx, cancel := context.WithCancel(context.Background())
	var seen atomic.Int64
	last := 0
	cfg.Progress = func(done, total int) {
		assert.Equal(t, 70, total)
		assert.GreaterOrEqual(t, done, last)
		last = done
	}
	stopping := cfg
	stopping.Observe = func(int, int, []int32, *sampler.Info) {
		if seen.Add(1) == 3000 {
			cancel()
		}
	}
	c := exact.Must(sampler.NewChains(context.Background(), m, mcmc.DMALA{}, stopping))
	require.ErrorIs(t, c.Run(ctx, 50), context.Canceled)
	least, most := slices.Min(c.Steps()), slices.Max(c.Steps())
	assert.Zero(t, least)
	assert.Equal(t, 70, most)
	var file bytes.Buffer
	require.NoError(t, c.Save(&file))
	last = 0
	second := exact.Must(sampler.NewChains(context.Background(), m, mcmc.DMALA{}, cfg))
	require.NoError(t, second.Load(context.Background(), &file))
	for _, c := range []*sampler.Chains{c, second} {
		last = 0
		require.NoError(t, c.Run(t.Context(), 50-c.Len()))
		assert.Equal(t, want.States(), c.States())
		assert.Equal(t, want.StepSizes(), c.StepSizes())
		assert.Equal(t, 70, last)
	}
}

// What goes wrong in a Lean run is reported as in any other, and mended as there.
func TestLeanFailures(t *testing.T) {
	broken := true
	m := energy.Func{Sites: 2, Levels: 2, E: func(x []int32) float64 {
		if broken && x[0]+x[1] == 2 {
			return math.NaN()
		}
		return 0
	}}
	c := exact.Must(sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, sampler.Config{Chains: 200, Lean: true, Warmup: -1, Workers: 1, Init: []int32{0, 0}}))
	require.ErrorIs(t, c.Run(t.Context(), 10), sampler.ErrNaN)
	require.ErrorIs(t, c.Run(t.Context(), 10), sampler.ErrNaN, "stuck until Reset")
	broken = false
	require.NoError(t, c.Reset())
	require.NoError(t, c.Run(t.Context(), 10))
	assert.GreaterOrEqual(t, c.Len(), 10)

	// States are for SetStates to change, and start errors name the chain.
	c = exact.Must(sampler.NewChains(context.Background(), exact.NewQuadratic(2, 1), mcmc.DMALA{}, sampler.Config{Chains: 128, First: 64, Lean: true, Warmup: -1}))
	require.NoError(t, c.Run(t.Context(), 3))
	c.States()[0] = 1 - c.States()[0]
	require.ErrorContains(t, c.Run(t.Context(), 3), "chain 64 and on: the states of a Lean run have changed")
	c.States()[0] = 1 - c.States()[0]
	require.NoError(t, c.Reset())
	wall := energy.Func{Sites: 1, Levels: 2, E: func(x []int32) float64 {
		if x[0] == 1 {
			return math.Inf(1)
		}
		return 0
	}}
	c = exact.Must(sampler.NewChains(context.Background(), wall, mcmc.DMALA{}, sampler.Config{Chains: 128, First: 64, Lean: true, Warmup: -1, Init: []int32{0}}))
	require.NoError(t, c.Run(t.Context(), 1))
	x := make([]int32, 64)
	x[40] = 1
	var start *sampler.StartError
	require.ErrorAs(t, c.SetStates(x), &start)
	assert.Equal(t, 104, start.Chain)
	require.ErrorAs(t, c.Run(t.Context(), 1), &start)
	x[40] = 0
	require.NoError(t, c.SetStates(x))
	require.NoError(t, c.Run(t.Context(), 1))

	// An energy that remembers how often it was asked cannot be found again.
	var asked atomic.Int64
	moody := energy.Func{Sites: 3, Levels: 2, E: func([]int32) float64 { return float64(asked.Add(1) % 7) }}
	c = exact.Must(sampler.NewChains(context.Background(), moody, mcmc.DMALA{}, sampler.Config{Chains: 64, Lean: true, Warmup: -1}))
	require.ErrorContains(t, errors.Join(c.Run(t.Context(), 2), c.Run(t.Context(), 2)), "other values for the same states")

	// A panic leaves chains that go on.
	var calls atomic.Int64
	trip := energy.Func{Sites: 4, Levels: 2, E: func(x []int32) float64 {
		if calls.Add(1) == 4000 {
			panic(errUser)
		}
		return float64(x[0] + x[1]*x[2])
	}}
	c = exact.Must(sampler.NewChains(context.Background(), trip, mcmc.Gibbs{}, sampler.Config{Chains: 100, Lean: true, Warmup: -1, Workers: 2}))
	func() {
		defer func() {
			err, _ := recover().(error)
			assert.ErrorIs(t, err, errUser)
		}()
		_ = c.Run(context.Background(), 200)
		assert.Fail(t, "no panic")
	}()
	require.NoError(t, c.Run(t.Context(), 200-c.Len()))
	assert.Equal(t, 200, c.Len())
}

// Methods of one's own whose kernels do not become new are made anew instead.
func TestLeanKernelsOfOnesOwn(t *testing.T) {
	m := exact.NewQuadratic(3, 1)
	for _, lean := range []bool{false, true} {
		c := exact.Must(sampler.NewChains(context.Background(), m, forgetful{}, sampler.Config{Chains: 100, Lean: lean, Warmup: -1}))
		require.NoError(t, c.Run(t.Context(), 3))
		require.NoError(t, c.Run(t.Context(), 4))
		assert.Equal(t, slices.Repeat([]int{7}, 4), c.Steps())
		for _, k := range c.Kernels() {
			assert.Equal(t, 7, k.(*forgetfulKernel).steps)
		}
	}
}

// forgetful kernels count their steps, in as many bytes, and refuse to be new.
type forgetful struct{}

func (forgetful) Kernel(context.Context, energy.Model, int) (sampler.Kernel, error) {
	return &forgetfulKernel{}, nil
}

type forgetfulKernel struct{ seen, steps int }

func (k *forgetfulKernel) Reset([]int32) error {
	k.seen = 1
	return nil
}

func (k *forgetfulKernel) Step([]sampler.Info, []int32, []sampler.Stream) { k.steps++ }

func (k *forgetfulKernel) AppendBinary(b []byte) ([]byte, error) {
	return append(append(b, byte(k.seen)), make([]byte, k.steps)...), nil
}

func (k *forgetfulKernel) UnmarshalBinary(b []byte) error {
	if b[0] == 0 {
		return errUser
	}
	k.seen, k.steps = 1, len(b)-1
	return nil
}

var large = flag.Bool("large", false, "run 10⁶ chains in TestLeanMemory")

// TestLeanMemory measures what a Lean run keeps and what it throws away; with
// -large that of 10⁶ chains of 25 sites and 96 steps, and the peak of the process:
//
//	go test ./sampler -run LeanMemory -large -v
func TestLeanMemory(t *testing.T) {
	exact.SkipUnderRace(t)
	chains := 6400
	if *large {
		chains = 1_000_000
	}
	m := exact.Must(model.NewIsing(model.Lattice{5, 5}, 0.2, 0.2))
	heap := func() (live, total uint64) {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return s.HeapAlloc, s.TotalAlloc
	}
	before, made := heap()
	c := exact.Must(sampler.NewChains(context.Background(), m, mcmc.DMALA{}, sampler.Config{Chains: chains, Seed: 1, Warmup: 32, Lean: true, Workers: 2}))
	began := time.Now()
	require.NoError(t, c.Run(t.Context(), 64))
	took := time.Since(began)
	after, madeToo := heap()
	states := float64(chains * 25 * 4)
	kept, garbage := float64(after-before)/float64(chains), float64(madeToo-made)/float64(chains)
	t.Logf("%d chains: %.0f B a chain kept, %.0f B allocated in all, states %.0f B; %v; process peak %s", chains, kept, garbage, states/float64(chains), took, peak())
	assert.Less(t, kept, 100+60.0)
	assert.Less(t, garbage, 100+90.0, "hardly anything is thrown away, so that the heap need not grow")
	runtime.KeepAlive(c)
}
