package grammar

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// networkBytes bounds the memory of a network in bytes, unless the caller sets a lower bound.
// It is enough for 2¹⁸ nodes with their arcs.
const networkBytes = 1 << 26

// Estimated memory of the parts of a network in bytes, including the unused capacity of growing
// slices.
const (
	nodeBytes = 192
	arcBytes  = 16
	trieBytes = 64 // memory for each byte of a text
)

// network is a set of rules. Each rule is a nondeterministic automaton whose moves read bytes
// or call other rules. Gates combine several runs over the same value by a Boolean function.
type network struct {
	name  string // name of the function that builds the network, for errors
	nodes []node
	rules []rule
	gates []gate // gates, in an order in which a gate comes after those inside it

	// true if the network lacks some texts of the language, because of repeated unknown names
	// or a format below a negation
	below bool

	meter       *poll.Meter
	bytes, most int // memory used and its bound, in bytes

	arcs  []arc // blocks of memory from which the first slices of nodes are cut
	links []int32
}

func newNetwork(name string, m *poll.Meter, limits constraint.Limits) *network {
	n := &network{name: name, meter: m, most: networkBytes}
	if limits.Bytes > 0 {
		n.most = min(n.most, limits.Bytes)
	}
	return n
}

// charge adds bytes to the memory used.
func (n *network) charge(bytes int) { n.bytes += bytes }

// fits returns an error if the given number of additional bytes would exceed the bound.
func (n *network) fits(bytes int) error {
	if n.bytes+bytes > n.most {
		return &constraint.LimitError{What: n.name + ": bytes", Value: n.bytes + bytes, Bound: n.most}
	}
	return nil
}

// check adds work to the meter. It returns an error if the network has grown too large or the
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

// node is a state of the automaton of a rule.
type node struct {
	arcs   []arc
	free   []int32 // nodes reached without reading a byte
	calls  []callArc
	inputs []int32 // gates that have the node as an input
	// automaton that runs from this node, or nil; where it may end, the run continues at the
	// nodes in free
	scalar automaton
	ends   int32 // rule that is complete at this node, −1 if none
	leads  bool  // true if scalar implements leading
}

// lead returns the scalar if it implements leading, and otherwise nil.
func (v *node) lead() leading {
	if !v.leads {
		return nil
	}
	return v.scalar.(leading)
}

