package sampler_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
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

// Warm-up that is interrupted, saved and resumed ends like one that is not.
func TestCheckpointWithinWarmup(t *testing.T) {
	m := exact.NewQuadratic(9, 1)
	cfg := sampler.Config{Chains: 40, Seed: 3, Warmup: 400}
	want := runs.Run(t, m, mcmc.DMALA{}, cfg, 5)

	ctx, cancel := context.WithCancel(context.Background())
	cfg.Progress = func(done, total int) {
		if done > 50 {
			cancel()
		}
	}
	first, err := sampler.NewChains(context.Background(), m, mcmc.DMALA{}, cfg)
	require.NoError(t, err)
	require.ErrorIs(t, first.Run(ctx, 5), context.Canceled)
	require.Less(t, first.Steps()[0], 400)
	require.Equal(t, first.Steps()[0], first.Steps()[1])
	var file bytes.Buffer
	require.NoError(t, first.Save(&file))
	second, err := sampler.NewChains(context.Background(), m, mcmc.DMALA{}, cfg)
	require.NoError(t, err)
	require.NoError(t, second.Load(context.Background(), &file))
	require.NoError(t, second.Run(context.Background(), 5))
	assert.Equal(t, runs.Hash(want.States()), runs.Hash(second.States()))
	assert.Equal(t, want.StepSizes(), second.StepSizes())
}

func TestLoadRefusesWhatIsNotItsOwn(t *testing.T) {
	m := exact.NewQuadratic(5, 1)
	cfg := sampler.Config{Chains: 3, Warmup: 10}
	var file bytes.Buffer
	require.NoError(t, runs.Run(t, m, mcmc.Gibbs{}, cfg, 5).Save(&file))
	good := file.Bytes()

	fresh := func(m energy.Model, method sampler.Method, cfg sampler.Config) *sampler.Chains {
		c, err := sampler.NewChains(context.Background(), m, method, cfg)
		require.NoError(t, err)
		return c
	}
	load := func(c *sampler.Chains, b []byte) error {
		before := slices.Clone(c.States())
		err := c.Load(context.Background(), bytes.NewReader(b))
		if err != nil {
			assert.Equal(t, before, c.States(), "a refused load leaves the chains alone")
		}
		return err
	}
	assert.NoError(t, load(fresh(m, mcmc.Gibbs{}, cfg), good))
	assert.ErrorContains(t, load(fresh(m, mcmc.DMALA{}, cfg), good), "method is gibbs in the checkpoint and dmala here")
	assert.ErrorContains(t, load(fresh(m, mcmc.Gibbs{}, sampler.Config{Chains: 4, Warmup: 10}), good), "Config.Chains is 3 in the checkpoint and 4 here")
	assert.ErrorContains(t, load(fresh(exact.NewQuadratic(5, 2), mcmc.Gibbs{}, cfg), good), "energies of test states[0]")
	assert.ErrorContains(t, load(fresh(m, mcmc.Gibbs{}, cfg), []byte("hello, this is no checkpoint")), "not a checkpoint")
	assert.ErrorContains(t, load(fresh(m, mcmc.Gibbs{}, cfg), nil), "reading the head")
	for n := range good {
		require.Error(t, load(fresh(m, mcmc.Gibbs{}, cfg), good[:n]), "cut at %d", n)
	}
	for i := range good {
		b := slices.Clone(good)
		b[i] ^= 0x40
		require.Error(t, load(fresh(m, mcmc.Gibbs{}, cfg), b), "byte %d changed", i)
	}
}

func TestCancelledRunsGoOn(t *testing.T) {
	m := exact.NewQuadratic(9, 1)
	want := runs.Run(t, m, mcmc.DMALA{}, sampler.Config{Chains: 200, Warmup: -1}, 400)

	ctx, cancel := context.WithCancel(context.Background())
	var seen atomic.Int64
	cfg := sampler.Config{Chains: 200, Warmup: -1, Observe: func(chain, draw int, x []int32, info *sampler.Info) {
		if seen.Add(1) == 200*100 {
			cancel()
		}
	}}
	c, err := sampler.NewChains(context.Background(), m, mcmc.DMALA{}, cfg)
	require.NoError(t, err)
	require.ErrorIs(t, c.Run(ctx, 400), context.Canceled)
	require.ErrorIs(t, c.Err(), context.Canceled)
	require.Less(t, c.Len(), 400)
	assert.EqualValues(t, 200*c.Len(), seen.Load(), "every chain stops at the same draw")
	require.NoError(t, c.Run(context.Background(), 400-c.Len()))
	assert.NoError(t, c.Err())
	assert.Equal(t, runs.Hash(want.States()), runs.Hash(c.States()))
}

