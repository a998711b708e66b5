package grammar

import (
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
)

// item is a position of a run: a node of the network and, if an automaton runs at that node,
// the state of the automaton.
type item struct{ node, state int32 }

// itemSet is a set of items that is being built.
type itemSet struct {
	n     *network
	items []item
	slots []held  // hash table of items; a power of 2, more than half of them free
	turn  uint32  // identifies the slots in use
	gates []int32 // gates with at least one input in the set, in ascending order
	most  int     // number of items after which put adds no more, 0 for no bound
}

// held is a place of a hash table that holds x if it was filled in the current turn.
type held struct {
	x    item
	turn uint32
}

func newItemSet(n *network) itemSet { return itemSet{n: n, slots: make([]held, 64), turn: 1} }

func (s *itemSet) reset() {
	s.items, s.gates = s.items[:0], s.gates[:0]
	if s.turn++; s.turn == 0 {
		clear(s.slots)
		s.turn = 1
	}
}

// slot returns the slot that holds x, or the free one where it belongs.
func (s *itemSet) slot(x item) *held {
	last := uint64(len(s.slots) - 1)
	for i := x.Hash() >> 32 & last; ; i = (i + 1) & last {
		if p := &s.slots[i]; p.turn != s.turn || p.x == x {
			return p
		}
	}
}

// Hash returns a hash of the item, of which the high half is the best.
func (x item) Hash() uint64 {
	return (uint64(uint32(x.node))<<32 | uint64(uint32(x.state))) * algebra.Golden
}

func (s *itemSet) has(x item) bool { return s.slot(x).turn == s.turn }

// enter adds the initial item of the node at.
func (s *itemSet) enter(at int32) {
	s.put(s.n.initial(at))
}

// initial returns the initial item of the node at.
func (n *network) initial(at int32) item {
	if a := n.nodes[at].scalar; a != nil {
		return item{at, a.start()}
	}
	return item{at, 0}
}

// put adds the item x and all items that can be reached from it without reading a byte.
func (s *itemSet) put(x item) {
	if !s.add(x) {
		return
	}
	v := &s.n.nodes[x.node]
	if v.leads {
		if to := v.lead().to(x.state); to >= 0 {
			s.enter(to)
		}
		return
	}
	if v.scalar != nil && !v.scalar.final(x.state) {
		return
	}
	for _, to := range v.free {
		if s.most > 0 && len(s.items) > s.most {
			return
		}
		s.enter(to)
	}
}

// add adds the item x. It returns false if the set has it already.
func (s *itemSet) add(x item) bool {
	p := s.slot(x)
	if p.turn == s.turn {
		return false
	}
	*p = held{x, s.turn}
	if s.items = append(s.items, x); 2*len(s.items) >= len(s.slots) {
		s.slots = make([]held, 4*len(s.slots))
		for _, x := range s.items {
			*s.slot(x) = held{x, s.turn}
		}
	}
	for _, g := range s.n.nodes[x.node].inputs {
		if at, ok := slices.BinarySearch(s.gates, g); !ok {
			s.gates = slices.Insert(s.gates, at, g)
		}
	}
	return true
}

// close decides which gates are open, inner gates first, and adds the items to which open gates
// lead. It then removes the items that do nothing.
func (s *itemSet) close() {
	var ended []bool
	for i := 0; i < len(s.gates); i++ { // what a gate leads to comes after it
		gate := &s.n.gates[s.gates[i]]
		ended = ended[:0]
		for _, at := range gate.inputs {
			ended = append(ended, s.has(item{at, 0}))
		}
		if gate.decide(ended) {
			s.enter(gate.out)
		}
	}
	s.items = slices.DeleteFunc(s.items, s.idle)
}

// idle reports whether the item x neither reads a byte nor calls or ends a rule.
func (s *itemSet) idle(x item) bool {
	v := &s.n.nodes[x.node]
	return v.scalar == nil && len(v.arcs) == 0 && len(v.calls) == 0 && v.ends < 0
}
