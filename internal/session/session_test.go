package session_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/internal/session"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// counter is a run whose steps count, by so many at a time.
type counter struct {
	session.Session
	at, by int
	step   func(at int) error // before it counts
	seen   [][2]int
}

func newCounter(path string, every int) *counter {
	c := &counter{by: 1, step: func(int) error { return nil }}
	c.Who, c.Checkpoint = "test", session.Checkpoint{Path: path, Every: every}
	c.Len = func() int { return c.at }
	c.Progress = func(done, total int) { c.seen = append(c.seen, [2]int{done, total}) }
	c.Write = func(w io.Writer) error { return c.frames(&c.at).Write(w, nil) }
	c.Read = func(ctx context.Context, r io.Reader) error {
		at := 0
		if err := c.frames(&at).Read(ctx, r, nil); err != nil {
			return err
		}
		c.at = at
		return nil
	}
	return c
}

func (c *counter) frames(at *int) *session.Frames {
	return &session.Frames{Magic: "test 1\n", Settings: &fingerprint.List{}, Count: 1, Limit: 8, Frame: func(f *wire.Fields, _ int) { f.Counts("steps", at) }}
}

func (c *counter) run(ctx context.Context, n int) error {
	return c.Run(ctx, n, func(to int) error {
		for range min(c.by, to-c.at) {
			if err := c.step(c.at); err != nil {
				return err
			}
			c.at++
		}
		return nil
	})
}

func saved(t *testing.T, path string) int {
	t.Helper()
	c := newCounter("", 0)
	require.NoError(t, c.LoadFile(t.Context(), path))
	return c.at
}

// Run makes n more, keeps files where they are due, tells of its progress, and goes on
// from where it stopped.
func TestRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	c := newCounter(path, 3)
	var files []int
	c.step = func(at int) error {
		if _, err := os.Stat(path); err == nil {
			files = append(files, saved(t, path))
		}
		return nil
	}
	c.by = 100
	require.NoError(t, c.run(t.Context(), 8))
	assert.Equal(t, []int{3, 3, 3, 6, 6}, files)
	assert.Equal(t, 8, saved(t, path))
	assert.Equal(t, 6, saved(t, path+".old"))
	assert.Equal(t, [][2]int{{3, 8}, {6, 8}, {8, 8}}, c.seen)
	require.NoError(t, c.run(t.Context(), 2))
	assert.Equal(t, 10, c.at)

	ctx, cancel := context.WithCancel(t.Context())
	c.by, c.step = 1, func(at int) error {
		if at == 13 {
			cancel()
			return ctx.Err()
		}
		return nil
	}
	require.ErrorIs(t, c.run(ctx, math.MaxInt), context.Canceled)
	assert.Equal(t, 13, saved(t, path), "a Run that its context ends is saved")
	failure := errors.New("a failure")
	c.step = func(at int) error {
		if at == 15 {
			return failure
		}
		return nil
	}
	require.ErrorIs(t, c.run(t.Context(), 4), failure)
	assert.Equal(t, 13, saved(t, path), "one that fails is not")
	c.step = func(at int) error {
		if at == 16 {
			return session.ErrDone
		}
		return nil
	}
	require.NoError(t, c.run(t.Context(), 4))
	assert.Equal(t, 16, saved(t, path))
	require.NoError(t, c.run(t.Context(), 0))
	assert.Equal(t, 16, c.at)
	c.Checkpoint.Path = filepath.Join(path, "none", "such")
	assert.ErrorContains(t, c.run(t.Context(), 9), "test: Run: Config.Checkpoint:", "before any step")
	assert.Equal(t, 16, c.at)
	c = newCounter(filepath.Join(t.TempDir(), "folder"), 3)
	require.NoError(t, os.Mkdir(c.Checkpoint.Path, 0o777))
	assert.ErrorContains(t, c.run(t.Context(), 9), "test: SaveFile:")
	assert.Equal(t, 3, c.at)
}

// A run keeps others off its file while it is under way, by whatever name, and is
// refused if another has replaced the file since it was loaded.
func TestOneRunOfAFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run")
	a, b, link := newCounter(path, 3), newCounter(path, 3), newCounter(filepath.Join(dir, "link"), 3)
	want := path + ": another run is using the file: wait until that run ends, or give this one a path of its own"
	linked := os.Symlink("run", filepath.Join(dir, "link")) == nil
	a.step = func(at int) error {
		require.EqualError(t, b.run(t.Context(), 1), "test: Run: Config.Checkpoint: "+want)
		require.EqualError(t, b.SaveFile(path), "test: SaveFile: "+want)
		require.NoError(t, newCounter("", 0).SaveFile(filepath.Join(dir, "other")))
		if linked {
			require.ErrorIs(t, link.run(t.Context(), 1), durable.ErrInUse)
		}
		if at >= 3 {
			require.NoError(t, b.LoadFile(t.Context(), path), "reading is free")
		}
		return nil
	}
	require.NoError(t, a.run(t.Context(), 5))
	require.ErrorContains(t, b.run(t.Context(), 1), path+": another run has replaced the file since it was loaded: load it again")
	assert.Equal(t, 3, b.at)
	require.NoError(t, b.LoadFile(t.Context(), path))
	require.NoError(t, b.run(t.Context(), 1))
	require.NoError(t, b.run(t.Context(), 1), "its own file")
	require.NoError(t, b.SaveFile(path))
	require.NoError(t, b.run(t.Context(), 1), "and that")
	assert.Equal(t, 8, saved(t, path))

	require.NoError(t, a.LoadFile(t.Context(), path))
	a.step = func(int) error { panic("a failure") }
	assert.Panics(t, func() { _ = a.run(t.Context(), 1) })
	require.NoError(t, b.run(t.Context(), 1), "a panic gives the file up")
	_, err := os.Lstat(path + ".lock")
	require.ErrorIs(t, err, os.ErrNotExist)

	// Between two calls, as between two draws.
	require.NoError(t, b.Lock("Draws"))
	require.NoError(t, b.Lock("Draws"), "once is enough")
	require.NoError(t, b.run(t.Context(), 1))
	require.NoError(t, b.SaveFile(path))
	require.NoError(t, os.Remove(path))
	require.ErrorContains(t, newCounter(path, 0).run(t.Context(), 1), want)
	b.Unlock()
	b.Unlock()
	require.NoError(t, newCounter(path, 0).run(t.Context(), 1))
}

