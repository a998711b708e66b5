package diagnose

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/langevin"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// recorded is a run whose draws go to a file and to a trace.
type recorded struct {
	path   string
	cfg    sampler.Config
	method sampler.Method
}

func (r recorded) chains(t *testing.T, edit func(*sampler.Config)) (*sampler.Chains, *Trace) {
	t.Helper()
	tr := NewTrace(energy.Magnetization).KeepStates()
	cfg := r.cfg
	cfg.DrawsFile, cfg.Observe = r.path, tr.Observe
	if edit != nil {
		edit(&cfg)
	}
	method := r.method
	if method == nil {
		method = mcmc.DMALA{}
	}
	return exact.Must(sampler.NewChains(context.Background(), exact.NewQuadratic(5, 1), method, cfg)), tr
}

// replayed returns the trace of the file.
func (r recorded) replayed(t *testing.T) ([]byte, int) {
	t.Helper()
	tr := NewTrace(energy.Magnetization).KeepStates()
	n, err := Replay(r.path, tr.Observe)
	require.NoError(t, err)
	assert.Equal(t, tr.Len(), n)
	return exact.Must(tr.AppendBinary(nil)), n
}

func recording(t *testing.T) recorded {
	return recorded{path: filepath.Join(t.TempDir(), "draws"), cfg: sampler.Config{Chains: 40, Seed: 3, Warmup: 10, Thin: 2}}
}