// names returns the run of names at the node, or nil if there is none.
func (v *node) names() *nameRun {
	if !v.leads {
		return nil
	}
	switch a := v.scalar.(type) {
	case *nameRun:
		return a
	case *table:
		r, _ := a.leads.(*nameRun)
		return r
	}
	return nil
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

// gate leads to the node out if decide returns true. The argument of decide tells which inputs
// have been reached.
type gate struct {
	inputs []int32 // nodes of the network
	decide func(ended []bool) bool
	out    int32
}

// automaton is a deterministic automaton over bytes. It assigns numbers to its states when they
// are first reached.
type automaton interface {
	start() int32
	next(state int32, b byte) int32 // state after b, −1 if it is dead
	final(state int32) bool
}

// leading is an automaton whose final states can lead to different nodes of the network.
type leading interface {
	automaton
	to(state int32) int32 // node to which a final state leads, −1 if none
	// targets appends to nodes every node that the method to can return
	targets(nodes []int32) []int32
}

// carve cuts an empty slice of capacity n from a block of memory.
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
	n.nodes = append(algebra.Grown(n.nodes, 1), node{ends: -1})
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

// space allows white space at a node that has no arcs yet.
func (n *network) space(at int32) {
	n.charge(3 * arcBytes)
	n.nodes[at].arcs = append(carve(&n.arcs, 4), arc{' ', ' ', at}, arc{'\t', '\n', at}, arc{'\r', '\r', at})
}

func (n *network) call(from, rule, to int32) {
	n.charge(arcBytes)
	n.nodes[from].calls = append(n.nodes[from].calls, callArc{rule, to})
}

// text adds a path between two nodes that reads the bytes of s.
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

// run adds a path between two nodes that reads a text of the automaton a.
func (n *network) run(from int32, a automaton, to int32) {
	at := n.add()
	n.nodes[at].scalar = a
	n.nodes[at].free = append(carve(&n.links, 1), to)
	n.link(from, at)
}

// lead adds a run of the automaton a at a node. The automaton decides to which nodes its texts
// lead.
func (n *network) lead(from int32, a leading) {
	at := n.add()
	n.nodes[at].scalar = a
	n.nodes[at].leads = true
	n.link(from, at)
}

// join adds a gate with the given inputs and returns the node to which the gate leads.
func (n *network) join(inputs []int32, decide func(ended []bool) bool) (out int32) {
	out = n.add()
	n.charge(nodeBytes + 2*arcBytes*len(inputs))
	g := int32(len(n.gates))
	n.gates = append(n.gates, gate{inputs, decide, out})
	for _, at := range inputs {
		n.nodes[at].inputs = append(n.nodes[at].inputs, g)
	}
	return out
}

// edge is an edge of a network, as listed at one of its ends, and other is its other end. If also is a
// node, the edge calls a rule, whose end is reached from here only if it is also reached from the node
// also. Otherwise, also is plainEdge or gateEdge.
type edge struct{ other, also int32 }

const (
	plainEdge = -1
	gateEdge  = -2 // from an input of a gate to where the gate leads
)

// paths holds the edges of a network, grouped by one of their ends. Its nodes are those of the network, and
// after them places between the names of objects. The runs of names that differ only in the number of
// passed names lead to the same targets, and with an edge from each run to each target there would be far
// too many. So each run leads to a place, which leads to the target of the next name and, unless that
// name is required, to the next place.
type paths struct {
	n      *network
	groups []*namePlaces
	of     map[*targets]*namePlaces
	first  []int32 // where the edges of each node begin; one more element for the end
	edges  []edge
}

// namePlaces are the places before the names low … high of an object, where the runs of names with the
// targets of one run may be. They are the nodes from number at on.
type namePlaces struct {
	run       *nameRun
	low, high int
	at        int32
}

// paths returns the edges of the network by the node from which they come if forward is true, and
// otherwise by the node to which they lead.
func (n *network) paths(forward bool) *paths {
	p := &paths{n: n, of: map[*targets]*namePlaces{}}
	for at := range n.nodes {
		r := n.nodes[at].names()
		if r == nil {
			continue
		}
		g := p.of[r.t]
		if g == nil {
			g = &namePlaces{run: r, low: r.m.passed}
			p.of[r.t], p.groups = g, append(p.groups, g)
		}
		g.low, g.high = min(g.low, r.m.passed), max(g.high, r.o.need[r.m.passed])
	}
	size := int32(len(n.nodes))
	for _, g := range p.groups {
		g.at = size
		size += int32(g.high - g.low + 1)
	}
	p.first = make([]int32, size+2)
	p.each(func(from, to, also int32) {
		if forward {
			to = from
		}
		if p.first[to+2]++; also >= 0 && !forward {
			p.first[also+2]++
		}
	})
	for i := range size {
		p.first[i+2] += p.first[i+1]
	}
	p.edges = make([]edge, p.first[size+1])
	add := func(to int32, e edge) {
		p.edges[p.first[to+1]] = e
		p.first[to+1]++
	}
	p.each(func(from, to, also int32) {
		if forward {
			from, to = to, from
		}
		if add(to, edge{from, also}); also >= 0 && !forward {
			add(also, edge{from, to})
		}
	})
	return p
}

// each calls f for every edge other than loops.
func (p *paths) each(f func(from, to, also int32)) {
	for i := range p.n.nodes {
		at, v := int32(i), &p.n.nodes[i]
		for _, to := range v.free {
			f(at, to, plainEdge)
		}
		for _, a := range v.arcs {
			if a.to != at {
				f(at, a.to, plainEdge)
			}
		}
		for _, c := range v.calls {
			f(at, c.to, p.n.rules[c.rule].start)
		}
		for _, g := range v.inputs {
			f(at, p.n.gates[g].out, gateEdge)
		}
		if r := v.names(); r != nil {
			f(at, p.place(r), plainEdge)
			if r.open {
				for _, to := range r.t.others {
					if to >= 0 {
						f(at, to, plainEdge)
					}
				}
			}
		}
	}
	for _, g := range p.groups {
		r := *g.run // a copy, because named must answer as for an open run
		n := len(r.o.l.names)
		for i := g.low; i <= g.high && i < n; i++ {
			at := g.at + int32(i-g.low)
			if to, ok := r.t.named[i]; ok && to >= 0 {
				f(at, to, plainEdge)
			}
			if i < g.high && r.o.need[i] > i {
				f(at, at+1, plainEdge)
			}
		}
		if g.high == n {
			r.open = true
			for i := n; i < n+len(r.o.l.loose); i++ {
				if to := r.named(i); to >= 0 {
					f(g.at+int32(n-g.low), to, plainEdge)
				}
			}
		}
	}
}

// place returns the place to which a run of names leads.
func (p *paths) place(r *nameRun) int32 {
	g := p.of[r.t]
	return g.at + int32(r.m.passed-g.low)
}

// leading returns, for every node and place, whether the end of its rule can be reached from it. The edges
// must be grouped by the node to which they lead. A node at which an automaton runs counts only if spells
// returns true for it. Gates count as open if gates is true and as closed otherwise.
func (p *paths) leading(spells func(at int32) bool, gates bool) ([]bool, error) {
	n := p.n
	ok := make([]bool, len(p.first)-2)
	var todo []int32
	reach := func(at int32) {
		if !ok[at] && (int(at) >= len(n.nodes) || n.nodes[at].scalar == nil || spells(at)) {
			ok[at] = true
			todo = append(todo, at)
		}
	}
	for at := range n.nodes {
		if n.nodes[at].ends >= 0 {
			reach(int32(at))
		}
	}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		edges := p.edges[p.first[at]:p.first[at+1]]
		if n.meter.Done(8 + len(edges)) {
			return nil, n.meter.Err()
		}
		for _, e := range edges {
			if e.also == plainEdge || e.also == gateEdge && gates || e.also >= 0 && ok[e.also] {
				reach(e.other)
			}
		}
	}
	return ok, nil
}

// rulesOfNodes returns the rule to which every node belongs, −1 for a node that no rule
// reaches.
func (n *network) rulesOfNodes() []int32 {
	p := n.paths(true)
	of := slices.Repeat([]int32{-1}, len(p.first)-2)
	for r := range n.rules {
		todo := []int32{n.rules[r].start, n.rules[r].end}
		for len(todo) > 0 {
			at := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if of[at] >= 0 {
				continue
			}
			of[at] = int32(r)
			for _, e := range p.edges[p.first[at]:p.first[at+1]] {
				todo = append(todo, e.other)
			}
		}
	}
	return of[:len(n.nodes)]
}

// nodeOf returns the node at which the automaton of a node continues in the given state.
func (n *network) nodeOf(at, state int32) int32 {
	if t, is := n.nodes[at].scalar.(*table); is {
		return t.node(at, state)
	}
	return at
}

// words encodes numbers as a string, for use as a map key.
func words(x []int32) string { return string(appendWords(nil, x)) }

// appendWords appends numbers to b, four bytes each.
func appendWords(b []byte, x []int32) []byte {
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}
