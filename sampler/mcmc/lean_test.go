package mcmc

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
)

func constrained() []sampler.Method {
	three := constraint.Count{Levels: []int32{1}, Min: 3, Max: 3}
	return []sampler.Method{PairGibbs{Within: three}, DMALA{Within: three}, Tempering{Rungs: 3, Base: DMALA{Within: three}}}
}

// everyKernel lists the methods with a model, and those of kernels that this has not.
func everyKernel(t *testing.T) (all []sized) {
	m := exact.NewQuadratic(9, 1)
	for _, method := range append(everyMethod(), constrained()...) {
		all = append(all, sized{m, method})
	}
	dense := complete(t, 9, 0.3, 0.1)
	return append(all, sized{dense, Gibbs{}}, sized{dense, Gibbs{Scan: Systematic}})
}

// A kernel that is given what a new one wrote is as new, whatever it did before:
// what Lean runs rest on.
func TestKernelsBecomeNew(t *testing.T) {
	const chains = 9
	for _, c := range everyKernel(t) {
		m, method := c.m, c.method
		k := exact.Must(method.Kernel(context.Background(), m, chains))
		fresh := exact.Must(k.AppendBinary(nil))
		x, y := make([]int32, chains*9), make([]int32, chains*9)
		streams, info := make([]sampler.Stream, chains), make([]sampler.Info, chains)
		for s := range streams {
			streams[s].Seed(5, uint64(s))
			for i := range 3 {
				x[s*9+i], y[s*9+8-i] = 1, 1
			}
		}
		require.NoError(t, k.Reset(x), "%T", method)
		for step := range 20 {
			k.Step(info, x, streams)
			if a, ok := k.(sampler.Adaptive); ok {
				a.Adapt(info, step, 20)
			}
		}
		require.NoError(t, k.UnmarshalBinary(fresh), "%T", method)
		assert.Equal(t, fresh, exact.Must(k.AppendBinary(nil)), "%T", method)
		require.NoError(t, k.Reset(y), "%T", method)
		other := exact.Must(method.Kernel(context.Background(), m, chains))
		require.NoError(t, other.Reset(y))
		assert.Equal(t, exact.Must(other.AppendBinary(nil)), exact.Must(k.AppendBinary(nil)), "%T %+v", method, method)
	}
}

// A Lean run has the bits of any other: draws, states, statistics and the
// checkpoint to the byte, through stops, checkpoints of either kind, new states
// and another target.
func TestLeanRunsHaveTheSameBits(t *testing.T) {
	exact.SkipUnderRace(t)
	for _, c := range everyKernel(t) {
		m, method := c.m, c.method
		build := func(lean bool) *sampler.Chains {
			return exact.Must(sampler.NewChains(context.Background(), m, method, sampler.Config{Chains: 30, Seed: 3, Warmup: 20, Thin: 2, Lean: lean, Workers: 2}))
		}
		plain, lean := build(false), build(true)
		same := func(when string) {
			t.Helper()
			require.Equal(t, plain.States(), lean.States(), "%T %s", method, when)
			require.Equal(t, plain.StepSizes(), lean.StepSizes(), "%T %s", method, when)
			require.Equal(t, plain.Stats(), lean.Stats(), "%T %s", method, when)
			require.Equal(t, plain.Len(), lean.Len(), "%T %s", method, when)
			var one, two bytes.Buffer
			require.NoError(t, plain.Save(&one))
			require.NoError(t, lean.Save(&two))
			require.Equal(t, one.Bytes(), two.Bytes(), "%T %s", method, when)
			require.NoError(t, plain.Load(context.Background(), &two)) // each the other's
			require.NoError(t, lean.Load(context.Background(), &one))
		}
		both := func(f func(c *sampler.Chains) error) {
			t.Helper()
			require.NoError(t, f(plain), "%T", method)
			require.NoError(t, f(lean), "%T", method)
		}
		same("at the start")
		for _, n := range []int{0, 7, 1, 5} {
			both(func(c *sampler.Chains) error { return c.Run(t.Context(), n) })
			same("after a run")
		}
		both(func(c *sampler.Chains) error {
			for range c.Draws(t.Context(), 3) {
				continue
			}
			return c.Err()
		})
		same("after Draws")
		x := make([]int32, 30*9)
		for i := range x {
			if i%9 < 3 {
				x[i] = 1
			}
		}
		both(func(c *sampler.Chains) error { return c.SetStates(x) })
		both(func(c *sampler.Chains) error { return c.Run(t.Context(), 4) })
		same("after SetStates")
		assert.Len(t, lean.Kernels(), len(plain.Kernels()))
		assert.Nil(t, lean.Info())
		other := exact.Must(energy.Scale(m, 0.5))
		both(func(c *sampler.Chains) error { return sampler.Retarget(t.Context(), c, other) })
		both(func(c *sampler.Chains) error { return c.Run(t.Context(), 4) })
		require.Equal(t, plain.States(), lean.States(), "%T after Retarget", method)
	}
}
