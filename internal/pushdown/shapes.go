package pushdown

import (
	"hash/maphash"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
)

// Shapes numbers shapes, which divide the byte classes of a machine into slots. Slots are numbered in the
// order of their first classes. The zero value is empty.
type Shapes struct {
	classes int
	slots   []uint8 // slot of each class, for one shape after another
	first   []uint8 // first class of each slot, for one shape after another
	list    []extent
	known   []int32 // 1 + the numbers of shapes by hash, 0 where there is none
}

// extent tells where the first classes of the slots of a shape begin, and the number of slots.
type extent struct{ first, width int32 }

// seed is the seed of the hashes of shapes.
var seed = maphash.MakeSeed()

// Find returns the number of the shape that assigns slot slots[c] to every class c. All calls must have
// the same number of classes.
func (s *Shapes) Find(slots []uint8) int32 {
	s.classes = len(slots)
	if 2*len(s.list) >= len(s.known) {
		s.known = make([]int32, max(64, 4*len(s.list)))
		n := len(s.known)/2 - len(s.list) // more shapes
		s.list, s.slots = slices.Grow(s.list, n), slices.Grow(s.slots, n*len(slots))
		for i := range int32(len(s.list)) {
			*s.place(s.Slots(i)) = i + 1
		}
	}
	p := s.place(slots)
	if *p == 0 {
		x := extent{first: int32(len(s.first))}
		s.first = algebra.Grown(s.first, len(slots))
		for c, k := range slots {
			if int32(k) == x.width {
				s.first = append(s.first, uint8(c))
				x.width++
			}
		}
		s.slots, s.list = append(s.slots, slots...), append(s.list, x)
		*p = int32(len(s.list))
	}
	return *p - 1
}

// place returns the place in known of a shape, or the free one where it belongs.
func (s *Shapes) place(slots []uint8) *int32 {
	last := uint64(len(s.known) - 1)
	for i := maphash.Bytes(seed, slots) & last; ; i = (i + 1) & last {
		if p := &s.known[i]; *p == 0 || slices.Equal(s.Slots(*p-1), slots) {
			return p
		}
	}
}

// Len returns the number of shapes.
func (s *Shapes) Len() int { return len(s.list) }

// Slots returns the slot of each class.
func (s *Shapes) Slots(shape int32) []uint8 {
	return s.slots[int(shape)*s.classes : int(shape+1)*s.classes]
}

// First returns the first class of each slot.
func (s *Shapes) First(shape int32) []uint8 {
	x := s.list[shape]
	return s.first[x.first : x.first+x.width]
}

// Width returns the number of slots.
func (s *Shapes) Width(shape int32) int { return int(s.list[shape].width) }
