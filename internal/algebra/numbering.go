package algebra

import "slices"

// Numbering numbers values in the order in which they are first found. Its zero value is empty.
type Numbering[K keyed] struct {
	Values []K     // by number
	slots  []int32 // 1 + the numbers by hash, 0 where there is none
}

// keyed is a value with a hash, of which Numbering uses the high 32 bits.
type keyed interface {
	comparable
	Hash() uint64
}

// Find returns the number assigned to x. A value that is new gets the next number.
func (n *Numbering[K]) Find(x K) int32 {
	if 2*len(n.Values) >= len(n.slots) {
		n.slots = make([]int32, max(16, 4*len(n.slots)))
		for i, x := range n.Values {
			*n.slot(x) = int32(i) + 1
		}
	}
	p := n.slot(x)
	if *p == 0 {
		n.Values = append(Grown(n.Values, 1), x)
		*p = int32(len(n.Values))
	}
	return *p - 1
}

// slot returns the slot that holds the number of x, or the free one where it belongs.
func (n *Numbering[K]) slot(x K) *int32 {
	last := uint64(len(n.slots) - 1)
	for i := x.Hash() >> 32 & last; ; i = (i + 1) & last {
		if p := &n.slots[i]; *p == 0 || n.Values[*p-1] == x {
			return p
		}
	}
}

// Golden is an odd multiplier for the first step of a hash: the fractional part of the golden ratio, times
// 2⁶⁴.
const Golden = 0x9E3779B97F4A7C15

// Mix adds x to the hash h. The multiplier is one of those of SplitMix64 (Steele, Lea and Flood 2014).
func Mix(h, x uint64) uint64 { return (h ^ h>>29 ^ x) * 0xBF58476D1CE4E5B9 }

// Grown returns x with space for n more elements. It doubles the space, because append alone copies
// large slices five times.
func Grown[E any](x []E, n int) []E {
	if len(x)+n > cap(x) {
		return slices.Grow(x, max(64, n, len(x)))
	}
	return x
}
