package trellis

import "sort"

// A Graph is itself an automaton, of the sequences of its length that it
// accepts: its states are the nodes, numbered site after site.

// States returns the number of nodes.
func (g *Graph) States() int { return g.offset[g.sites+1] }

// Start returns 0.
func (g *Graph) Start() int { return 0 }

// Next returns the node after token, or −1.
func (g *Graph) Next(state int, token int32) int {
	return g.NextAt(g.site(state), state, token)
}

// NextAt is Next for a node of site t, which need not be looked for.
func (g *Graph) NextAt(t, state int, token int32) int {
	if t == g.sites {
		return none
	}
	l := g.layers[t]
	e := g.edge(l, int32(state-g.offset[t]), token)
	if e == none {
		return none
	}
	return g.offset[t+1] + int(l.to[e])
}

// Accepting reports whether the node is at the end.
func (g *Graph) Accepting(state int) bool { return state >= g.offset[g.sites] }

// site returns the site of a node.
func (g *Graph) site(state int) int {
	return sort.Search(g.sites+1, func(t int) bool { return g.offset[t+1] > state })
}

// Usable reports whether some accepted sequence has token at site t.
func (g *Graph) Usable(t int, token int32) bool { return g.usable(g.layers[t], token) }

// usable reports whether token has an edge in l.
func (g *Graph) usable(l *layer, token int32) bool {
	k := l.column[g.classes[token]]
	return k != none && l.holds(k, token)
}
