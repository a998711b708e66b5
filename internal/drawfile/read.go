package drawfile

import (
	"fmt"
	"os"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// Draw is one draw of one chain.
type Draw[S energy.Site] struct {
	Chain, Draw    int
	X              []S // overwritten by the next
	Energy, Accept float64
	Moved, Invalid int
}

// Read calls visit for every draw in the file, the draws of a chain in order, and
// returns the number of draws that every chain has.
func Read[S energy.Site](path string, visit func(*Draw[S])) (draws int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	h, err := readHead(f)
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
	end, err := scan(f, h, func(f frame) { frames = append(frames, f) })
	if err != nil {
		return 0, err
	}
	// Draws that were made again count as the last time.
	limit, have := map[int]int{}, make([]int, h.blocks())
	for i := len(frames) - 1; i >= 0; i-- {
		fr := &frames[i]
		if most, ok := limit[fr.block]; ok {
			fr.many = max(0, min(fr.many, most-fr.first))
		} else {
			have[fr.block] = fr.first + fr.many
		}
		if most, ok := limit[fr.block]; !ok || fr.first < most {
			limit[fr.block] = fr.first
		}
	}
	d := Draw[S]{X: make([]S, h.Sites)}
	for _, fr := range frames {
		_, body, err := readFrame(f, fr.at, end)
		if err != nil {
			return 0, err
		}
		n := h.chains(fr.block)
		body = body[frameHead:]
		for k := range fr.many {
			states, infos := body[:4*n*h.Sites], body[4*n*h.Sites:n*(4*h.Sites+infoSize)]
			body = body[n*(4*h.Sites+infoSize):]
			for s := range n {
				d.Chain, d.Draw = h.First+fr.block*h.Block+s, fr.first+k
				d.read(states[4*s*h.Sites:], infos[s*infoSize:])
				visit(&d)
			}
		}
	}
	draws = have[0]
	for _, n := range have {
		draws = min(draws, n)
	}
	return draws, nil
}

func (d *Draw[S]) read(state, info []byte) {
	switch x := any(d.X).(type) {
	case []int32:
		_, _ = wire.ReadInt32s(state, x)
	case []float32:
		_, _ = wire.ReadFloat32s(state, x)
	}
	var v [2]float64
	var w [2]uint64
	info, _ = wire.ReadFloat64s(info, v[:])
	_, _ = wire.ReadUint64s(info, w[:])
	d.Energy, d.Accept, d.Moved, d.Invalid = v[0], v[1], int(w[0]), int(w[1])
}

// pageSize is what is written at a time, if there is so much.
const pageSize = 1 << 16
