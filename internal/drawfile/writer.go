// Package drawfile owns the files that chains write their draws to while they
// run. A file is a frame with a head, then frames of a few consecutive draws of one
// block of chains, in the order in which they were written:
//
//	head:  kind of site, sites, first chain, chains, chains of a block, settings
//	draws: sum of the settings, block, first draw, draws, then per draw the states
//	       (chains × sites) and, of every chain, energy, acceptance, sites moved
//	       and invalid proposals
//
// A run that goes on from a checkpoint makes some draws again: a frame replaces
// what earlier ones say of its block from its first draw on. A frame that the file
// ends in, as after a kill, is cut off; anything else that is wrong is an error.
package drawfile

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"

	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

const (
	magic      = "gibbsite draws 1\n"
	drawsMagic = "draws\n"
	headLimit  = 1 << 21
	frameHead  = 4 * 8
	infoSize   = 4 * 8
)

// Kinds of sites.
const (
	Tokens = iota
	Reals
)

// Head says what a file is of.
type Head struct {
	Kind, Sites         int
	First, Count, Block int
	Settings            *fingerprint.List
}

func (h *Head) append() []byte {
	return h.Settings.Append(wire.AppendInts(nil, h.Kind, h.Sites, h.First, h.Count, h.Block))
}

func readHead(r io.Reader) (*Head, error) {
	body, err := wire.Read(r, magic, headLimit)
	if err != nil {
		return nil, err
	}
	var w [5]uint64
	if body, err = wire.ReadUint64s(body, w[:]); err != nil {
		return nil, err
	}
	const most = math.MaxInt32
	if w[0] > Reals || w[1] < 1 || w[1] > most || w[2] > math.MaxInt || w[3] < 1 || w[3] > most || w[4] < 1 || w[4] > 1<<16 {
		return nil, fmt.Errorf("a head with impossible sizes %d", w)
	}
	h := &Head{Kind: int(w[0]), Sites: int(w[1]), First: int(w[2]), Count: int(w[3]), Block: int(w[4])}
	h.Settings, err = fingerprint.Read(body)
	return h, err
}

// blocks returns the number of blocks.
func (h *Head) blocks() int { return (h.Count-1)/h.Block + 1 }

// chains returns the number of chains of a block.
func (h *Head) chains(block int) int { return min(h.Block, h.Count-block*h.Block) }

// frame is where some draws are.
type frame struct {
	at, end            int64 // bytes of the file
	block, first, many int
}

// errTorn says that the file ends within a frame.
var errTorn = errors.New("the file ends within a frame")

// scan reads the frames of a file from its head on, and returns where the whole
// ones end.
func scan(f *os.File, h *Head, visit func(frame)) (end int64, err error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	if end, err = f.Seek(int64(len(magic)+16+len(h.append())), io.SeekStart); err != nil {
		return 0, err
	}
	sum := h.Settings.Sum()
	for end < size {
		next, body, err := readFrame(f, end, size)
		if errors.Is(err, errTorn) {
			return end, nil
		}
		if err != nil {
			return end, fmt.Errorf("byte %d of %d: %w", end, size, err)
		}
		fr, err := h.parse(body, sum)
		if err != nil {
			return end, fmt.Errorf("byte %d of %d: %w", end, size, err)
		}
		fr.at, fr.end = end, next
		visit(fr)
		end = next
	}
	return end, nil
}

// readFrame reads the frame at a byte of a file of the given size.
func readFrame(f *os.File, at, size int64) (next int64, body []byte, err error) {
	r := io.NewSectionReader(f, at, size-at)
	body, err = wire.Read(r, drawsMagic, uint64(size-at))
	next, _ = r.Seek(0, io.SeekCurrent)
	next += at
	if err == nil {
		return next, body, nil
	}
	// A frame that nothing follows, or that claims more than there is, was being
	// written when the machine or the process stopped.
	var head [len(drawsMagic) + 8]byte
	n, _ := f.ReadAt(head[:], at)
	claimed := uint64(0)
	if n == len(head) {
		var w [1]uint64
		_, _ = wire.ReadUint64s(head[len(drawsMagic):], w[:])
		claimed = w[0]
	}
	left := uint64(size - at)
	if n < len(head) || string(head[:len(drawsMagic)]) == drawsMagic && (claimed >= left || claimed+uint64(len(head))+8 >= left) {
		return 0, nil, errTorn
	}
	return 0, nil, err
}

// parse reads what a frame is of.
func (h *Head) parse(body []byte, sum uint64) (frame, error) {
	var w [4]uint64
	rest, err := wire.ReadUint64s(body, w[:])
	if err != nil {
		return frame{}, err
	}
	if w[0] != sum || w[1] >= uint64(h.blocks()) || w[2] > math.MaxInt/2 || w[3] < 1 || w[3] > uint64(len(rest)) {
		return frame{}, fmt.Errorf("draws of another run: block %d, draws %d + %d", w[1], w[2], w[3])
	}
	fr := frame{block: int(w[1]), first: int(w[2]), many: int(w[3])}
	if size := uint64(h.chains(fr.block)) * (4*uint64(h.Sites) + infoSize); uint64(len(rest))%size != 0 || uint64(len(rest))/size != w[3] {
		return frame{}, fmt.Errorf("%d bytes, want %d draws of %d bytes", len(rest), w[3], size)
	}
	return fr, nil
}

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

// Open opens the file, and makes it if there is none. One of other settings is
// refused. What a kill has left unfinished at its end is cut off.
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

// Sync brings the file to the disk and returns the first error of Append.
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

// Page gathers consecutive draws of a block.
type Page struct {
	block, first, many int
	body, out          []byte
}

// Begin empties the page, for draws of a block from a number on.
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

// pageSize is what is written at a time, if there is so much.
const pageSize = 1 << 16

// AppendInfo appends what a draw says of a chain.
func AppendInfo(b []byte, energy, accept float64, moved, invalid int) []byte {
	return wire.AppendInts(wire.AppendFloat64s(b, []float64{energy, accept}), moved, invalid)
}

// Append writes a page, if there is anything on it. An error ends all writing; it
// is that of the next Sync.
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
