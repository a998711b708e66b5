// Package faulty implements an in-memory file system that fails on demand. Only tests import it.
package faulty

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/durable"
)

var errFault = errors.New("injected")

// Disk is an in-memory file system that fails at one chosen call, in one of several ways. It can
// lose data that was not synced.
type Disk struct {
	Calls int // number of calls so far
	Fault int // number of the call that fails; 0 for none
	How   int // kind of failure, from 0 to Ways−1

	src    *rand.Rand
	dead   bool // whether a crash has happened, after which all calls fail
	live   map[string]*inode
	stable map[string]*inode // folder entries at the last sync
}

// New returns an empty disk. The source src determines which unsynced data a crash keeps.
func New(src *rand.Rand) *Disk {
	return &Disk{src: src, live: map[string]*inode{}, stable: map[string]*inode{}}
}

type inode struct{ data, synced []byte }

const (
	refuse  = iota // failure that does nothing and returns an error
	half           // failure that does half of the work and returns an error
	short          // failure that does half of the work and reports a short write
	lie            // failure that does half of a write and reports success
	Crash          // power failure before the call; all kinds ≥ Crash are crashes
	crashed        // power failure after the call
	Ways           // number of kinds of failure
)

func (d *Disk) call() (how int, faulty bool) {
	d.Calls++
	if d.dead {
		return refuse, true
	}
	if d.Calls != d.Fault {
		return 0, false
	}
	d.dead = d.How == Crash || d.How == crashed
	return d.How, true
}

// Power switches the disk on again after a crash. The folder then holds its current entries or
// those that were last synced, and each file may have lost any part of its unsynced data.
func (d *Disk) Power() {
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
	d.dead, d.Fault = false, 0
}

func clone(m map[string]*inode) map[string]*inode {
	c := map[string]*inode{}
	for k, v := range m {
		c[k] = v
	}
	return c
}

type handle struct {
	d *Disk
	n *inode
}

func (d *Disk) Create(name string) (durable.File, error) {
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
		case refuse, Crash:
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

func (d *Disk) Open(name string) (io.ReadCloser, error) {
	if _, faulty := d.call(); faulty {
		return nil, errFault
	}
	n, ok := d.live[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, os.ErrNotExist)
	}
	return io.NopCloser(bytes.NewReader(n.data)), nil
}

func (d *Disk) Rename(from, to string) error {
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

func (d *Disk) Remove(name string) error {
	how, faulty := d.call()
	if faulty && how != crashed && how != lie {
		return errFault
	}
	if d.live[name] == nil {
		return fmt.Errorf("%s: %w", name, os.ErrNotExist)
	}
	delete(d.live, name)
	if faulty && how == crashed {
		return errFault
	}
	return nil
}

// Names returns the names of the files, sorted.
func (d *Disk) Names() []string { return slices.Sorted(maps.Keys(d.live)) }

func (d *Disk) SyncDir(string) error {
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
