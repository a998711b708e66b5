package drawfile

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

const (
	magic = "gibbsite draws 2\n"
	// magic of version 1, with 32-bit levels and frames without numbers; as long as magic
	magic1     = "gibbsite draws 1\n"
	drawsMagic = "draws\n"
	headLimit  = 1 << 21
	infoSize   = 4 * 8
)

// Kinds of sites.
const (
	Tokens = iota // sites whose values are int32 levels
	Reals         // sites whose values are float32 numbers
)

// errTorn means that the file ends within a frame.
var errTorn = errors.New("the file ends within a frame")

// Head describes the contents of a draw file: the kind and number of sites, the chains, and the
// settings of the run.
type Head struct {
	Kind, Sites         int // Tokens or Reals, and the number of sites of a state
	First, Count, Block int // first chain, number of chains, and number of chains per block
	Levels              int // number of levels of a token; 0 if it can be any int32
	Settings            *fingerprint.List

	bits   int  // bits per site
	first1 bool // whether the file has version 1
}

func (h *Head) append() []byte {
	sizes := []int{h.Kind, h.Sites, h.First, h.Count, h.Block}
	if !h.first1 {
		sizes = append(sizes, h.bits)
	}
	return h.Settings.Append(wire.AppendInts(nil, sizes...))
}

// start returns the bytes with which a file begins.
func (h *Head) start() []byte { return wire.Append(nil, magic, h.append()) }

func readHead(f io.ReaderAt, size int64) (*Head, error) {
	h := &Head{bits: 32}
	var begin [len(magic1)]byte
	n, _ := f.ReadAt(begin[:], 0)
	version := magic
	if h.first1 = string(begin[:n]) == magic1; h.first1 {
		version = magic1
	}
	body, err := wire.Read(io.NewSectionReader(f, 0, size), version, headLimit)
	if err != nil {
		return nil, err
	}
	w := []uint64{5: 32}
	if h.first1 {
		body, err = wire.ReadUint64s(body, w[:5])
	} else {
		body, err = wire.ReadUint64s(body, w)
	}
	if err != nil {
		return nil, err
	}
	const most = math.MaxInt32
	if w[0] > Reals || w[1] < 1 || w[1] > most || w[2] > math.MaxInt || w[3] < 1 || w[3] > most || w[4] < 1 || w[4] > 1<<16 || w[5] < 1 || w[5] > 32 || w[5]&(w[5]-1) != 0 || w[0] == Reals && w[5] != 32 {
		return nil, fmt.Errorf("a head with impossible sizes %d", w)
	}
	if w[2] > math.MaxInt-w[3] || w[1]*w[5] > math.MaxInt/2 { // w[1]·w[5] < 2³⁶
		return nil, fmt.Errorf("a head with impossible sizes %d", w)
	}
	h.Kind, h.Sites, h.First, h.Count, h.Block, h.bits = int(w[0]), int(w[1]), int(w[2]), int(w[3]), int(w[4]), int(w[5])
	h.Settings, err = fingerprint.Read(body)
	return h, err
}

// blocks returns the number of blocks.
func (h *Head) blocks() int { return (h.Count-1)/h.Block + 1 }

// chains returns the number of chains in a block.
func (h *Head) chains(block int) int { return min(h.Block, h.Count-block*h.Block) }

// frameHead returns the number of bytes of a frame before its states. They hold the digest of
// the settings, the block, the first draw, the number of draws and, from version 2 on, the
// number of the frame.
func (h *Head) frameHead() int {
	if h.first1 {
		return 4 * 8
	}
	return 5 * 8
}

// rowSize returns the number of bytes of one chain's state.
func (h *Head) rowSize() int { return (h.Sites*h.bits + 7) / 8 }

// drawSize returns the number of bytes of one draw of a block.
func (h *Head) drawSize(block int) uint64 {
	return uint64(h.chains(block)) * (uint64(h.rowSize()) + infoSize)
}

// frame is the position of a frame and the draws that it holds.
type frame struct {
	at                 int64 // offset of the frame in the file
	block, first, many int
}

// scan reads the frames of a file and calls visit for each. It returns their number, the end of
// the last complete frame, and the number of draws of every block that has a frame. Frames that
// are out of order or omit draws are an error.
func scan(f io.ReaderAt, size int64, h *Head, visit func(frame)) (frames int, end int64, have map[int]int, err error) {
	end = int64(len(h.start()))
	have = map[int]int{} // not for all blocks that the head claims
	sum := h.Settings.Sum()
	for end < size {
		next, body, err := readFrame(f, end, size)
		if errors.Is(err, errTorn) {
			break
		}
		var fr frame
		if err == nil {
			fr, err = h.parse(body, sum, frames)
		}
		if err == nil && fr.many > 0 && fr.first > have[fr.block] {
			chain := h.First + fr.block*h.Block
			err = fmt.Errorf("draws %d … %d of the chains %d … %d are missing", have[fr.block], fr.first-1, chain, chain+h.chains(fr.block)-1)
		}
		if err != nil {
			return 0, 0, nil, fmt.Errorf("byte %d of %d: %w", end, size, err)
		}
		fr.at = end
		visit(fr) // one without draws tells those that were missed
		have[fr.block] = fr.first + fr.many
		end = next
		frames++
	}
	return frames, end, have, nil
}

// readFrame reads the frame at offset at of a file of the given size.
func readFrame(f io.ReaderAt, at, size int64) (next int64, body []byte, err error) {
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
	n, _ := r.ReadAt(head[:], 0)
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

// parse decodes the head of frame number n.
func (h *Head) parse(body []byte, sum uint64, n int) (frame, error) {
	w := []uint64{4: uint64(n)}
	rest, err := wire.ReadUint64s(body, w[:h.frameHead()/8])
	if err != nil {
		return frame{}, err
	}
	if w[0] != sum || w[1] >= uint64(h.blocks()) || w[2] > math.MaxInt/2 || w[3] > uint64(len(rest)) {
		return frame{}, fmt.Errorf("draws of another run: block %d, draws %d + %d", w[1], w[2], w[3])
	}
	if w[4] != uint64(n) {
		return frame{}, fmt.Errorf("frame %d, want %d", w[4], n)
	}
	fr := frame{block: int(w[1]), first: int(w[2]), many: int(w[3])}
	if size := h.drawSize(fr.block); uint64(len(rest))%size != 0 || uint64(len(rest))/size != w[3] {
		return frame{}, fmt.Errorf("%d bytes, want %d draws of %d bytes", len(rest), w[3], size)
	}
	return fr, nil
}
