package drawfile

import (
	"fmt"
	"io"
	"maps"
	"math"
	"os"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// Draw is one recorded state of one chain, with the chain's report on the step that led to it.
type Draw[S energy.Site] struct {
	Chain, Draw    int     // indices of the chain and of the draw
	X              []S     // state; overwritten by the next draw
	Energy, Accept float64 // energy of X, and mean acceptance probability of the step
	// number of sites that changed in the step, and number of invalid proposals in the step
	Moved, Invalid int
}

// Read calls visit for every draw in the file and returns the number of draws per chain. It visits
// the draws of each chain in order.
func Read[S energy.Site](path string, visit func(*Draw[S])) (draws int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	h, err := readHead(f, size)
	if err != nil {
		return 0, err
	}
	kind := Tokens
	if _, ok := any([]S(nil)).([]float32); ok {
		kind = Reals
	}
	if h.Kind != kind {
		return 0, fmt.Errorf("a file of draws of %s, want %s", [2]string{"int32", "float32"}[h.Kind], [2]string{"int32", "float32"}[kind])
	}
	var frames []frame
	_, end, have, err := scan(f, size, h, func(f frame) { frames = append(frames, f) })
	if err != nil {
		return 0, err
	}
	// Draws that were made again count as the last time.
	limit := maps.Clone(have)
	for i := len(frames) - 1; i >= 0; i-- {
		fr := &frames[i]
		fr.many = max(0, min(fr.many, limit[fr.block]-fr.first))
		limit[fr.block] = min(limit[fr.block], fr.first)
	}
	var d Draw[S]
	for _, fr := range frames {
		if fr.many > 0 && d.X == nil { // the frame is as large
			d.X = make([]S, h.Sites)
		}
		_, body, err := readFrame(f, fr.at, end)
		if err != nil {
			return 0, err
		}
		n, row := h.chains(fr.block), h.rowSize()
		body = body[h.frameHead():]
		for k := range fr.many {
			states, infos := body[:n*row], body[n*row:n*(row+infoSize)]
			body = body[n*(row+infoSize):]
			for s := range n {
				d.Chain, d.Draw = h.First+fr.block*h.Block+s, fr.first+k
				d.read(states[s*row:], infos[s*infoSize:], h.bits)
				visit(&d)
			}
		}
	}
	draws = math.MaxInt
	for _, n := range have {
		draws = min(draws, n)
	}
	if len(have) < h.blocks() {
		draws = 0
	}
	return draws, nil
}

func (d *Draw[S]) read(state, info []byte, bits int) {
	switch x := any(d.X).(type) {
	case []int32:
		readLevels(state, x, bits)
	case []float32:
		_, _ = wire.ReadFloat32s(state, x)
	}
	var v [2]float64
	var w [2]uint64
	info, _ = wire.ReadFloat64s(info, v[:])
	_, _ = wire.ReadUint64s(info, w[:])
	d.Energy, d.Accept, d.Moved, d.Invalid = v[0], v[1], int(w[0]), int(w[1])
}
