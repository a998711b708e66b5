package sampler_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// A run that is stopped anywhere resumes from its checkpoint file, or from the
// generation before if that is damaged, to the bits of one that is not stopped.
func TestCheckpointFiles(t *testing.T) {
	m := exact.NewQuadratic(9, 1)
	cfg := sampler.Config{Chains: 40, Seed: 3, Warmup: 20}
	want := runs.Hash(runs.Run(t, m, mcmc.DMALA{}, cfg, 60).States())
	path := filepath.Join(t.TempDir(), "run")
	build := func() *sampler.Chains {
		c := cfg
		c.Checkpoint.Path, c.Checkpoint.Every = path, 7
		return exact.Must(sampler.NewChains(context.Background(), m, mcmc.DMALA{}, c))
	}
	finish := func(wantLen int) {
		t.Helper()
		plain := exact.Must(sampler.NewChains(context.Background(), m, mcmc.DMALA{}, cfg))
		require.NoError(t, plain.LoadFile(context.Background(), path))
		require.Equal(t, wantLen, plain.Len())
		require.NoError(t, plain.Run(context.Background(), 60-plain.Len()))
		assert.Equal(t, want, runs.Hash(plain.States()))
	}
	require.ErrorIs(t, build().LoadFile(context.Background(), path), os.ErrNotExist)
	require.NoError(t, build().Run(context.Background(), 10))
	finish(10)
	c := build()
	require.NoError(t, c.LoadFile(context.Background(), path))
	for range c.Draws(context.Background(), 15) { // saves after 7, 14 and 15
		continue
	}
	require.NoError(t, c.Err())
	finish(25)
	other := exact.Must(sampler.NewChains(context.Background(), m, mcmc.DMALA{StepSize: 0.3}, cfg))
	assert.ErrorContains(t, other.LoadFile(context.Background(), path), "dmala.StepSize", "another run's file is refused, not passed over")
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	b[len(b)/2] ^= 4
	require.NoError(t, os.WriteFile(path, b, 0o600))
	finish(24)
	require.NoError(t, os.Remove(path))
	finish(24)
}

// A file that cannot be written ends the run with an error.
func TestCheckpointFileErrors(t *testing.T) {
	cfg := sampler.Config{Chains: 2, Warmup: -1}
	cfg.Checkpoint.Path = filepath.Join(t.TempDir(), "no", "folder")
	c := exact.Must(sampler.NewChains(context.Background(), exact.NewQuadratic(3, 1), mcmc.Gibbs{}, cfg))
	require.ErrorIs(t, c.Run(context.Background(), 3), os.ErrNotExist)
	require.ErrorIs(t, c.Err(), os.ErrNotExist)
	cfg.Checkpoint.Every = -1
	_, err := sampler.NewChains(context.Background(), exact.NewQuadratic(3, 1), mcmc.Gibbs{}, cfg)
	assert.ErrorContains(t, err, "Config.Checkpoint.Every = -1, want ≥ 0")
}
