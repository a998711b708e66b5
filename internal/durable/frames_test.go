package durable_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// numbers is a run whose checkpoint has a frame for its length, one for every
// number, and a tail that something inside wrote.
type numbers struct {
	all    []uint64
	seed   int
	tail   string
	failed error
}

const magic = "numbers 1\n"

func (n *numbers) settings() *fingerprint.List {
	l := &fingerprint.List{}
	l.Add("seed", n.seed)
	return l
}

func (n *numbers) Save(w io.Writer) error {
	return durable.Write(w, magic, n.settings(), 1+len(n.all), func(i int, body []byte) ([]byte, error) {
		if i == 0 {
			return wire.AppendInts(body, len(n.all)), n.failed
		}
		return wire.AppendUint64s(body, n.all[i-1]), nil
	}, func(w io.Writer) error { _, err := io.WriteString(w, n.tail); return err })
}

func (n *numbers) Load(ctx context.Context, r io.Reader) error {
	var all []uint64
	frames := 1
	tail := make([]byte, 4)
	if err := durable.Read(ctx, r, magic, n.settings(), func() int { return frames }, 8, func(i int, body []byte) ([]byte, error) {
		var v [1]uint64
		body, err := wire.ReadUint64s(body, v[:])
		if i == 0 {
			frames += int(v[0] & 0xff)
		} else {
			all = append(all, v[0])
		}
		return body, err
	}, func(r io.Reader) error { _, err := io.ReadFull(r, tail); return err }); err != nil {
		return err
	}
	n.all, n.tail = all, string(tail)
	return nil
}

func TestFrames(t *testing.T) {
	from := &numbers{all: []uint64{3, 1, 4}, tail: "tail"}
	var file bytes.Buffer
	require.NoError(t, from.Save(&file))
	good := file.Bytes()
	to := &numbers{}
	require.NoError(t, to.Load(context.Background(), bytes.NewReader(good)))
	assert.Equal(t, from, to)

	var other *fingerprint.Mismatch
	require.ErrorAs(t, (&numbers{seed: 1}).Load(context.Background(), bytes.NewReader(good)), &other)
	assert.True(t, durable.Foreign(fmt.Errorf("wrapped: %w", other)))
	assert.False(t, durable.Foreign(io.ErrUnexpectedEOF))

	for i := range good { // cut anywhere, or changed anywhere but in the tail
		require.Error(t, to.Load(context.Background(), bytes.NewReader(good[:i])), "cut at %d", i)
		bad := bytes.Clone(good)
		bad[i] ^= 1
		if at := bytes.Index(good, []byte("tail")); i >= at && i < at+4 {
			continue
		}
		require.Error(t, to.Load(context.Background(), bytes.NewReader(bad)), "changed at %d", i)
	}
	assert.Equal(t, from, to)

	// Frames in another order, or of another checkpoint, are not mixed up.
	head := len(magic) + 8 + 8
	head += len(from.settings().Append(nil))
	frame := len("state\n") + 8 + 24 + 8
	swapped := bytes.Clone(good)
	copy(swapped[head+frame:], good[head+2*frame:head+3*frame])
	copy(swapped[head+2*frame:], good[head+frame:head+2*frame])
	assert.ErrorContains(t, to.Load(context.Background(), bytes.NewReader(swapped)), "frame 1 is number 2 of another checkpoint")

	from.failed = errors.New("no state")
	assert.ErrorIs(t, from.Save(io.Discard), from.failed)
	from.failed = nil
	for i := range len(good) {
		assert.ErrorIs(t, from.Save(&full{left: i}), io.ErrShortWrite)
	}
}

// full is a writer that takes no more than some bytes.
type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	if len(b) > f.left {
		return f.left, io.ErrShortWrite
	}
	f.left -= len(b)
	return len(b), nil
}

func TestFilesOfRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	require.ErrorIs(t, durable.LoadFile(context.Background(), "test", path, &numbers{}), os.ErrNotExist)
	one, two := &numbers{all: []uint64{1}, tail: "tail"}, &numbers{all: []uint64{2}, tail: "tail"}
	require.NoError(t, durable.SaveFile("test", path, one))
	require.NoError(t, durable.SaveFile("test", path, two))
	got := &numbers{}
	require.NoError(t, durable.LoadFile(context.Background(), "test", path, got))
	assert.Equal(t, two, got)
	assert.ErrorContains(t, durable.LoadFile(context.Background(), "test", path, &numbers{seed: 1}), "test: LoadFile:", "not passed over for the generation before")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, durable.LoadFile(context.Background(), "test", path, got))
	assert.Equal(t, one, got)
	assert.ErrorContains(t, durable.SaveFile("test", filepath.Join(path, "no", "folder"), one), "test: SaveFile:")
}
