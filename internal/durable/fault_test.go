package durable_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/faulty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// payload is a generation, long enough for several writes, that ends in its
// checksum of sorts: the number, repeated.
func payload(g int) []byte { return bytes.Repeat([]byte{byte(g), byte(g >> 8), 7}, 70_000+g%100) }

func save(fs durable.FS, g int) error {
	return durable.Save(fs, "dir/run", func(w io.Writer) error {
		b := payload(g)
		for len(b) > 0 {
			n := min(len(b), 50_000)
			if _, err := w.Write(b[:n]); err != nil {
				return err
			}
			b = b[n:]
		}
		return nil
	})
}

// generation returns the generation that loads.
func generation(fs durable.FS) (g int, err error) {
	err = durable.Load(fs, "dir/run", func(r io.Reader) error {
		b, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if len(b) < 3 {
			return io.ErrUnexpectedEOF
		}
		g = int(b[0]) | int(b[1])<<8
		if !bytes.Equal(b, payload(g)) {
			return errors.New("damaged")
		}
		return nil
	}, func(error) bool { return false })
	return g, err
}

// Whatever call fails in whatever way, the old or the new generation loads; a
// save that reported success loads as the new one.
func TestFaults(t *testing.T) {
	faults := 2000 // every call fails in every way some twenty times
	if exact.Long() {
		faults = 10_000
	}
	src := rand.New(rand.NewPCG(3, 1))
	d := faulty.New(src)
	require.NoError(t, save(d, 0))
	perSave := d.Calls
	require.Greater(t, perSave, 8)
	last, safe, failed := 0, 0, 0
	for g := 1; g <= faults; g++ {
		d.Calls, d.Fault, d.How = 0, 1+src.IntN(perSave), src.IntN(faulty.Ways)
		at, how, crashes := d.Fault, d.How, d.How >= faulty.Crash
		err := save(d, g)
		if err != nil {
			failed++
		}
		if err != nil && !crashes {
			require.NotContains(t, d.Names(), "dir/run.tmp", "call %d failed in way %d: %v", at, how, err)
		}
		d.Power()
		got, loadErr := generation(d)
		require.NoError(t, loadErr, "generation %d: call %d failed in way %d: %v", g, at, how, err)
		switch {
		case err == nil:
			require.Equal(t, g, got, "call %d failed in way %d", at, how)
			safe = g
		case !crashes:
			require.Contains(t, []int{last, g}, got, "call %d failed in way %d", at, how)
		default: // renames that were never synced may be undone, back to the last save that succeeded
			require.GreaterOrEqual(t, got, safe, "call %d failed in way %d", at, how)
		}
		last = got
	}
	t.Logf("%d faults, %d saves reported an error", faults, failed)
	assert.Greater(t, failed, faults/2)
}

func TestOnDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	write := func(s string) error {
		return durable.Save(durable.OS{}, path, func(w io.Writer) error { _, err := io.WriteString(w, s); return err })
	}
	read := func() (s string, err error) {
		err = durable.Load(durable.OS{}, path, func(r io.Reader) error {
			b := make([]byte, 3)
			_, err := io.ReadFull(r, b)
			s = string(b)
			return err
		}, func(error) bool { return false })
		return s, err
	}
	_, err := read()
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, write("one"))
	require.NoError(t, write("two"))
	s, err := read()
	require.NoError(t, err)
	assert.Equal(t, "two", s)
	old, err := os.ReadFile(durable.Previous(path))
	require.NoError(t, err)
	assert.Equal(t, "one", string(old))
	require.NoError(t, os.WriteFile(path, []byte("tw"), 0o600))
	s, err = read()
	require.NoError(t, err)
	assert.Equal(t, "one", s)
	require.NoError(t, os.WriteFile(path, []byte("twox"), 0o600))
	s, err = read()
	require.NoError(t, err)
	assert.Equal(t, "one", s, "trailing bytes are damage")
	require.Error(t, durable.Save(durable.OS{}, filepath.Join(path, "no", "folder"), func(io.Writer) error { return nil }))
}