// A trace made of the file is, to the byte, that of the run, whatever the workers and the
// pieces in which it ran.
func TestReplayIsTheRun(t *testing.T) {
	r := recording(t)
	for _, workers := range []int{1, 3} {
		require.NoError(t, os.RemoveAll(r.path))
		c, tr := r.chains(t, func(cfg *sampler.Config) { cfg.Workers = workers })
		require.NoError(t, c.Run(t.Context(), 30))
		for range c.Draws(t.Context(), 5) {
			continue
		}
		require.NoError(t, c.Run(t.Context(), 300)) // more than a page
		got, n := r.replayed(t)
		assert.Equal(t, 335, n)
		assert.True(t, bytes.Equal(exact.Must(tr.AppendBinary(nil)), got), "%d workers", workers)
	}

	target := exact.Must(continuous.NewQuadratic([]float64{1, 0.3, 0.3, 2}, nil, 0))
	path := filepath.Join(t.TempDir(), "reals")
	var live [][]float32
	c := exact.Must(langevin.New(context.Background(), target, langevin.Config{Chains: 1, DrawsFile: path, Warmup: 5, Observe: func(_, _ int, x []float32, _ *sampler.Info) {
		live = append(live, slices.Clone(x))
	}}))
	require.NoError(t, c.Run(t.Context(), 20))
	var read [][]float32
	_, err := Replay(path, func(_, draw int, x []float32, _ *sampler.Info) {
		assert.Equal(t, len(read), draw)
		read = append(read, slices.Clone(x))
	})
	require.NoError(t, err)
	assert.Equal(t, live, read)
	_, err = Replay(path, func(int, int, []int32, *sampler.Info) {})
	assert.ErrorContains(t, err, "a file of draws of float32, want int32")
	_, err = Replay[int32](path, nil)
	assert.ErrorContains(t, err, "observe = nil")
	_, err = Replay(path+"?", func(int, int, []int32, *sampler.Info) {})
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// A run that a kill stops anywhere, also in the middle of a write, goes on from
// its checkpoint in the same file, to the bits of one that was not stopped.
func TestDrawsSurviveAKill(t *testing.T) {
	// The last cancellation comes by draw 68, in a round that ends by draw 122: one
	// that may end the run would leave no error.
	const draws = 200
	r := recording(t)
	c, _ := r.chains(t, nil)
	require.NoError(t, c.Run(t.Context(), draws))
	want, _ := r.replayed(t)

	for cut := range 16 {
		r := recording(t)
		saved := filepath.Join(t.TempDir(), "run")
		checkpoint := func(cfg *sampler.Config) {
			cfg.Checkpoint.Path, cfg.Checkpoint.Every = saved, 7
		}
		ctx, cancel := context.WithCancel(t.Context())
		var seen atomic.Int64
		c, _ := r.chains(t, func(cfg *sampler.Config) {
			checkpoint(cfg)
			cfg.Observe = func(int, int, []int32, *sampler.Info) {
				if seen.Add(1) == int64(300+125*cut) {
					cancel()
				}
			}
		})
		require.ErrorIs(t, c.Run(ctx, draws), context.Canceled)
		require.NoError(t, c.SaveFile(saved+".late"))
		// The kill: the file as it was some bytes earlier, and a checkpoint that is older.
		info := exact.Must(os.Stat(r.path))
		if cut%2 == 1 {
			require.NoError(t, os.Truncate(r.path, info.Size()-int64(3*cut)))
			_, n := r.replayed(t)
			require.Less(t, n, draws, "a torn file is read up to where it is whole")
		}
		late, _ := r.chains(t, checkpoint)
		require.NoError(t, late.LoadFile(context.Background(), saved+".late"))
		again := late
		if cut%2 == 1 {
			// This checkpoint knows of draws that the file has lost.
			const behind = "want a checkpoint that is no newer than the file"
			require.ErrorContains(t, late.Run(t.Context(), 1), behind)
			again, _ = r.chains(t, checkpoint)
			if err := again.LoadFile(context.Background(), saved+".old"); !errors.Is(err, os.ErrNotExist) {
				require.NoError(t, err)
				if err = again.Run(t.Context(), 0); err != nil { // nor is the one before old enough
					require.ErrorContains(t, err, behind)
					again, _ = r.chains(t, checkpoint)
				}
			}
		}
		require.NoError(t, again.Run(t.Context(), draws-again.Len()), "cut %d", cut)
		got, n := r.replayed(t)
		require.Equal(t, draws, n)
		require.True(t, bytes.Equal(want, got), "cut %d", cut)
	}
}

// A file that another run is writing is refused, in a Run and in a loop over Draws, and
// is free after both, even by a panic.
func TestDrawsOfOneRun(t *testing.T) {
	r := recording(t)
	want := r.path + ": another run is using the file: wait until that run ends"
	second := func() error {
		c, _ := r.chains(t, nil)
		return c.Run(t.Context(), 3)
	}
	var once sync.Once
	c, _ := r.chains(t, func(cfg *sampler.Config) {
		cfg.Observe = sampler.Observer(func(int, int, []int32, *sampler.Info) { once.Do(func() { assert.ErrorContains(t, second(), want) }) }).And(cfg.Observe)
	})
	require.NoError(t, c.Run(t.Context(), 20))
	require.NoError(t, second())
	require.ErrorContains(t, c.Run(t.Context(), 1), "the file has 3 draws of chain 0, which has made 20", "another run has begun anew")
	require.NoError(t, os.Remove(r.path))
	c, _ = r.chains(t, nil)
	for range c.Draws(t.Context(), 3) {
		require.ErrorContains(t, second(), want)
	}
	require.NoError(t, c.Err())
	require.NoError(t, second())
	for _, fails := range []func(*sampler.Chains){
		func(c *sampler.Chains) { _ = c.Run(t.Context(), 9) },
		func(c *sampler.Chains) {
			for range c.Draws(t.Context(), 9) {
			}
		},
	} {
		c, _ = r.chains(t, func(cfg *sampler.Config) {
			cfg.Observe = func(_, draw int, _ []int32, _ *sampler.Info) {
				if draw == 4 {
					panic("a failure")
				}
			}
		})
		require.Panics(t, func() { fails(c) })
		require.NoError(t, second())
	}
}

// The file of another run, or a damaged one, is refused, by what differs.
func TestDrawsRefuseOtherRuns(t *testing.T) {
	r := recording(t)
	c, _ := r.chains(t, nil)
	require.NoError(t, c.Run(t.Context(), 20))
	whole := exact.Must(os.ReadFile(r.path))
	run := func(edit func(*sampler.Config)) error {
		require.NoError(t, os.WriteFile(r.path, whole, 0o600))
		c, _ := r.chains(t, edit)
		return c.Run(t.Context(), 3)
	}
	assert.NoError(t, run(nil), "the same run from its start")
	assert.ErrorContains(t, run(func(cfg *sampler.Config) { cfg.Seed = 4 }), "Config.Seed is 3 in the checkpoint and 4 here")
	assert.ErrorContains(t, run(func(cfg *sampler.Config) { cfg.Thin = 3 }), "Config.Thin is 2")
	assert.ErrorContains(t, run(func(cfg *sampler.Config) { cfg.Count = 20 }), "Config.Count is 40")
	assert.ErrorContains(t, run(func(cfg *sampler.Config) { cfg.DrawsFile = t.TempDir() }), "Config.DrawsFile: ")
	r.method = mcmc.Gibbs{}
	assert.ErrorContains(t, run(nil), "method is dmala")
	r.method = nil

	// Every byte counts: a change is an error, unless it is of the last frame, which
	// may be one that was being written, or makes a frame reach beyond the end.
	none := func(int, int, []int32, *sampler.Info) {}
	refused := 0
	for i := 0; i < len(whole); i += 101 {
		bad := slices.Clone(whole)
		bad[i] ^= 0x10
		require.NoError(t, os.WriteFile(r.path, bad, 0o600))
		if n, err := Replay(r.path, none); err != nil {
			refused++
		} else {
			require.Less(t, n, 20, "byte %d", i)
		}
	}
	assert.Greater(t, refused, len(whole)/101/2)
	for i := 0; i < len(whole); i += 307 {
		require.NoError(t, os.WriteFile(r.path, whole[:i], 0o600))
		n, err := Replay(r.path, none)
		if err == nil {
			require.LessOrEqual(t, n, 20)
		}
	}
	require.NoError(t, os.WriteFile(r.path, append(slices.Clone(whole), "hello, this is something else"...), 0o600))
	_, err := Replay(r.path, none)
	assert.ErrorContains(t, err, `it begins with "hello,", want`)
}
