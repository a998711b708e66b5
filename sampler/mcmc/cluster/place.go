package cluster

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// place is the position of a stopped step, with the results of the chains so far.
type place struct {
	chain, update int
	moved         []int
	accept        []float64
}

// pollSites is the number of sites visited between two questions whether to stop: some
// milliseconds.
const pollSites = 1 << 16

func newPlace(chains int) place {
	return place{moved: make([]int, chains), accept: make([]float64, chains)}
}

// rewind returns to the place between steps.
func (k *place) rewind() {
	k.chain, k.update = 0, 0
	clear(k.moved)
	clear(k.accept)
}

// append appends the place to a checkpoint: between steps there is nothing to keep.
func (k *place) append(p []byte) []byte {
	if k.chain == 0 && k.update == 0 {
		return p
	}
	p = wire.AppendInts(p, k.chain, k.update)
	return wire.AppendFloat64s(wire.AppendInts(p, k.moved...), k.accept)
}

// restore reads what append wrote; updates is the number of clusters of a chain in a
// step.
func (k *place) restore(p []byte, updates int) error {
	k.rewind()
	if len(p) == 0 {
		return nil
	}
	if want := 16 + 16*len(k.moved); len(p) != want {
		return fmt.Errorf("cluster: %d bytes in the checkpoint of a kernel, want 0 or %d", len(p), want)
	}
	head := make([]uint64, 2+len(k.moved))
	p, err := wire.ReadUint64s(p, head)
	if err != nil {
		return err
	}
	if head[0] >= uint64(len(k.moved)) || head[1] > uint64(updates) {
		return fmt.Errorf("cluster: the checkpoint stands at cluster %d of chain %d, want ≤ %d of chain < %d", head[1], head[0], updates, len(k.moved))
	}
	for s, n := range head[2:] {
		if n > math.MaxInt {
			return fmt.Errorf("cluster: the checkpoint has %d moves of a chain, want ≤ %d", n, math.MaxInt)
		}
		k.moved[s] = int(n)
	}
	if p, err = wire.ReadFloat64s(p, k.accept); err != nil {
		return err
	}
	k.chain, k.update = int(head[0]), int(head[1])
	return wire.ReadEnd(p)
}
