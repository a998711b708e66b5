package read

import (
	"fmt"
	"io"
	"math"

	"github.com/gibbsite-go/gibbsite/energy/model"
)

// Rudy reads a graph in the format of the generator rudy (Rinaldi), which the Gset of Helmberg and
// Rendl uses:
//
//	n m
//	i j w     (m lines)
//
// The graph has m edges and n vertices, numbered from 1 in the file; vertex i is site i−1 of the
// result. A missing weight w is 1. Weights of edges between the same two vertices are added. Blank
// lines and lines that start with # or % are skipped.
//
// Errors name the line, the column and what was expected. A file with more than 2²⁰ vertices must
// have at least half as many edges as vertices.
func Rudy(r io.Reader) (*model.Graph, error) {
	l := newLines("Rudy", r)
	if ok, err := l.next(); err != nil {
		return nil, err
	} else if !ok {
		return nil, fmt.Errorf("read: Rudy: no lines, want the numbers of vertices and edges")
	}
	if err := l.want(2, 2, "n m"); err != nil {
		return nil, err
	}
	n, err := l.integer(0, "n", 1, math.MaxInt32-1)
	if err != nil {
		return nil, err
	}
	m, err := l.integer(1, "m", 0, math.MaxInt32/2)
	if err != nil {
		return nil, err
	}
	var edges []model.Edge // grows with the lines, not with m
	for {
		ok, err := l.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if len(edges) == m {
			return nil, l.errorf("more than m = %d edges", m)
		}
		e, err := l.rudyEdge(n)
		if err != nil {
			return nil, err
		}
		edges = append(edges, e)
	}
	if len(edges) < m {
		return nil, fmt.Errorf("read: Rudy: ends after %d of m = %d edges", len(edges), m)
	}
	if err := checkSites("Rudy", n, len(edges)); err != nil {
		return nil, err
	}
	return model.NewGraph(n, edges)
}

// rudyEdge parses the current line as an edge of a graph with n vertices.
func (l *lines) rudyEdge(n int) (e model.Edge, err error) {
	if err = l.want(2, 3, "i j or i j w"); err != nil {
		return e, err
	}
	if e.I, err = l.integer(0, "i", 1, n); err != nil {
		return e, err
	}
	if e.J, err = l.integer(1, "j", 1, n); err != nil {
		return e, err
	}
	if e.I == e.J {
		return e, l.errorf("an edge from vertex %d to itself", e.I)
	}
	e.W = 1
	if len(l.columns) == 3 {
		if e.W, err = l.real(2, "w"); err != nil {
			return e, err
		}
	}
	e.I--
	e.J--
	return e, nil
}
