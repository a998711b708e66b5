package grammar

import (
	"encoding/binary"
	"slices"
)

// item is a position of a run: a node of the network and, if an automaton runs at that node,
// the state of the automaton.
type item struct{ node, state int32 }

// itemSet is a set of items that is being built.
type itemSet struct {
	n     *network
	items []item
	seen  map[item]bool // the items if they are more than few; otherwise empty
	gates []int32       // gates with at least one input in the set, in ascending order
}

// few is the number of items up to which a set is searched item by item.
const few = 32

func (s *itemSet) reset() {
	s.items, s.gates = s.items[:0], s.gates[:0]
	if len(s.seen) > 0 {
		clear(s.seen)
	}
}

func (s *itemSet) has(x item) bool {
	if len(s.items) <= few {
		return slices.Contains(s.items, x)
	}
	return s.seen[x]
}

// enter adds the initial item of the node at.
func (s *itemSet) enter(at int32) {
	if a := s.n.nodes[at].scalar; a != nil {
		s.put(item{at, a.start()})
		return
	}
	s.put(item{at, 0})
}

// put adds the item x and all items that can be reached from it without reading a byte.
func (s *itemSet) put(x item) {
	if s.has(x) {
		return
	}
	if s.items = append(s.items, x); len(s.items) == few+1 {
		for _, x := range s.items {
			s.seen[x] = true
		}
	} else if len(s.items) > few {
		s.seen[x] = true
	}
	v := &s.n.nodes[x.node]
	for _, g := range s.n.inputs[x.node] {
		if at, ok := slices.BinarySearch(s.gates, g); !ok {
			s.gates = slices.Insert(s.gates, at, g)
		}
	}
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
		s.enter(to)
	}
}

// close decides which gates are open, inner gates first, and adds the items to which open gates
// lead. It then sorts the set.
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
	s.items = slices.DeleteFunc(s.items, func(x item) bool {
		v := &s.n.nodes[x.node]
		return v.scalar == nil && len(v.arcs) == 0 && len(v.calls) == 0 && v.ends < 0
	})
	slices.SortFunc(s.items, func(a, b item) int {
		if a.node != b.node {
			return int(a.node - b.node)
		}
		return int(a.state - b.state)
	})
}

// appendKey appends bytes that identify the items.
func appendKey(b []byte, items []item) []byte {
	for _, x := range items {
		b = binary.LittleEndian.AppendUint32(b, uint32(x.node))
		b = binary.LittleEndian.AppendUint32(b, uint32(x.state))
	}
	return b
}
