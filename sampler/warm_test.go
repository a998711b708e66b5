package sampler_test

import (
	"bytes"
	"context"
	"math"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/auto"
)

// After Retarget and Warm chains accept as often as new ones of the new target do; without
// Warm, the twin, they keep the step size that kernels begin with.
func TestWarmTunesAnew(t *testing.T) {
	hot, cold := exact.Must(model.NewIsing(model.Lattice{11, 11}, 0.1, 0)), exact.Must(model.NewIsing(model.Lattice{11, 11}, 0.4, 0))
	cfg := sampler.Config{Chains: 32, Warmup: 600, Workers: 1}
	accept := func(c *sampler.Chains) float64 {
		before := c.Stats()
		require.NoError(t, c.Run(t.Context(), 400))
		after := c.Stats()
		return (after.Accept*float64(after.Steps) - before.Accept*float64(before.Steps)) / float64(after.Steps-before.Steps)
	}
	fresh := accept(exact.Must(sampler.NewChains(t.Context(), cold, mcmc.DMALA{}, cfg)))
	warm, stale := exact.Must(sampler.NewChains(t.Context(), hot, mcmc.DMALA{}, cfg)), exact.Must(sampler.NewChains(t.Context(), hot, mcmc.DMALA{}, cfg))
	for _, c := range []*sampler.Chains{warm, stale} {
		require.NoError(t, c.Run(t.Context(), 10))
		require.NoError(t, sampler.Retarget(t.Context(), c, cold))
	}
	require.NoError(t, warm.Warm(t.Context(), 600))
	assert.Zero(t, warm.Stats(), "statistics are those since the warm-up")
	assert.Equal(t, 10, warm.Len())
	assert.InDelta(t, fresh, accept(warm), 0.05)
	assert.Greater(t, math.Abs(accept(stale)-fresh), 0.15)
	c := exact.Must(sampler.NewChains(t.Context(), hot, mcmc.DMALA{}, cfg))
	assert.ErrorContains(t, c.Warm(t.Context(), -1), "n = -1, want ≥ 0")
	var none context.Context
	assert.ErrorContains(t, c.Warm(none, 1), "ctx = nil")
	require.NoError(t, c.Warm(t.Context(), 0))
	assert.Zero(t, c.Len())
}

// A warm-up that its context ends, or that a checkpoint is made of, goes on to the bits of
// one that was not stopped; a Run does that first.
func TestWarmResumes(t *testing.T) {
	m, next := exact.NewQuadratic(8, 1), exact.NewQuadratic(8, 1)
	for _, method := range []sampler.Method{mcmc.DMALA{}, mcmc.Gibbs{}, mcmc.Tempering{Rungs: 3}, auto.Method{Candidates: []sampler.Method{mcmc.Gibbs{}, mcmc.DMALA{}}}} {
		cfg := sampler.Config{Chains: 40, Warmup: 20, Workers: 2}
		build := func() *sampler.Chains {
			c := exact.Must(sampler.NewChains(t.Context(), m, method, cfg))
			require.NoError(t, c.Run(t.Context(), 5))
			require.NoError(t, sampler.Retarget(t.Context(), c, next))
			return c
		}
		saved := func(c *sampler.Chains) []byte {
			var b bytes.Buffer
			require.NoError(t, c.Save(&b))
			return b.Bytes()
		}
		whole := build()
		require.NoError(t, whole.Warm(t.Context(), 150))
		require.NoError(t, whole.Run(t.Context(), 7))

		stopped := build()
		ctx := &ending{Context: t.Context(), after: 90}
		require.ErrorIs(t, stopped.Warm(ctx, 150), context.Canceled)
		file := saved(stopped)
		require.NoError(t, stopped.Run(t.Context(), 7))
		loaded := exact.Must(sampler.NewChains(t.Context(), m, method, cfg))
		require.NoError(t, loaded.Load(t.Context(), bytes.NewReader(file)))
		require.NoError(t, loaded.Run(t.Context(), 7))
		for _, c := range []*sampler.Chains{stopped, loaded} {
			assert.Equal(t, whole.States(), c.States(), "%T", method)
			assert.Equal(t, whole.Stats(), c.Stats(), "%T", method)
			assert.Equal(t, whole.StepSizes(), c.StepSizes(), "%T", method)
			assert.Equal(t, saved(whole), saved(c), "%T", method)
		}
		for cut := len(file) - 1; cut > len(file)-60; cut-- {
			require.Error(t, loaded.Load(t.Context(), bytes.NewReader(file[:cut])))
		}
	}
}

// ending is a context that ends after so many looks.
type ending struct {
	context.Context
	after int64
	looks atomic.Int64
}

func (e *ending) Err() error {
	if e.looks.Add(1) > e.after {
		return context.Canceled
	}
	return nil
}
