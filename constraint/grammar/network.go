package grammar

import (
	"encoding/binary"
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// nodes bounds the places of a network, and so does the memory that its caller
// allows, at nodeBytes each with what leads from them.
const (
	nodes     = 1 << 18
	nodeBytes = 256
)

// network is a set of rules, each a nondeterministic automaton over bytes and
// calls of other rules, with gates that combine runs over the same value.
type network struct {
	nodes []node
	rules []rule
	gates []gate // a gate comes after those inside it
	most  int    // nodes that it may have
}

func newNetwork(limits constraint.Limits) *network {
	n := &network{most: nodes}
	if limits.Bytes > 0 {
		n.most = min(nodes, max(1, limits.Bytes/nodeBytes))
	}
	return n
}

// checkSize returns an error if a network has too many nodes.
func (n *network) checkSize(name string) error {
	if len(n.nodes) > n.most {
		return &constraint.LimitError{What: name + ": nodes", Value: len(n.nodes), Bound: n.most}
	}
	return nil
}

// node is a place in a rule.
type node struct {
	arcs   []arc
	free   []int32 // nodes reached without a byte
	calls  []callArc
	scalar automaton // runs from here; where it may end, free follows
	gate   int32     // of which this is an input, −1
	input  int32
	ends   int32 // the rule that is complete here, −1
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

func (n *network) add() int32 {
	n.nodes = append(n.nodes, node{gate: -1, ends: -1})
	return int32(len(n.nodes) - 1)
}

func (n *network) rule(name fmt.Stringer) int32 {
	r := int32(len(n.rules))
	n.rules = append(n.rules, rule{name, n.add(), n.add()})
	n.nodes[n.rules[r].end].ends = r
	return r
}

func (n *network) link(from, to int32) { n.nodes[from].free = append(n.nodes[from].free, to) }

func (n *network) arc(from int32, low, high byte, to int32) {
	n.nodes[from].arcs = append(n.nodes[from].arcs, arc{low, high, to})
}

func (n *network) call(from, rule, to int32) {
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
	n.nodes[at].free = []int32{to}
	n.link(from, at)
}

// join makes a gate of inputs that leads to out.
func (n *network) join(inputs []int32, out int32, decide func(ended []bool) bool) {
	g := int32(len(n.gates))
	n.gates = append(n.gates, gate{inputs, decide, out})
	for i, at := range inputs {
		n.nodes[at].gate, n.nodes[at].input = g, int32(i)
	}
}

// words writes numbers as a key.
func words(x []int32) string {
	var b []byte
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return string(b)
}
