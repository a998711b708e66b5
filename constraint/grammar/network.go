package grammar

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// networkBytes bounds the memory of a network, unless its caller allows less: 2¹⁸ nodes
// with what leads from them.
const networkBytes = 1 << 26

// The memory of a network, with what slices that grow leave behind.
const (
	nodeBytes = 192
	arcBytes  = 16
	trieBytes = 64 // of each byte
)

// network is a set of rules, each a nondeterministic automaton over bytes and
// calls of other rules, with gates that combine runs over the same value.
type network struct {
	name   string // of the function that builds it
	nodes  []node
	rules  []rule
	gates  []gate            // a gate comes after those inside it
	inputs map[int32][]int32 // the gates of which a node is an input

	below bool // texts are missing: of many members whose names are not known, or in a negation of a format

	meter       *poll.Meter
	bytes, most int // that it has and may have

	arcs  []arc // blocks from which the first slices of nodes are cut
	links []int32
}

func newNetwork(name string, m *poll.Meter, limits constraint.Limits) *network {
	n := &network{name: name, meter: m, most: networkBytes}
	if limits.Bytes > 0 {
		n.most = min(n.most, limits.Bytes)
	}
	return n
}

// charge counts memory.
func (n *network) charge(bytes int) { n.bytes += bytes }

// fits returns an error if there is no memory for so many bytes more.
func (n *network) fits(bytes int) error {
	if n.bytes+bytes > n.most {
		return &constraint.LimitError{What: n.name + ": bytes", Value: n.bytes + bytes, Bound: n.most}
	}
	return nil
}

// check counts work and returns an error if the network has grown too large or its
// context has ended.
func (n *network) check(work int) error {
	if err := n.fits(0); err != nil {
		return err
	}
	if n.meter.Done(64 + work) {
		return n.meter.Err()
	}
	return nil
}

// node is a place in a rule.
type node struct {
	arcs   []arc
	free   []int32 // nodes reached without a byte
	calls  []callArc
	scalar automaton // runs from here; where it may end, free follows
	ends   int32     // the rule that is complete here, −1
	leads  bool      // the scalar is leading
}

// lead returns the scalar if it says where it leads.
func (v *node) lead() leading {
	if !v.leads {
		return nil
	}
	return v.scalar.(leading)
}

type arc struct {
	low, high byte
	to        int32
}

type callArc struct{ rule, to int32 }

type rule struct {
	name       fmt.Stringer
	start, end int32
}

// gate leads to out where decide holds for the inputs that have ended.
type gate struct {
	inputs []int32 // nodes
	decide func(ended []bool) bool
	out    int32
}

// automaton is a deterministic automaton over bytes, whose states are numbered
// as they are met.
type automaton interface {
	start() int32
	next(state int32, b byte) int32 // −1: dead
	final(state int32) bool
}

// leading is an automaton whose final states lead to different nodes.
type leading interface {
	automaton
	to(state int32) int32          // −1: none
	targets(nodes []int32) []int32 // with all that to returns
}

// carve returns an empty slice of capacity n, cut from a block.
func carve[E any](block *[]E, n int) []E {
	if len(*block) < n {
		*block = make([]E, max(n, 64))
	}
	s := (*block)[:0:n]
	*block = (*block)[n:]
	return s
}

func (n *network) add() int32 {
	n.charge(nodeBytes)
	if len(n.nodes) == cap(n.nodes) {
		n.nodes = slices.Grow(n.nodes, max(64, len(n.nodes))) // append alone copies large networks five times
	}
	n.nodes = append(n.nodes, node{ends: -1})
	return int32(len(n.nodes) - 1)
}

func (n *network) rule(name fmt.Stringer) int32 {
	r := int32(len(n.rules))
	n.rules = append(n.rules, rule{name, n.add(), n.add()})
	n.nodes[n.rules[r].end].ends = r
	return r
}

func (n *network) link(from, to int32) {
	n.charge(arcBytes)
	v := &n.nodes[from]
	if v.free == nil {
		v.free = carve(&n.links, 1)
	}
	v.free = append(v.free, to)
}

func (n *network) arc(from int32, low, high byte, to int32) {
	n.charge(arcBytes)
	v := &n.nodes[from]
	if v.arcs == nil {
		v.arcs = carve(&n.arcs, 1)
	}
	v.arcs = append(v.arcs, arc{low, high, to})
}

// space lets white space pass at a place, which has no arcs yet.
func (n *network) space(at int32) {
	n.charge(3 * arcBytes)
	n.nodes[at].arcs = append(carve(&n.arcs, 4), arc{' ', ' ', at}, arc{'\t', '\n', at}, arc{'\r', '\r', at})
}

func (n *network) call(from, rule, to int32) {
	n.charge(arcBytes)
	n.nodes[from].calls = append(n.nodes[from].calls, callArc{rule, to})
}

// text leads from one node to another by the bytes of s.
func (n *network) text(from int32, s string, to int32) {
	for i := range len(s) {
		at := to
		if i < len(s)-1 {
			at = n.add()
		}
		n.arc(from, s[i], s[i], at)
		from = at
	}
	if s == "" {
		n.link(from, to)
	}
}

// run leads from one node to another by a text of a.
func (n *network) run(from int32, a automaton, to int32) {
	at := n.add()
	n.nodes[at].scalar = a
	n.nodes[at].free = append(carve(&n.links, 1), to)
	n.link(from, at)
}

// lead runs an automaton from a node, which says where its texts lead.
func (n *network) lead(from int32, a leading) {
	at := n.add()
	n.nodes[at].scalar = a
	n.nodes[at].leads = true
	n.link(from, at)
}

// join makes a gate of inputs and returns the node to which it leads.
func (n *network) join(inputs []int32, decide func(ended []bool) bool) (out int32) {
	out = n.add()
	n.charge(nodeBytes + 2*arcBytes*len(inputs))
	g := int32(len(n.gates))
	n.gates = append(n.gates, gate{inputs, decide, out})
	if n.inputs == nil {
		n.inputs = map[int32][]int32{}
	}
	for _, at := range inputs {
		n.inputs[at] = append(n.inputs[at], g)
	}
	return out
}

// rulesOfNodes returns the rule of every node, −1 where it has none.
func (n *network) rulesOfNodes() []int32 {
	of := make([]int32, len(n.nodes))
	for at := range of {
		of[at] = -1
	}
	for r := range n.rules {
		todo := []int32{n.rules[r].start, n.rules[r].end}
		for len(todo) > 0 {
			at := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if of[at] >= 0 {
				continue
			}
			of[at] = int32(r)
			v := &n.nodes[at]
			todo = append(todo, v.free...)
			for _, a := range v.arcs {
				todo = append(todo, a.to)
			}
			for _, c := range v.calls {
				todo = append(todo, c.to)
			}
			for _, g := range n.inputs[at] {
				todo = append(todo, n.gates[g].out)
			}
			if v.leads {
				todo = v.lead().targets(todo)
			}
		}
	}
	return of
}

// words writes numbers as a key.
func words(x []int32) string {
	var b []byte
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return string(b)
}
