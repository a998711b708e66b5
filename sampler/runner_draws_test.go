package sampler_test

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/drawfile"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// The file of Config.DrawsFile has every draw that an observer sees, also of a run that
// went on from a checkpoint, and a runner without the file's draws is refused.
func TestDrawsToAFile(t *testing.T) {
	ctx := context.Background()
	m := exact.Must(model.NewIsing(model.Lattice{3, 3}, 0.3, 0.1))
	path := filepath.Join(t.TempDir(), "run.draws")
	const chains, draws, sites = 6, 10, 9
	seen := make([]int32, chains*draws*sites)
	cfg := sampler.Config{Chains: chains, Seed: 3, Warmup: 5, Thin: 2, Workers: 2, DrawsFile: path,
		Observe: func(chain, draw int, x []int32, _ *sampler.Info) { copy(seen[(chain*draws+draw)*sites:], x) }}
	ch, err := sampler.NewChains(context.Background(), m, mcmc.DMALA{}, cfg)
	require.NoError(t, err)
	require.NoError(t, ch.Run(ctx, 4))
	var saved bytes.Buffer
	require.NoError(t, ch.Save(&saved))
	require.NoError(t, ch.Run(ctx, 3)) // made again below

	again, err := sampler.NewChains(context.Background(), m, mcmc.DMALA{}, cfg)
	require.NoError(t, err)
	require.NoError(t, again.Load(context.Background(), &saved))
	require.NoError(t, again.Run(ctx, 6))
	read := make([]int32, len(seen))
	got, err := drawfile.Read(path, func(d *drawfile.Draw[int32]) {
		copy(read[(d.Chain*draws+d.Draw)*sites:], d.X)
	})
	require.NoError(t, err)
	assert.Equal(t, draws, got)
	assert.Equal(t, seen, read)

	// One that has made draws which the file lacks is refused, and so is a folder.
	cfg.DrawsFile = filepath.Join(t.TempDir(), "other.draws")
	var late bytes.Buffer
	require.NoError(t, again.Save(&late))
	lost, err := sampler.NewChains(context.Background(), m, mcmc.DMALA{}, cfg)
	require.NoError(t, err)
	require.NoError(t, lost.Load(context.Background(), &late))
	assert.ErrorContains(t, lost.Run(ctx, 2), "no newer than the file")
	cfg.DrawsFile = t.TempDir()
	folder, err := sampler.NewChains(context.Background(), m, mcmc.DMALA{}, cfg)
	require.NoError(t, err)
	assert.ErrorContains(t, folder.Run(ctx, 2), "Config.DrawsFile")
}
