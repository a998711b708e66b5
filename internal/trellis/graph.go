package trellis

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"sort"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Graph is an automaton unrolled over the sites of a sequence. A node is a pair of a site and an
// automaton state. The state can be reached at this site and can still lead to acceptance. The
// Graph holds the nodes of every site and the edges between them. It is immutable and safe for
// concurrent use.
type Graph struct {
	sites, levels int

	// tokens lists all tokens by class. The tokens of class k are tokens[first[k]:first[k+1]], in
	// ascending order. The field classes holds the class of each token.
	tokens  []int32
	first   []int32
	classes []int32

	layers []*layer // one layer per site; equal layers are shared
	states [][]int  // automaton state of each node, for sites+1 positions
	offset []int    // offset of the nodes of each position in arrays over all nodes
	widest int      // largest number of nodes at a position
}

// Shape returns the number of sites and of levels.
func (g *Graph) Shape() (sites, levels int) { return g.sites, g.levels }

// Size returns the numbers of token classes, of nodes and of edges over all sites. A class is a set
// of tokens that have the same transitions in all states. Nodes and edges that consecutive sites
// share are counted once.
func (g *Graph) Size() (classes, nodes, edges int) {
	var last *layer
	for _, l := range g.layers {
		if l != last {
			edges += len(l.to)
		}
		last = l
	}
	return len(g.first) - 1, g.offset[g.sites+1], edges
}

// Accepts reports whether the automaton accepts x, regardless of weights. It panics unless
// len(x) = sites.
func (g *Graph) Accepts(x []int32) bool {
	g.checkSequence(x)
	q := int32(0)
	for t, l := range g.layers {
		e := g.edge(l, q, x[t])
		if e == none {
			return false
		}
		q = l.to[e]
	}
	return true
}

// scanned is the largest length of a row of edges that is searched linearly. For short rows,
// this is faster than binary search.
const scanned = 8

// edge returns the edge of layer l that leaves node q with the given token, or none.
func (g *Graph) edge(l *layer, q, token int32) int32 {
	if token < 0 || int(token) >= g.levels {
		return none
	}
	k := l.column[g.classes[token]]
	if k == none || !l.holds(k, token) {
		return none
	}
	lo, hi := l.row[q], l.row[q+1]
	if hi-lo > scanned {
		e, ok := slices.BinarySearch(l.col[lo:hi], k)
		if !ok {
			return none
		}
		return lo + int32(e)
	}
	for e := lo; e < hi; e++ {
		if l.col[e] == k {
			return e
		}
	}
	return none
}

// class returns the tokens of class k.
func (g *Graph) class(k int32) []int32 { return g.tokens[g.first[k]:g.first[k+1]] }

// group sorts the tokens by class and fills tokens, first and classes.
func (g *Graph) group(m *machine) {
	g.classes = make([]int32, len(m.kind))
	for v, i := range m.kind {
		g.classes[v] = m.class[i]
	}
	g.first, g.tokens = algebra.Group(g.classes, len(m.first))
}

// dead returns the error for weights under which no sequence is left. It names the first site at
// which no live column continues a run. The function alive reports whether a column of a site has a
// token of positive weight.
func (g *Graph) dead(alive func(t int, column int32) bool) error {
	seen := make([]bool, g.widest)
	seen[0] = true
	for t, l := range g.layers {
		next, any := make([]bool, g.widest), false
		for q := range l.n {
			for e := l.row[q]; seen[q] && e < l.row[q+1]; e++ {
				if alive(t, l.col[e]) {
					next[l.to[e]], any = true, true
				}
			}
		}
		if !any {
			return &algebra.DeadError{Site: t}
		}
		seen = next
	}
	return &algebra.DeadError{Site: g.sites}
}

// checkTable panics unless n, the length of a table, is sites·levels. The message of the panic
// contains the given name of the table.
func (g *Graph) checkTable(name string, n int) {
	if n != g.sites*g.levels {
		panic(fmt.Sprintf("trellis: len(%s) = %d, want %d", name, n, g.sites*g.levels))
	}
}

// checkSequence panics unless x has one token per site.
func (g *Graph) checkSequence(x []int32) {
	if len(x) != g.sites {
		panic(fmt.Sprintf("trellis: len(x) = %d, want %d", len(x), g.sites))
	}
}

// A Graph is itself an automaton. It accepts the sequences of its length that the original
// automaton accepts. Its states are the nodes, numbered site by site.

// States returns the number of nodes.
func (g *Graph) States() int { return g.offset[g.sites+1] }

// Start returns 0, the index of the first node.
func (g *Graph) Start() int { return 0 }

// Next returns the node that a token leads to, or −1 if there is none.
func (g *Graph) Next(state int, token int32) int {
	return g.NextAt(g.site(state), state, token)
}

// NextAt returns the same as [Graph.Next] for a node of site t. It is faster, because Next must
// first find the site of the node.
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

// Accepting reports whether a sequence may end at a node. This is so if the node lies after the
// last site.
func (g *Graph) Accepting(state int) bool { return state >= g.offset[g.sites] }

// site returns the position of a node.
func (g *Graph) site(state int) int {
	return sort.Search(g.sites+1, func(t int) bool { return g.offset[t+1] > state })
}

// Usable reports whether some accepted sequence has the given token at site t.
func (g *Graph) Usable(t int, token int32) bool { return g.usable(g.layers[t], token) }

// usable reports whether token has an edge in l.
func (g *Graph) usable(l *layer, token int32) bool {
	k := l.column[g.classes[token]]
	return k != none && l.holds(k, token)
}

// Count returns the exact number of accepted sequences. If v is not nil, it holds a log-weight for
// every token at every site. A sequence does not count if one of its tokens has log-weight −Inf.
// If the context ends, Count returns its cause; there are no other errors. It panics unless v is nil
// or has sites·levels entries.
func (g *Graph) Count(ctx context.Context, v []float32) (*big.Int, error) {
	var meter poll.Meter
	if meter.Watch(ctx); meter.Poll() != nil {
		return nil, meter.Err()
	}
	if v != nil {
		g.checkTable("v", len(v))
	}
	ahead := make([]big.Int, len(g.states[g.sites]))
	for q := range ahead {
		ahead[q].SetInt64(1)
	}
	var size, term big.Int
	for t := g.sites - 1; t >= 0; t-- {
		l := g.layers[t]
		here := make([]big.Int, l.n)
		allowed := l.allowed(v, t, g.levels)
		for q := range here {
			if meter.Done(int(l.row[q+1]-l.row[q]) * (1 + len(ahead[0].Bits()))) {
				return nil, meter.Err()
			}
			for e := l.row[q]; e < l.row[q+1]; e++ {
				size.SetInt64(int64(allowed[l.col[e]]))
				here[q].Add(&here[q], term.Mul(&size, &ahead[l.to[e]]))
			}
		}
		ahead = here
	}
	return &ahead[0], nil
}
