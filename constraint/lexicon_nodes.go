package constraint

import (
	"slices"
	"sort"
)

// nodes are the states of a lexicon and their transitions.
type nodes struct {
	node []node // node 0 is the start
	edge []edge
}

// edge is a transition of a lexicon.
type edge struct{ token, to int32 }

// node is a state. Its edges are nodes.edge[at : at+edges], ascending by token.
type node struct {
	at, edges int32
	refs      int32 // edges that lead here
	final     bool
}

func (l *nodes) edges(s int32) []edge {
	n := &l.node[s]
	return l.edge[n.at : n.at+n.edges : n.at+n.edges]
}

// follow returns the state after token, −1 if there is none.
func (l *nodes) follow(s, token int32) int32 {
	edges := l.edges(s)
	for len(edges) > 8 { // halve, then look at each: 8 edges are one cache line
		half := len(edges) / 2
		if edges[half].token <= token {
			edges = edges[half:]
		} else {
			edges = edges[:half]
		}
	}
	for _, e := range edges {
		if e.token == token {
			return e.to
		}
	}
	return -1
}

// put replaces the edge of e.token, or inserts e.
func put(edges []edge, e edge) []edge {
	i := sort.Search(len(edges), func(i int) bool { return edges[i].token >= e.token })
	if i < len(edges) && edges[i].token == e.token {
		edges[i] = e
		return edges
	}
	return slices.Insert(edges, i, e)
}

// equal compares a state with (final, edges).
func (l *nodes) equal(s int32, final bool, edges []edge) bool {
	if l.node[s].final != final || int(l.node[s].edges) != len(edges) {
		return false
	}
	for i, e := range l.edges(s) {
		if e != edges[i] {
			return false
		}
	}
	return true
}
