package train

import (
	"bytes"
	"context"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

func TestCheckpointsNameWhatDiffers(t *testing.T) {
	exact.SkipUnderRace(t)
	data, _, _ := joint()
	cfg := Config{Steps: 10, Workers: 1}
	tr := exact.Must(New(network(t, tiny, 1), Masked{mask}, data, cfg))
	var file bytes.Buffer
	require.NoError(t, tr.Save(&file))
	whole := file.Bytes()
	load := func(tr *Trainer, b []byte) error { return tr.Load(context.Background(), bytes.NewReader(b)) }

	wider := tiny
	wider.Hidden++
	other := cfg
	other.Rate = 2e-3
	turned := append([]int32(nil), data...)
	turned[0] = (turned[0] + 1) % 3
	for want, tr := range map[string]*Trainer{
		"neural.Config.Hidden is":                              exact.Must(New(network(t, wider, 1), Masked{mask}, data, cfg)),
		"train.Masked.Mask is 3 in the checkpoint and 2 here":  exact.Must(New(network(t, tiny, 1), Masked{2}, data, cfg)),
		"objective is train.Masked in the checkpoint and trai": exact.Must(New(network(t, tiny, 1), Noisy{4}, data, cfg)),
		"Config.Rate is 0.001 in the checkpoint and 0.002":     exact.Must(New(network(t, tiny, 1), Masked{mask}, data, other)),
		"tokens of data is":                                    exact.Must(New(network(t, tiny, 1), Masked{mask}, data[3:], cfg)),
		"checksum of data is":                                  exact.Must(New(network(t, tiny, 1), Masked{mask}, turned, cfg)),
	} {
		assert.ErrorContains(t, load(tr, whole), want)
	}
	for at := range whole {
		if at%97 == 0 { // cut off, and with a bit turned
			assert.Error(t, load(tr, whole[:at]))
			bad := bytes.Clone(whole)
			bad[at] ^= 4
			assert.Error(t, load(tr, bad))
		}
	}
	require.NoError(t, load(tr, whole))

	// A pointer to an objective and its value are the same setting.
	require.NoError(t, load(exact.Must(New(network(t, tiny, 1), &Masked{mask}, data, cfg)), whole))

	// What is behind a right checksum is checked, too.
	frames := func(state []byte) []byte {
		var b bytes.Buffer
		require.NoError(t, durable.Write(&b, magic, tr.settings(), 1, func(_ int, body []byte) ([]byte, error) { return append(body, state...), nil }, nil))
		return b.Bytes()
	}
	rest := make([]byte, 8+16*len(tr.net.Weights())+8)
	assert.ErrorContains(t, load(tr, frames(nil)), "train: Load: the checkpoint is too short for its shape")
	assert.ErrorContains(t, load(tr, frames(append(wire.AppendUint64s(nil, 1<<63), rest...))), "step = 9223372036854775808, want 0 … ")
	var old bytes.Buffer
	require.NoError(t, wire.Write(&old, "gibbsite train 2\n", tr.settings().Append(nil)))
	assert.ErrorContains(t, load(tr, old.Bytes()), `it begins with "gibbsite train 2\n", want "gibbsite train 4\n"`)
	before := slices.Clone(tr.net.Weights())
	assert.Equal(t, before, network(t, tiny, 1).Weights(), "a refused Load changed something")
	require.NoError(t, load(tr, frames(append(wire.AppendUint64s(nil, 5), rest...))))
	assert.Equal(t, 5, tr.Step())
	assert.EqualError(t, tr.Save(nil), "train: Save: w = nil")
	assert.EqualError(t, tr.Load(context.Background(), nil), "train: Load: r = nil")
}

// A training keeps itself in a file, every few steps and when it ends or is stopped.
func TestCheckpointFiles(t *testing.T) {
	data, _, _ := joint()
	ctx := context.Background()
	cfg := Config{Steps: 20, Batch: 4, Workers: 1}
	whole := exact.Must(New(network(t, tiny, 1), Masked{mask}, data, cfg))
	require.NoError(t, whole.Run(ctx, 20))
	cfg.Checkpoint.Path, cfg.Checkpoint.Every = filepath.Join(t.TempDir(), "run"), 3
	first := exact.Must(New(network(t, tiny, 1), stopping{Masked{mask}, 4 * 7}, data, cfg))
	func() { // the objective ends it as a kill would, in step 8
		defer func() { assert.NotNil(t, recover()) }()
		_ = first.Run(ctx, 20)
	}()
	at := func(path string) int {
		tr := exact.Must(New(network(t, tiny, 1), stopping{Masked{mask}, 0}, data, cfg))
		require.NoError(t, tr.LoadFile(context.Background(), path))
		return tr.Step()
	}
	assert.Equal(t, 6, at(cfg.Checkpoint.Path))
	assert.Equal(t, 3, at(cfg.Checkpoint.Path+".old"))

	net := network(t, tiny, 1)
	second := exact.Must(New(net, Masked{mask}, data, cfg))
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	assert.ErrorIs(t, second.Run(stopped, 20), context.Canceled)
	require.NoError(t, second.Run(ctx, 10))
	third := exact.Must(New(network(t, tiny, 1), Masked{mask}, data, cfg))
	require.NoError(t, third.LoadFile(context.Background(), cfg.Checkpoint.Path))
	require.NoError(t, third.Run(ctx, 10))
	assert.Equal(t, whole.net.Weights(), third.net.Weights())

	cfg.Checkpoint.Path = filepath.Join(t.TempDir(), "no", "folder")
	lost := exact.Must(New(network(t, tiny, 1), Masked{mask}, data, cfg))
	assert.ErrorContains(t, lost.Run(ctx, 20), "train: Run: Config.Checkpoint: ")
	assert.Equal(t, 0, lost.Step())
	cfg.Checkpoint.Every = -1
	_, err := New(network(t, tiny, 1), Masked{mask}, data, cfg)
	assert.EqualError(t, err, "train: Config.Checkpoint.Every = -1, want ≥ 0")
}

// stopping is an objective that panics after so many states, if any.
type stopping struct {
	Masked
	after int
}

var corrupted atomic.Int64

func (s stopping) Corrupt(x []int32, weight []float64, clean []int32, u float64, r *rand.Rand) float64 {
	if s.after > 0 && corrupted.Add(1) > int64(s.after) {
		panic("stopped")
	}
	return s.Masked.Corrupt(x, weight, clean, u, r)
}

// Settings are those of the objective alone: where it stops is none.
func (s stopping) Settings(add func(name string, value any)) { add("Mask", s.Mask) }

// Two runs at a time are refused, and so is what cannot be one.
func TestOneRunAtATime(t *testing.T) {
	data, _, _ := joint()
	var tr *Trainer
	inside := make(chan error, 1)
	tr = exact.Must(New(network(t, tiny, 1), calling{Masked{mask}, func() {
		select {
		case inside <- tr.Run(context.Background(), 1):
		default:
		}
	}}, data, Config{Steps: 2, Batch: 1}))
	require.NoError(t, tr.Run(context.Background(), 1))
	assert.EqualError(t, <-inside, "train: Run: another call of this run is under way, want one at a time")
	assert.EqualError(t, tr.Run(context.Background(), -1), "train: Run: n = -1, want ≥ 0")
	var none context.Context
	assert.EqualError(t, tr.Run(none, 1), "train: Run: ctx = nil")
}

// calling is an objective that calls back.
type calling struct {
	Masked
	call func()
}

func (c calling) Corrupt(x []int32, weight []float64, clean []int32, u float64, r *rand.Rand) float64 {
	c.call()
	return c.Masked.Corrupt(x, weight, clean, u, r)
}
