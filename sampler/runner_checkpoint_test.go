package sampler_test

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/drawfile"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

func TestLoadRefusesOtherSettings(t *testing.T) {
	m := exact.NewQuadratic(3, 1)
	cfg := sampler.Config{Warmup: 5}
	for _, pair := range [][2]sampler.Method{
		{mcmc.DMALA{StepSize: 0.2}, mcmc.DMALA{StepSize: 0.3}},
		{mcmc.DMALA{}, mcmc.DMALA{Target: 0.4}},
		{mcmc.DULA{Preconditioner: []float32{1, 1, 1}}, mcmc.DULA{Preconditioner: []float32{1, 1, 2}}},
		{mcmc.Gibbs{}, mcmc.Gibbs{Scan: mcmc.Random}},
		{mcmc.BlockGibbs{Blocks: [][]int{{0, 1}, {2}}}, mcmc.BlockGibbs{Blocks: [][]int{{0}, {1, 2}}}},
	} {
		var file bytes.Buffer
		require.NoError(t, runs.Run(t, m, pair[0], cfg, 2).Save(&file))
		other, err := sampler.NewChains(context.Background(), m, pair[1], cfg)
		require.NoError(t, err)
		assert.ErrorContains(t, other.Load(context.Background(), bytes.NewReader(file.Bytes())), "settings", "%+v", pair)
		same, err := sampler.NewChains(context.Background(), m, pair[0], cfg)
		require.NoError(t, err)
		assert.NoError(t, same.Load(context.Background(), bytes.NewReader(file.Bytes())), "%+v", pair[0])
	}
}

// After a failure in one block and Reset, Run makes the draws that it was asked
// for, although other blocks had gone on to the end of their round.
func TestRunAfterFailure(t *testing.T) {
	broken := true
	m := energy.Func{Sites: 2, Levels: 2, E: func(x []int32) float64 { return 0 }}
	draws := make([]int, 2*sampler.BlockSize)
	file := filepath.Join(t.TempDir(), "draws")
	c, err := sampler.NewChains(context.Background(), m, breaking{&broken, new(int)}, sampler.Config{Chains: 2 * sampler.BlockSize, Warmup: -1, Workers: 1, DrawsFile: file,
		Observe: func(chain, _ int, _ []int32, _ *sampler.Info) { draws[chain]++ }})
	require.NoError(t, err)
	require.ErrorIs(t, c.Run(context.Background(), 100), sampler.ErrNaN)
	require.ErrorIs(t, c.Run(context.Background(), 1), sampler.ErrNaN, "stuck until Reset")
	ahead := draws[sampler.BlockSize]
	require.Greater(t, ahead, draws[0])
	broken = false
	require.NoError(t, c.Reset())
	assert.Equal(t, ahead, c.Len())
	require.NoError(t, c.Run(context.Background(), 10))
	assert.Equal(t, ahead+10, c.Len())
	assert.Equal(t, ahead+10, draws[sampler.BlockSize])
	assert.NoError(t, c.Err())
	written := make([]int, len(draws))
	n, err := drawfile.Read(file, func(d *drawfile.Draw[int32]) { written[d.Chain]++ })
	require.NoError(t, err, "draws that were missed are no damage")
	assert.Equal(t, ahead+10, n)
	assert.Equal(t, draws, written)
}

// breaking makes kernels of which the first fails at its tenth step for as long
// as broken is set.
type breaking struct {
	broken *bool
	made   *int
}

func (f breaking) Kernel(context.Context, energy.Model, int) (sampler.Kernel, error) {
	*f.made++
	return &brokenKernel{broken: f.broken, first: *f.made == 1}, nil
}

type brokenKernel struct {
	sampler.Base
	broken *bool
	first  bool
	steps  int
}

func (k *brokenKernel) Reset(sampler.Control, []int32) error { return nil }

func (k *brokenKernel) Step(_ sampler.Control, info []sampler.Info, _ []int32, _ []sampler.Stream) int {
	if k.steps++; k.steps >= 10 && *k.broken && k.first {
		info[0].Err = sampler.ErrNaN
	}
	if !*k.broken {
		info[0].Err = nil
	}
	return 1
}

// Saving allocates a block's worth, and not with every block: ten per cent of the
// chains at most.
func TestSavingTakesLittleMemory(t *testing.T) {
	exact.SkipUnderRace(t)
	m := energy.Func{Sites: 1000, Levels: 2, E: func(x []int32) float64 { return float64(x[0]) }}
	const states = 4096 * 1000 * 4
	c := exact.Must(sampler.NewChains(context.Background(), m, mcmc.Metropolis{Updates: 1}, sampler.Config{Chains: 4096, Warmup: -1}))
	require.NoError(t, c.Run(context.Background(), 1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, c.Save(io.Discard))
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(states/10))
}

// Draws do not go where checkpoints are kept, nor checkpoints where no file is.
func TestFilesDoNotDisplaceEachOther(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "run")
	cfg := sampler.Config{Chains: 2}
	cfg.Checkpoint.Path = path
	for _, draws := range []string{path, path + ".old", path + ".tmp", folder + "/./run"} {
		cfg.DrawsFile = draws
		_, err := sampler.NewChains(context.Background(), exact.NewQuadratic(3, 1), mcmc.Gibbs{}, cfg)
		require.ErrorContains(t, err, "Config.DrawsFile = ")
	}
	cfg.DrawsFile = path + ".draws"
	c := exact.Must(sampler.NewChains(context.Background(), exact.NewQuadratic(3, 1), mcmc.Gibbs{}, cfg))
	require.NoError(t, c.Run(t.Context(), 3))
	require.ErrorContains(t, c.SaveFile(folder), "is not a file (d")
	require.DirExists(t, folder)
	require.NoError(t, c.LoadFile(context.Background(), path))
}
