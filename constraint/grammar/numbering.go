package grammar

// numbering numbers values in the order in which they are first found. Its zero value is empty.
type numbering[K keyed] struct {
	states []K
	slots  []int32 // 1 + the numbers by hash, 0 where there is none
}

// keyed is a value with a hash, whose high half is the best.
type keyed interface {
	comparable
	hash() uint64
}

// find returns the number of x.
func (n *numbering[K]) find(x K) int32 {
	if 2*len(n.states) >= len(n.slots) {
		n.slots = make([]int32, max(16, 4*len(n.slots)))
		for i, x := range n.states {
			*n.slot(x) = int32(i) + 1
		}
	}
	p := n.slot(x)
	if *p == 0 {
		n.states = append(grown(n.states, 1), x)
		*p = int32(len(n.states))
	}
	return *p - 1
}

// slot returns the slot that holds the number of x, or the free one where it belongs.
func (n *numbering[K]) slot(x K) *int32 {
	last := uint64(len(n.slots) - 1)
	for i := x.hash() >> 32 & last; ; i = (i + 1) & last {
		if p := &n.slots[i]; *p == 0 || n.states[*p-1] == x {
			return p
		}
	}
}
