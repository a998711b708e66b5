package dual_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// A loop keeps itself in a file, every few steps and when its Run ends or is stopped.
func TestCheckpointFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "loop")
	build := func(edit func(*dual.Config)) *dual.Inference[int32] {
		var cfg dual.Config
		cfg.Checkpoint.Path, cfg.Checkpoint.Every = path, 3
		if edit != nil {
			edit(&cfg)
		}
		return loop(t, ring(t, 1), 1, 1, cfg)
	}
	whole := build(func(c *dual.Config) { c.Checkpoint.Path = "" })
	require.NoError(t, whole.Run(ctx, 20))

	at := func(path string) int {
		i := build(nil)
		require.NoError(t, i.LoadFile(context.Background(), path))
		return i.Len()
	}
	func() { // the observer ends it as a kill would
		defer func() { assert.NotNil(t, recover()) }()
		_ = build(func(c *dual.Config) {
			c.Observe = func(step int, _, _ []float64) {
				if step == 7 {
					panic("killed")
				}
			}
		}).Run(ctx, 20)
	}()
	assert.Equal(t, 6, at(path))
	assert.Equal(t, 3, at(path+".old"))
	next := build(nil)
	require.NoError(t, next.LoadFile(context.Background(), path))
	stop, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, next.Run(stop, 20), context.Canceled)
	require.NoError(t, next.Run(ctx, 4))
	last := build(nil)
	require.NoError(t, last.LoadFile(context.Background(), path))
	require.NoError(t, last.Run(ctx, 10))
	assert.Equal(t, whole.Lambda(), last.Lambda())
	assert.Equal(t, whole.Average(), last.Average())

	lost := build(func(c *dual.Config) { c.Checkpoint.Path = filepath.Join(path, "no", "folder") })
	require.ErrorContains(t, lost.Run(ctx, 20), "dual: Run: Config.Checkpoint: open")
	assert.Zero(t, lost.Len(), "refused before the first step")
	lag := ring(t, 1)
	var cfg dual.Config
	cfg.Checkpoint.Every = -1
	_, err := dual.NewInference[int32](context.Background(), lag, exact.Must(sampler.NewChains(context.Background(), lag, mcmc.Gibbs{}, sampler.Config{})), cfg)
	assert.EqualError(t, err, "dual: Config.Checkpoint.Every = -1, want ≥ 0")
	require.EqualError(t, last.Save(nil), "dual: Save: w = nil")
	require.EqualError(t, last.Load(context.Background(), nil), "dual: Load: r = nil")
}

// broken is a primal whose checkpoints do not load.
type broken struct{ dual.Primal[int32] }

func (b broken) Save(w io.Writer) error                { return nil }
func (b broken) Load(context.Context, io.Reader) error { return errors.New("no such luck") }

// A checkpoint whose primal is refused leaves the target where it was.
func TestRefusedPrimalChangesNothing(t *testing.T) {
	build := func() (*dual.Lagrangian, *dual.Inference[int32]) {
		lag := ring(t, 1)
		c := exact.Must(sampler.NewChains(context.Background(), lag, mcmc.Gibbs{}, sampler.Config{Chains: 8, Warmup: -1}))
		i, err := dual.NewInference(context.Background(), lag, broken{c}, dual.Config{})
		require.NoError(t, err)
		return lag, i
	}
	_, first := build()
	require.NoError(t, first.Run(ctx, 5))
	var b bytes.Buffer
	require.NoError(t, first.Save(&b))
	lag, second := build()
	require.NoError(t, second.Run(ctx, 2))
	before := lag.Lambda()
	require.ErrorContains(t, second.Load(context.Background(), &b), "no such luck")
	assert.Equal(t, before, lag.Lambda())
	assert.Equal(t, 2, second.Len())
	third, _ := build()
	require.NotEqual(t, third.Lambda(), before)
}