func TestDrawsYieldsWhatRunObserves(t *testing.T) {
	m := exact.NewQuadratic(4, 1)
	var ran [][]int32
	runs.Run(t, m, mcmc.Gibbs{}, sampler.Config{Chains: 1, Warmup: 5, Thin: 3, Observe: func(_, draw int, x []int32, _ *sampler.Info) {
		require.Equal(t, len(ran), draw)
		ran = append(ran, slices.Clone(x))
	}}, 20)
	c, err := sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, sampler.Config{Chains: 1, Warmup: 5, Thin: 3})
	require.NoError(t, err)
	var drawn [][]int32
	for x := range c.Draws(context.Background(), 20) {
		drawn = append(drawn, slices.Clone(x))
	}
	require.NoError(t, c.Err())
	assert.Equal(t, ran, drawn)
	for range c.Draws(context.Background(), 10) {
		break
	}
	assert.Equal(t, 21, c.Len(), "leaving the loop stops the chains")
}

func TestConfigErrors(t *testing.T) {
	m := exact.NewQuadratic(4, 1)
	for want, cfg := range map[string]sampler.Config{
		"Config.Chains = -1, want ≥ 0":                                             {Chains: -1},
		"Config.Warmup = -2, want ≥ -1":                                            {Warmup: -2},
		"Config.Thin = -1, want ≥ 0":                                               {Thin: -1},
		"Config.Generator: generator = 2, want 0 (Philox4x32-10) or 1 (ARS4x32-7)": {Generator: 2},
		"Config.Workers = -1, want ≥ 0":                                            {Workers: -1},
		"len(Config.Init) = 3, want 4 (one state) or 16":                           {Init: make([]int32, 3)},
		"Config.Init[1] = 2, want 0 … 1":                                           {Init: []int32{0, 2, 0, 0}},
	} {
		_, err := sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, cfg)
		assert.ErrorContains(t, err, want)
	}
	_, err := sampler.NewChains(context.Background(), nil, mcmc.Gibbs{}, sampler.Config{})
	assert.ErrorContains(t, err, "model = nil")
	_, err = sampler.NewChains(context.Background(), m, nil, sampler.Config{})
	assert.ErrorContains(t, err, "method = nil")
	c, err := sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, sampler.Config{})
	require.NoError(t, err)
	assert.ErrorContains(t, c.Run(context.Background(), -1), "n = -1, want ≥ 0")
}

func TestInit(t *testing.T) {
	m := exact.NewQuadratic(3, 1)
	one, err := sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, sampler.Config{Chains: 2, Init: []int32{0, 1, 1}})
	require.NoError(t, err)
	assert.Equal(t, []int32{0, 1, 1, 0, 1, 1}, one.States())
	each, err := sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, sampler.Config{Chains: 2, Init: []int32{0, 1, 1, 1, 0, 0}})
	require.NoError(t, err)
	assert.Equal(t, []int32{0, 1, 1, 1, 0, 0}, each.States())
}

func TestObserversAndStats(t *testing.T) {
	m := exact.NewQuadratic(3, 1)
	a, b := 0, 0
	count := func(n *int) sampler.Observer { return func(int, int, []int32, *sampler.Info) { *n++ } }
	c := runs.Run(t, m, mcmc.Metropolis{}, sampler.Config{Chains: 2, Warmup: 4, Workers: 1, Observe: count(&a).And(count(&b))}, 10)
	assert.Equal(t, []int{20, 20}, []int{a, b})
	s := c.Stats()
	assert.Equal(t, 20, s.Steps)
	assert.True(t, s.Accept > 0 && s.Accept <= 1 && s.Moved > 0 && s.Moved <= 3, "%+v", s)
	assert.Len(t, c.Info(), 2)
	assert.Nil(t, c.StepSizes())
}

func TestSaveReportsWriteErrors(t *testing.T) {
	c := runs.Run(t, exact.NewQuadratic(3, 1), mcmc.Gibbs{}, sampler.Config{}, 1)
	assert.ErrorContains(t, c.Save(failing{}), "disk full")
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }
