package durable_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var errFault = errors.New("injected")

// disk is a file system in memory that fails at one call, in one of several
// ways, and can lose what was not synced.
type disk struct {
	src    *rand.Rand
	calls  int
	fault  int // number of the call that fails; 0: none
	how    int
	dead   bool // nothing works after a crash
	live   map[string]*inode
	stable map[string]*inode // the folder as it was synced
}

type inode struct{ data, synced []byte }

const (
	refuse  = iota // an error, nothing done
	half           // half of it done, and an error
	short          // half of it done, reported as a short write
	lie            // half of a write done, reported as done
	crash          // power fails before
	crashed        // power fails after
	ways
)

func (d *disk) call() (how int, faulty bool) {
	d.calls++
	if d.dead {
		return refuse, true
	}
	if d.calls != d.fault {
		return 0, false
	}
	d.dead = d.how == crash || d.how == crashed
	return d.how, true
}

// power brings the disk back as a crash leaves it: each entry of the folder as
// it is now or as it was synced, each file with any part of what was not synced.
func (d *disk) power() {
	if d.dead {
		// Renames reach the disk in order: all up to some point.
		if d.src.IntN(2) == 0 {
			d.live = clone(d.stable)
		}
		for _, n := range d.live {
			if !bytes.Equal(n.data, n.synced) {
				n.data = bytes.Clone(n.data[:d.src.IntN(len(n.data)+1)])
				if d.src.IntN(2) == 0 {
					n.data = bytes.Clone(n.synced)
				}
			}
		}
	}
	d.dead, d.fault = false, 0
}

func clone(m map[string]*inode) map[string]*inode {
	c := map[string]*inode{}
	for k, v := range m {
		c[k] = v
	}
	return c
}

type handle struct {
	d *disk
	n *inode
}

func (d *disk) Create(name string) (durable.File, error) {
	how, faulty := d.call()
	if faulty && how != crashed && how != lie {
		return nil, errFault
	}
	n := &inode{}
	d.live[name] = n
	if faulty && how == crashed {
		return nil, errFault
	}
	return &handle{d, n}, nil
}

func (h *handle) Write(b []byte) (int, error) {
	how, faulty := h.d.call()
	n := len(b)
	if faulty {
		switch how {
		case refuse, crash:
			return 0, errFault
		case half, short, lie:
			n /= 2
		}
	}
	h.n.data = append(h.n.data, b[:n]...)
	switch {
	case !faulty || how == lie:
		return len(b), nil
	case how == short:
		return n, nil
	}
	return n, errFault
}

func (h *handle) Sync() error {
	how, faulty := h.d.call()
	if faulty && how != crashed {
		return errFault // no one can help against a sync that lies
	}
	h.n.synced = bytes.Clone(h.n.data)
	if faulty {
		return errFault
	}
	return nil
}

func (h *handle) Close() error {
	if _, faulty := h.d.call(); faulty {
		return errFault
	}
	return nil
}

func (d *disk) Open(name string) (io.ReadCloser, error) {
	if _, faulty := d.call(); faulty {
		return nil, errFault
	}
	n, ok := d.live[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, os.ErrNotExist)
	}
	return io.NopCloser(bytes.NewReader(n.data)), nil
}

func (d *disk) Rename(from, to string) error {
	how, faulty := d.call()
	if faulty && how != crashed && how != lie {
		return errFault
	}
	n, ok := d.live[from]
	if !ok {
		return fmt.Errorf("%s: %w", from, os.ErrNotExist)
	}
	d.live[to] = n
	delete(d.live, from)
	if faulty && how == crashed {
		return errFault
	}
	return nil
}

func (d *disk) SyncDir(string) error {
	how, faulty := d.call()
	if faulty && how != crashed {
		return errFault
	}
	d.stable = clone(d.live)
	if faulty {
		return errFault
	}
	return nil
}

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
	faults := 10_000
	if testing.Short() {
		faults = 1000
	}
	src := rand.New(rand.NewPCG(3, 1))
	d := &disk{src: src, live: map[string]*inode{}, stable: map[string]*inode{}}
	require.NoError(t, save(d, 0))
	perSave := d.calls
	require.Greater(t, perSave, 8)
	last, safe, failed := 0, 0, 0
	for g := 1; g <= faults; g++ {
		d.calls, d.fault, d.how = 0, 1+src.IntN(perSave), src.IntN(ways)
		at, how, crashes := d.fault, d.how, d.how >= crash
		err := save(d, g)
		if err != nil {
			failed++
		}
		d.power()
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
