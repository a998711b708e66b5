package read

import (
	"io"
	"math"

	"github.com/gibbsite-go/gibbsite/energy/model"
)

// DIMACS reads an undirected graph in the format of the DIMACS challenges on cliques and colouring:
//
//	p edge n m
//	e i j     (m lines, or e i j w)
//
// The graph has n vertices, numbered from 1 in the file; vertex i is site i−1 of the result. A
// missing weight w is 1. An edge that is repeated with the same weight counts once. The number m
// may count the lines or the edges. Lines that start with c, # or % are comments.
//
// Errors name the line, the column and what was expected. DIMACS rejects files for other problems,
// which contain arcs, clauses or vertex weights. A file with more than 2²⁰ vertices must have at
// least half as many edges as vertices.
func DIMACS(r io.Reader) (*model.Graph, error) {
	l := newLines("DIMACS", r)
	l.comment = "c#%"
	if err := l.first("p edge n m"); err != nil {
		return nil, err
	}
	if err := l.want(4, 4, "p edge n m"); err != nil {
		return nil, err
	}
	if kind := l.columns[1]; l.columns[0] != "p" || kind != "edge" && kind != "col" {
		return nil, l.errorf("%s %s, want p edge or p col", brief(l.columns[0]), brief(kind))
	}
	n, err := l.integer(2, "n", 1, math.MaxInt32-1)
	if err != nil {
		return nil, err
	}
	m, err := l.integer(3, "m", 0, math.MaxInt32/2)
	if err != nil {
		return nil, err
	}
	var edges []model.Edge // grows with the lines, not with m
	weight := map[[2]int]float64{}
	named := 0
	for ; ; named++ {
		ok, err := l.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		e, err := l.dimacsEdge(n)
		if err != nil {
			return nil, err
		}
		ends := [2]int{min(e.I, e.J), max(e.I, e.J)}
		switch w, again := weight[ends]; {
		case !again:
			weight[ends] = e.W
			edges = append(edges, e)
		case w != e.W:
			return nil, l.errorf("the edge %d %d again with the weight %v, not %v", e.I+1, e.J+1, e.W, w)
		}
	}
	if m != named && m != len(edges) {
		return nil, l.failf("%d lines with %d edges, want m = %d", named, len(edges), m)
	}
	if err := checkSites("DIMACS", n, len(edges)); err != nil {
		return nil, err
	}
	return model.NewGraph(n, edges)
}

// dimacsEdge parses the current line as an edge of a graph with n vertices.
func (l *lines) dimacsEdge(n int) (e model.Edge, err error) {
	if l.columns[0] != "e" {
		return e, l.errorf("column 1: %s, want e", brief(l.columns[0]))
	}
	if err = l.want(3, 4, "e i j or e i j w"); err != nil {
		return e, err
	}
	if e.I, err = l.integer(1, "i", 1, n); err != nil {
		return e, err
	}
	if e.J, err = l.integer(2, "j", 1, n); err != nil {
		return e, err
	}
	if e.I == e.J {
		return e, l.errorf("an edge from vertex %d to itself", e.I)
	}
	e.W = 1
	if len(l.columns) == 4 {
		if e.W, err = l.real(3, "w"); err != nil {
			return e, err
		}
	}
	e.I--
	e.J--
	return e, nil
}
