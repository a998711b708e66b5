// Package drawfile reads and writes the files in which chains record their draws while they run. A
// draw is one recorded state of one chain, with the energy of the state. Chains that move together
// form a block. A file begins with a frame that holds a head. Frames with draws follow in the order
// of writing, each with a few consecutive draws of one block:
//
//	head:  kind of site, sites, first chain, chains, chains of a block, bits per
//	       site, settings
//	draws: digest of the settings, block, first draw, draws, number of the frame, then
//	       per draw the states (of each chain, in whole bytes) and, for every chain,
//	       energy, acceptance, sites moved and invalid proposals
//
// A site takes 1, 2, 4, 8, 16 or 32 bits, depending on the levels of the model; a real takes 32.
//
// A run that resumes from a checkpoint repeats some draws. A frame therefore replaces the draws of
// earlier frames that belong to the same block, from the frame's first draw on. If chains have
// missed draws, a frame without draws precedes the first draw after the gap. An incomplete frame at
// the end, such as one left by a killed process, is removed. It is an error if any other frame is
// damaged, is out of order, or skips draws. Files of version 1, with 32 bits per site and without
// frame numbers, can be read but not continued.
//
// A writer locks its file while it is open.
package drawfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// Writer appends draws to a file. [Writer.Append] may be called concurrently.
type Writer struct {
	path string
	head Head

	mutex  sync.Mutex
	lock   *durable.Lock
	file   *os.File
	have   []int // number of draws in the file, by block
	frames int   // number of frames in the file
	end    int64 // end of the last complete frame; 0 if the file has not been read
	err    error
}

// NewWriter returns a writer. Call Open to open its file.
func NewWriter(path string, head Head) *Writer {
	head.bits = 32
	if head.Kind == Tokens {
		head.bits = bitsOf(head.Levels)
	}
	return &Writer{path: path, head: head, have: make([]int, head.blocks())}
}

// Open opens or creates the file, and locks it until Close. It returns an error if the settings in
// the file are not those of this run, or if another run has opened the file. If the file ends with
// an incomplete frame, such as one left by a killed process, Open removes that frame.
func (w *Writer) Open() (err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.file != nil { // a panic ended the Run that opened it
		w.shut()
	}
	if w.lock, err = durable.Acquire(w.path); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			w.shut()
		}
	}()
	if w.file, err = os.OpenFile(w.path, os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return err
	}
	size, err := w.file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	switch start := w.head.start(); {
	case w.end != 0 && size == w.end: // as it was left
		return nil
	case size < int64(len(start)) && w.torn(size, start):
		if err = w.file.Truncate(0); err != nil {
			return err
		}
		if _, err = w.file.WriteAt(start, 0); err != nil {
			return err
		}
		clear(w.have)
		w.frames, w.end = 0, int64(len(start))
		if err = w.file.Sync(); err != nil {
			return err
		}
		return durable.OS{}.SyncDir(filepath.Dir(w.path))
	}
	saved, err := readHead(w.file, size)
	if err != nil {
		return err
	}
	if err = fingerprint.Compare(saved.Settings, w.head.Settings); err != nil {
		return err
	}
	if saved.first1 {
		return errors.New("a file of an earlier version, want a new one: diagnose.Replay reads it, but no run goes on with it")
	}
	if !bytes.Equal(saved.append(), w.head.append()) {
		return errors.New("a file of states of another size, want a new one")
	}
	frames, end, have, err := scan(w.file, size, saved, func(frame) {})
	if err != nil {
		return err
	}
	w.frames, w.end = frames, end
	for block := range w.have {
		w.have[block] = have[block]
	}
	return w.file.Truncate(w.end)
}

// shut closes the file and ignores errors.
func (w *Writer) shut() {
	if w.file != nil {
		_ = w.file.Close()
		w.file = nil
	}
	w.lock.Release()
	w.lock, w.end = nil, 0
}

// torn reports whether the file is a prefix of a head.
func (w *Writer) torn(size int64, start []byte) bool {
	b := make([]byte, size)
	if _, err := w.file.ReadAt(b, 0); err != nil && size > 0 {
		return false
	}
	return string(b) == string(start[:size])
}

// Have returns how many draws per chain the file holds for the given block of chains.
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

// Close flushes and closes the file and releases the lock.
func (w *Writer) Close() error {
	err := w.Sync()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.file != nil {
		err = errors.Join(err, w.file.Close())
		w.file = nil
	}
	w.lock.Release()
	if w.lock = nil; err != nil {
		w.end = 0
	}
	w.err = nil
	return err
}

// Append writes the draws of a page to the file as a frame, unless the page is empty. After an
// error nothing more is written, and the next Sync returns the error.
func (w *Writer) Append(p *Page) {
	if p.many == 0 {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.err != nil {
		return
	}
	switch {
	case p.err != nil:
		w.err = p.err
	case p.first > w.have[p.block]:
		w.err = fmt.Errorf("draw %d of block %d, want ≤ %d: draws before it are not in the file", p.first, p.block, w.have[p.block])
	}
	if w.err != nil {
		return
	}
	if w.write(p); w.err == nil {
		p.Begin(p.block)
	}
}

// Skip records a gap in the draws of a block. The argument draw is the index of the first draw
// after the gap.
func (w *Writer) Skip(block, draw int) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.err == nil {
		w.write(&Page{block: block, first: draw, body: make([]byte, w.head.frameHead())})
	}
	return w.err
}

// write writes a page.
func (w *Writer) write(p *Page) {
	wire.AppendInts(wire.AppendUint64s(p.body[:0], w.head.Settings.Sum()), p.block, p.first, p.many, w.frames)
	p.out = wire.Append(p.out[:0], drawsMagic, p.body)
	if _, w.err = w.file.WriteAt(p.out, w.end); w.err != nil {
		return
	}
	w.end += int64(len(p.out))
	w.frames++
	w.have[p.block] = p.first + p.many
}

// Page collects consecutive draws of a block of chains. [Writer.Append] writes them to the file as
// one frame.
type Page struct {
	block, first, many int
	body, out          []byte
	err                error
}

// Begin empties the page and prepares it for draws of the given block.
func (p *Page) Begin(block int) { p.block, p.many, p.body, p.err = block, 0, p.body[:0], nil }

// States begins a new draw in the page. It adds the states x of all chains of the block, in the
// format of the file that w writes.
func States[S energy.Site](w *Writer, p *Page, draw int, x []S) {
	if p.many == 0 {
		p.first = draw
		p.body = append(p.body[:0], make([]byte, w.head.frameHead())...)
	}
	p.many++
	switch x := any(x).(type) {
	case []int32:
		for n := w.head.Sites; len(x) > 0; x = x[n:] {
			var ok bool
			if p.body, ok = appendLevels(p.body, x[:n], w.head.bits); !ok && p.err == nil {
				p.err = fmt.Errorf("draw %d of block %d: a level is not 0 … %d", draw, p.block, w.head.Levels-1)
			}
		}
	case []float32:
		p.body = wire.AppendFloat32s(p.body, x)
	}
}

// Info adds one chain's energy, acceptance, number of moved sites and number of invalid proposals
// to the draw. Call it once for every chain of the block, in order, after States.
func (p *Page) Info(energy, accept float64, moved, invalid int) {
	p.body = wire.AppendInts(wire.AppendFloat64s(p.body, []float64{energy, accept}), moved, invalid)
}

// Full reports whether the page is large enough to be written.
func (p *Page) Full() bool { return len(p.body) >= pageSize }

// pageSize is the number of bytes from which a page is written.
const pageSize = 1 << 16
