package drawfile

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"

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

// errTorn means that the file ends within a frame.
var errTorn = errors.New("the file ends within a frame")

// Head describes the contents of a file.
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
