package durable_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// text is a run whose checkpoint is a text.
type text struct {
	s   string
	err error
}

func (c *text) Save(w io.Writer) error {
	_, err := io.WriteString(w, c.s)
	return errors.Join(err, c.err)
}

func (c *text) Load(_ context.Context, r io.Reader) error {
	b, err := io.ReadAll(r)
	c.s = string(b)
	return err
}

// A path that is a link stays one: the file that it names is replaced, be it
// there or not, through any number of links.
func TestLinksStay(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	require.NoError(t, os.Mkdir(real, 0o777))
	if err := os.Symlink("chain", link); err != nil {
		t.Skip(err)
	}
	require.NoError(t, os.Symlink(filepath.Join("real", "run"), filepath.Join(dir, "chain")))
	for _, s := range []string{"one", "two"} {
		require.NoError(t, durable.SaveFile("test", link, &text{s: s}))
		at, err := os.Lstat(link)
		require.NoError(t, err)
		require.NotZero(t, at.Mode()&os.ModeSymlink)
	}
	for path, want := range map[string]string{link: "two", filepath.Join(real, "run"): "two", filepath.Join(real, "run.old"): "one"} {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, want, string(b))
	}
	require.NoError(t, os.Remove(filepath.Join(real, "run")))
	var c text
	require.NoError(t, durable.LoadFile(t.Context(), "test", link, &c))
	assert.Equal(t, "one", c.s, "the generation before is next to the file, not to the link")

	require.NoError(t, os.Symlink("ring", filepath.Join(dir, "ring")))
	require.ErrorContains(t, durable.SaveFile("test", filepath.Join(dir, "ring"), &text{}), "links")
	require.ErrorContains(t, durable.LoadFile(t.Context(), "test", filepath.Join(dir, "ring"), &c), "links")
}

// A save that fails leaves nothing behind.
func TestFailedSavesLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run")
	require.NoError(t, durable.SaveFile("test", path, &text{s: "one"}))
	full := errors.New("disk full")
	require.ErrorIs(t, durable.SaveFile("test", path, &text{s: "two", err: full}), full)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	assert.Equal(t, []string{path}, left)
}

// A folder is no file.
func TestFoldersStay(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "folder")
	require.NoError(t, os.Mkdir(path, 0o777))
	require.ErrorContains(t, durable.SaveFile("test", path, &text{}), "is not a file (d")
	l, err := durable.Acquire(path)
	require.NoError(t, err)
	defer l.Release()
	require.Error(t, l.Replace(func(io.Writer) error { return nil }))
	require.DirExists(t, path)
	assert.NoFileExists(t, path+".tmp")
}

// A stamp is that of one generation; a missing file is none.
func TestStamps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	none := durable.StampOf(path)
	require.NoError(t, durable.SaveFile("test", path, &text{s: "one"}))
	one := durable.StampOf(path)
	assert.False(t, one.Replaced(durable.StampOf(path)))
	assert.False(t, one.Replaced(none))
	assert.False(t, none.Replaced(one))
	require.NoError(t, durable.SaveFile("test", path, &text{s: "two"}))
	assert.True(t, one.Replaced(durable.StampOf(path)))
	l, err := durable.Acquire(path)
	require.NoError(t, err)
	defer l.Release()
	now := durable.StampOf(path)
	require.NoError(t, l.Replace(func(w io.Writer) error { _, err := io.WriteString(w, "three"); return err }))
	assert.True(t, now.Replaced(durable.StampOf(path)))
	assert.NoFileExists(t, path+".tmp")
	old, err := os.ReadFile(path + ".old")
	require.NoError(t, err)
	assert.Equal(t, "one", string(old), "a file that is replaced leaves the generation before alone")
}