// What cannot be a call is refused, a second call too, and a panic ends the first.
func TestCalls(t *testing.T) {
	c := newCounter("", 0)
	var none context.Context
	assert.EqualError(t, c.run(none, -1), "test: Run: ctx = nil")
	assert.EqualError(t, c.run(t.Context(), -1), "test: Run: n = -1, want ≥ 0")
	assert.EqualError(t, c.Save(nil), "test: Save: w = nil")
	assert.EqualError(t, c.Load(t.Context(), nil), "test: Load: r = nil")
	var inside []error
	c.step = func(int) error {
		var b bytes.Buffer
		inside = []error{c.run(t.Context(), 1), c.Save(&b), c.Load(t.Context(), &b), c.SaveFile("x"), c.LoadFile(t.Context(), "x")}
		return nil
	}
	require.NoError(t, c.run(t.Context(), 1))
	for i, call := range []string{"Run", "Save", "Load", "SaveFile", "LoadFile"} {
		assert.EqualError(t, inside[i], "test: "+call+": another call of this run is under way, want one at a time")
	}
	failure := errors.New("a failure")
	c.step = func(int) error { panic(failure) }
	func() {
		defer func() {
			p, ok := recover().(*pool.Panic)
			require.True(t, ok)
			require.ErrorIs(t, p, failure)
			assert.Contains(t, string(p.Stack), "session_test.go")
		}()
		_ = c.run(t.Context(), 1)
	}()
	c.step = func(int) error { return nil }
	require.NoError(t, c.run(t.Context(), 1))
}

// A checkpoint comes back, or changes nothing.
func TestSaveAndLoad(t *testing.T) {
	c := newCounter("", 0)
	require.NoError(t, c.run(t.Context(), 5))
	var b bytes.Buffer
	require.NoError(t, c.Save(&b))
	d := newCounter("", 0)
	require.NoError(t, d.Load(t.Context(), bytes.NewReader(b.Bytes())))
	assert.Equal(t, 5, d.at)
	d.at = 7
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, d.Load(ended, bytes.NewReader(b.Bytes())), context.Canceled)
	for cut := range b.Bytes() {
		require.ErrorContains(t, d.Load(t.Context(), bytes.NewReader(b.Bytes()[:cut])), "test: Load: ")
	}
	assert.Equal(t, 7, d.at)
	path := filepath.Join(t.TempDir(), "run")
	require.NoError(t, d.SaveFile(path))
	require.NoError(t, c.LoadFile(t.Context(), path))
	assert.Equal(t, 7, c.at)
	assert.ErrorContains(t, c.LoadFile(t.Context(), path+"?"), "test: LoadFile: ")
}

// Parts begin with blocks and cover a run once; others are refused by name.
func TestParts(t *testing.T) {
	for _, chains := range []int{1, 4, 63, 64, 1000} {
		blocks := (chains-1)/session.Block(chains) + 1
		for n := 1; n <= blocks; n++ {
			next := 0
			for k := range n {
				first, count, all := 0, 0, 0
				err := session.Cut("c", &all, &first, &count, chains, 0, k, n)
				require.NoError(t, err)
				require.Equal(t, next, first)
				got, err := session.Count("c", chains, session.Block(chains), first, count)
				require.NoError(t, err)
				require.Equal(t, count, got)
				next += count
			}
			require.Equal(t, chains, next)
		}
	}
	got, err := session.Count("c", 1000, session.Block(1000), 32, 0)
	require.NoError(t, err)
	assert.Equal(t, 968, got)
	for want, at := range map[string][2]int{
		"c.First = -1, want 0 … 999 (Chains = 1000)":                          {-1, 0},
		"c.First = 1000, want 0 … 999 (Chains = 1000)":                        {1000, 0},
		"c.First = 7, want a multiple of the block of 32":                     {7, 0},
		"c.Count = -1 from chain 32 on, want 0 … 968 of 1000 chains":          {32, -1},
		"c.Count = 969 from chain 32 on, want 0 … 968 of 1000 chains":         {32, 969},
		"c.Count = 33, want a multiple of the block of 32, or all 968 chains": {32, 33},
	} {
		_, err := session.Count("c", 1000, session.Block(1000), at[0], at[1])
		assert.ErrorContains(t, err, want)
	}
	for want, at := range map[string][5]int{
		"c.Part: First = 32 and Count = 0, want 0":                  {100, 32, 0, 0, 1},
		"c.Part: Chains = -1, want ≥ 0":                             {-1, 0, 0, 0, 1},
		"c.Part: n = 33, want 1 … 32 (1000 chains in blocks of 32)": {1000, 0, 0, 0, 33},
		"c.Part: k = 3, want 0 … 2":                                 {1000, 0, 0, 3, 3},
	} {
		err := session.Cut("c", &at[0], &at[1], &at[2], 4, 0, at[3], at[4])
		assert.ErrorContains(t, err, want)
	}
}
