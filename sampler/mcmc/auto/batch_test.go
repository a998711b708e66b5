package auto

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// Once it has chosen, Auto makes steps that nobody reads as the chosen kernel does alone:
// many at once, to the bits of those that are read one by one.
func TestBatches(t *testing.T) {
	ctx := context.Background()
	m := exact.Must(model.NewIsing(model.Lattice{5, 5}, 0.2, 0.2))
	method := Method{Candidates: []sampler.Method{mcmc.Gibbs{}, mcmc.DMALA{}}}
	cfg := sampler.Config{Chains: 512, Seed: 1, Warmup: 120, Workers: 1}
	read := cfg
	read.Observe = func(int, int, []int32, *sampler.Info) {}
	one, many := exact.Must(sampler.NewChains(context.Background(), m, method, read)), exact.Must(sampler.NewChains(context.Background(), m, method, cfg))
	k := many.Kernels()[0].(*starting)
	assert.Nil(t, k.Unwrap(), "candidates are looked at step by step")
	for range 2 {
		require.NoError(t, one.Run(ctx, 60))
		require.NoError(t, many.Run(ctx, 60))
	}
	assert.Zero(t, Reports(many)[0].Chosen)
	assert.Equal(t, one.States(), many.States())
	assert.Equal(t, one.Info(), many.Info())
	assert.Equal(t, one.Stats(), many.Stats())
	var a, b bytes.Buffer
	require.NoError(t, one.Save(&a))
	require.NoError(t, many.Save(&b))
	assert.Equal(t, a.Bytes(), b.Bytes())
	lead, ok := sampler.As[sampler.Companion](sampler.Kernel(k))
	require.True(t, ok)
	assert.Positive(t, lead.Company(16))
	company := []sampler.Block{{Kernel: exact.Must(mcmc.DMALA{}.Kernel(ctx, m, 32)), R: make([]sampler.Stream, 32)}}
	assert.Zero(t, k.Step(sampler.Control{Steps: 5, Unread: true, Company: company}, make([]sampler.Info, 32), many.States()[:32*25], make([]sampler.Stream, 32)))
}

// Under Tempering, kernels that have been chosen exchange the states of rungs, also in a run
// that goes on from a checkpoint.
func TestChosenKernelsExchange(t *testing.T) {
	ctx := context.Background()
	m := exact.Must(model.NewIsing(model.Lattice{6, 6}, 0.3, 0.1))
	method := mcmc.Tempering{Base: Method{Candidates: []sampler.Method{mcmc.Gibbs{}}}, Betas: []float64{1, 0.7, 0.4}}
	cfg := sampler.Config{Chains: 16, Seed: 1, Warmup: 20, Workers: 1}
	whole, half := exact.Must(sampler.NewChains(ctx, m, method, cfg)), exact.Must(sampler.NewChains(ctx, m, method, cfg))
	require.NoError(t, whole.Run(ctx, 60))
	require.NoError(t, half.Run(ctx, 25))
	var file bytes.Buffer
	require.NoError(t, half.Save(&file))
	next := exact.Must(sampler.NewChains(ctx, m, method, cfg))
	require.NoError(t, next.Load(ctx, &file))
	require.NoError(t, next.Run(ctx, 35))
	assert.Equal(t, whole.States(), next.States())
	assert.Equal(t, whole.Stats(), next.Stats())
	for s, info := range whole.Info() {
		assert.Equal(t, info.Energy, next.Info()[s].Energy)
	}
	plain := exact.Must(sampler.NewChains(ctx, m, mcmc.Tempering{Base: mcmc.Gibbs{}, Betas: method.Betas}, cfg))
	require.NoError(t, plain.Run(ctx, 60))
	assert.Equal(t, plain.States(), whole.States())
}
