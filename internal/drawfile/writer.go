// Package drawfile reads and writes the files to which chains write their draws while
// they run. A file is a frame with a head, then frames of a few consecutive draws of
// one block of chains, in the order in which they were written:
//
//	head:  kind of site, sites, first chain, chains, chains of a block, settings
//	draws: sum of the settings, block, first draw, draws, then per draw the states
//	       (chains × sites) and, of every chain, energy, acceptance, sites moved
//	       and invalid proposals
//
// A run that resumes from a checkpoint repeats some draws: a frame replaces the draws
// of its block in earlier frames from its first draw on. An incomplete frame at the
// end, as after a kill, is cut off; any other fault is an error.
package drawfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// Writer appends draws to a file. Append may be called concurrently.
type Writer struct {
	path string
	head Head

	mutex sync.Mutex
	file  *os.File
	have  []int // draws of every block in the file
	end   int64 // of the last whole frame; 0: the file has not been read
	err   error
}

// NewWriter returns the writer of a file that Open opens.
func NewWriter(path string, head Head) *Writer {
	return &Writer{path: path, head: head, have: make([]int, head.blocks())}
}

// Open opens the file, or creates it. A file with other settings is an error. An
// incomplete frame at the end, as after a kill, is cut off.
func (w *Writer) Open() (err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.file != nil { // a panic ended the Run that opened it
		_ = w.file.Close()
	}
	if w.file, err = os.OpenFile(w.path, os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = w.file.Close()
			w.file = nil
		}
	}()
	size, err := w.file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	switch whole := w.head.append(); {
	case w.end != 0 && size == w.end: // as it was left
		return nil
	case size < int64(len(magic)+16+len(whole)) && w.torn(size, whole):
		if err = w.file.Truncate(0); err != nil {
			return err
		}
		b := wire.Append(nil, magic, whole)
		if _, err = w.file.WriteAt(b, 0); err != nil {
			return err
		}
		clear(w.have)
		w.end = int64(len(b))
		if err = w.file.Sync(); err != nil {
			return err
		}
		return durable.OS{}.SyncDir(filepath.Dir(w.path))
	}
	if _, err = w.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	saved, err := readHead(w.file)
	if err != nil {
		return err
	}
	if err = fingerprint.Compare(saved.Settings, w.head.Settings); err != nil {
		return err
	}
	clear(w.have)
	if w.end, err = scan(w.file, saved, func(f frame) { w.have[f.block] = f.first + f.many }); err != nil {
		return err
	}
	return w.file.Truncate(w.end)
}

// torn reports whether the file is the beginning of a head.
func (w *Writer) torn(size int64, whole []byte) bool {
	b := make([]byte, size)
	if _, err := w.file.ReadAt(b, 0); err != nil && size > 0 {
		return false
	}
	return string(b) == string(wire.Append(nil, magic, whole)[:size])
}

// Have returns the number of draws of a block in the file.
func (w *Writer) Have(block int) int { return w.have[block] }

// Sync flushes the file to the disk and returns the first error of Append.
func (w *Writer) Sync() error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.err != nil || w.file == nil {
		return w.err
	}
	return w.file.Sync()
}

// Err returns the first error of Append.
func (w *Writer) Err() error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.err
}

// Close closes the file.
func (w *Writer) Close() error {
	err := w.Sync()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.file != nil {
		err = errors.Join(err, w.file.Close())
		w.file = nil
	}
	if err != nil {
		w.end = 0
	}
	w.err = nil
	return err
}

// AppendInfo appends the numbers of a draw that belong to one chain.
func AppendInfo(b []byte, energy, accept float64, moved, invalid int) []byte {
	return wire.AppendInts(wire.AppendFloat64s(b, []float64{energy, accept}), moved, invalid)
}

// Append writes a page unless it is empty. An error ends all writing; the next Sync
// returns it.
func (w *Writer) Append(p *Page) {
	if p.many == 0 {
		return
	}
	wire.AppendInts(wire.AppendUint64s(p.body[:0], w.head.Settings.Sum()), p.block, p.first, p.many)
	p.out = wire.Append(p.out[:0], drawsMagic, p.body)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.err != nil {
		return
	}
	if _, w.err = w.file.WriteAt(p.out, w.end); w.err != nil {
		return
	}
	w.end += int64(len(p.out))
	w.have[p.block] = p.first + p.many
	p.Begin(p.block)
}

// Page gathers consecutive draws of a block.
type Page struct {
	block, first, many int
	body, out          []byte
}

// Begin empties the page for draws of a block from the given number on.
func (p *Page) Begin(block int) { p.block, p.many, p.body = block, 0, p.body[:0] }

// Draw begins the next draw, and returns what its states and infos are to be
// appended to; the result goes to [Page.Drawn].
func (p *Page) Draw(draw int) []byte {
	if p.many == 0 {
		p.first = draw
		p.body = append(p.body[:0], make([]byte, frameHead)...)
	}
	p.many++
	return p.body
}

// Drawn takes a draw.
func (p *Page) Drawn(b []byte) (full bool) {
	p.body = b
	return len(b) >= pageSize
}
