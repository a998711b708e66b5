package sampler_test

import (
	"context"
	"math"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// Verified runs have the bits of others, and find nothing where nothing is wrong.
func TestVerifyChangesNothing(t *testing.T) {
	m := exact.NewQuadratic(9, 1)
	for _, method := range []sampler.Method{mcmc.DMALA{}, mcmc.Gibbs{}, mcmc.Tempering{Rungs: 3}} {
		cfg := sampler.Config{Chains: 40, Seed: 5, Warmup: 20, Thin: 2}
		want := runs.Run(t, m, method, cfg, 30)
		for _, lean := range []bool{false, true} {
			cfg.Verify, cfg.Lean, cfg.Workers = 2, lean, 3
			c := exact.Must(sampler.NewChains(context.Background(), m, method, cfg))
			for range c.Draws(t.Context(), 10) {
				continue
			}
			require.NoError(t, c.Err())
			for range 4 {
				require.NoError(t, c.Run(t.Context(), 5))
			}
			assert.Equal(t, runs.Hash(want.States()), runs.Hash(c.States()), "%T, Lean %t", method, lean)
			assert.Equal(t, want.Stats(), c.Stats())
		}
	}
	_, err := sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, sampler.Config{Verify: -1})
	assert.ErrorContains(t, err, "Config.Verify = -1, want ≥ 0")
}

// An energy whose scratch is shared by all goroutines, as in code that was written
// for one of them: what a state gets depends on who asked before. The loads and
// stores are atomic, so that this is no data race for the race detector, and wrong
// all the same.
func TestVerifyCatchesSharedScratch(t *testing.T) {
	var scratch [4]atomic.Int64
	m := energy.Func{Sites: 4, Levels: 2, E: func(x []int32) float64 {
		e := 0.0
		for i, l := range x {
			e += float64(l) * float64(scratch[i].Load()%7) / 4
			scratch[i].Store(scratch[i].Load() + int64(l) + 1)
		}
		return e
	}}
	for _, workers := range []int{1, 4} {
		c := exact.Must(sampler.NewChains(context.Background(), m, mcmc.DMALA{StepSize: 0.2}, sampler.Config{Chains: 64, Seed: 1, Warmup: -1, Verify: 1, Workers: workers}))
		var differs *sampler.VerifyError
		require.ErrorAs(t, c.Run(t.Context(), 100), &differs, "%d workers", workers)
		require.ErrorAs(t, c.Err(), &differs)
		assert.Contains(t, []int{0, 1}, differs.Block)
		assert.Equal(t, 32*differs.Block, differs.First)
		assert.Equal(t, 32, differs.Chains)
		assert.Less(t, differs.Step, 20, "it shows at once")
		assert.ErrorContains(t, differs, "is not reproducible: from step ")
		assert.Equal(t, 100, c.Len(), "the draws have been made")
	}
}

// slipping kernels are functions of their arguments but for one step, of one call
// in the life of the process: what a failing machine does.
type slipping struct {
	calls *atomic.Int64
	at    int64
	how   func(k *slippingKernel, x []int32)
}

func (s slipping) Kernel(_ context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	k, err := mcmc.Gibbs{}.Kernel(context.Background(), m, chains)
	return &slippingKernel{Kernel: k, s: s}, err
}

func (slipping) Settings(func(string, any)) {}

type slippingKernel struct {
	sampler.Kernel
	s    slipping
	note byte
}

func (k *slippingKernel) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) int {
	done := k.Kernel.Step(ctl, info, x, r)
	if k.s.calls.Add(1) == k.s.at {
		k.s.how(k, x)
	}
	return done
}

func (k *slippingKernel) AppendBinary(b []byte) ([]byte, error) {
	return k.Kernel.AppendBinary(append(b, k.note))
}

func (k *slippingKernel) UnmarshalBinary(b []byte) error {
	k.note = b[0]
	return k.Kernel.UnmarshalBinary(b[1:])
}

// One wrong bit in one step is found, with its block and step; also one that is
// only in the caches of a kernel, or in the last step.
func TestVerifyNamesBlockAndStep(t *testing.T) {
	m := exact.NewQuadratic(4, 1)
	flip := func(_ *slippingKernel, x []int32) { x[1] ^= 1 }
	for _, c := range []struct {
		at   int64
		how  func(k *slippingKernel, x []int32)
		step int
	}{{1, flip, 0}, {14, flip, 13}, {50, flip, 49}, {14, func(k *slippingKernel, _ []int32) { k.note++ }, 49}} {
		var calls atomic.Int64
		chains := exact.Must(sampler.NewChains(context.Background(), m, slipping{&calls, c.at, c.how}, sampler.Config{Chains: 96, First: 72, Verify: 1, Warmup: 10}))
		var differs *sampler.VerifyError
		require.ErrorAs(t, chains.Run(t.Context(), 40), &differs)
		assert.Equal(t, &sampler.VerifyError{Block: 3, First: 72, Chains: 24, Step: c.step}, differs)
		require.NoError(t, chains.Run(t.Context(), 40), "the machine has recovered")
	}
}

// Every block has its turn, and only every n-th run is looked at.
func TestVerifyDrawsBlocks(t *testing.T) {
	found := map[int]bool{}
	for seed := range uint64(60) {
		var calls atomic.Int64
		noise := energy.Func{Sites: 2, Levels: 2, E: func([]int32) float64 { return math.Mod(math.Sqrt(float64(calls.Add(1))), 1) }}
		c := exact.Must(sampler.NewChains(context.Background(), noise, mcmc.DMALA{StepSize: 1}, sampler.Config{Chains: 4, Seed: seed, Verify: 3, Warmup: -1}))
		require.NoError(t, c.Run(t.Context(), 50))
		require.NoError(t, c.Run(t.Context(), 50))
		var differs *sampler.VerifyError
		require.ErrorAs(t, c.Run(t.Context(), 50), &differs)
		require.GreaterOrEqual(t, differs.Step, 100)
		found[differs.Block] = true
	}
	assert.Len(t, found, 4)
}

// The journal of a long run keeps every other step once it is full, and names the
// first of these; an error that is gone a step later shows there.
func TestVerifyLongRuns(t *testing.T) {
	const at = 70_001
	var calls atomic.Int64
	m := energy.Func{Sites: 1, Levels: 2, E: func([]int32) float64 { return 0 }}
	slip := slipping{&calls, at, func(_ *slippingKernel, x []int32) { x[0] ^= 1 }}
	c := exact.Must(sampler.NewChains(context.Background(), m, slip, sampler.Config{Chains: 1, Verify: 1, Warmup: -1}))
	var differs *sampler.VerifyError
	require.ErrorAs(t, c.Run(t.Context(), 80_000), &differs)
	assert.Equal(t, 70_001, differs.Step, "step 70000 was wrong, and every second one is compared")
}
