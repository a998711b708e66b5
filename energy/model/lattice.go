package model

import (
	"fmt"
	"math"
	"slices"
)

// Lattice is a hypercubic lattice with periodic boundaries, given by the lengths of its sides. For
// instance, Lattice{50, 50} is a torus of 2500 sites, and Lattice{10} is a ring. Sites are numbered
// row-major, so the last coordinate varies fastest. Along each side, every site is joined to the
// next one, and the last site to the first one. All these edges have weight 1. A side of length 2
// has one edge per pair of sites, and a side of length 1 has none.
type Lattice []int

// FreeLattice is a hypercubic lattice like [Lattice] but with open boundaries: the last site along
// a side is not joined to the first.
type FreeLattice []int

// Periodic is implemented by a [Topology] that is a periodic lattice: a [Lattice], a pointer to a
// Lattice, or a type that embeds a Lattice. The edges are those of Lattice(Sides()), all of weight
// 1. If a type embeds a Lattice but its method Graph returns another graph, models use that graph
// and ignore the sides.
type Periodic interface {
	Topology

	// Sides returns the lengths of the sides, in the order of a [Lattice]. The slice must not
	// be modified.
	Sides() []int
}

// Sites returns the number of sites, which is the product of the sides.
func (l Lattice) Sites() int { return product(l) }

// Sides returns the lengths of the sides. This is l itself. Sides implements [Periodic].
func (l Lattice) Sides() []int { return l }

// Graph returns the graph whose edges join neighbouring sites, all with weight 1. It returns an
// error if there is no side, a side is < 1, or the site numbers do not fit 32-bit indices.
func (l Lattice) Graph() (*Graph, error) { return latticeGraph("Lattice", l, true) }

// Sites returns the number of sites, which is the product of the sides.
func (l FreeLattice) Sites() int { return product(l) }

// Graph returns the graph whose edges join neighbouring sites, all with weight 1. It returns an
// error if there is no side, a side is < 1, or the site numbers do not fit 32-bit indices.
func (l FreeLattice) Graph() (*Graph, error) { return latticeGraph("FreeLattice", l, false) }

// sidesOf returns the sides of t if it is a periodic lattice and g is the graph of that lattice.
// Otherwise it returns nil.
func sidesOf(t Topology, g *Graph) []int {
	p, ok := t.(Periodic)
	if !ok || !g.isLattice(p.Sides()) {
		return nil
	}
	return p.Sides()
}

// isLattice reports whether g is the graph of Lattice(sides).
func (g *Graph) isLattice(sides []int) bool {
	if checkSides("Lattice", sides) != nil || product(sides) != g.Sites() {
		return false
	}
	n := g.Sites()
	var near []int32
	for i := range n {
		near = near[:0]
		stride := n
		for _, side := range sides {
			stride /= side
			at := i / stride % side
			first := i - at*stride
			if side > 1 {
				near = append(near, int32(first+(at+1)%side*stride))
			}
			if side > 2 {
				near = append(near, int32(first+(at+side-1)%side*stride))
			}
		}
		slices.Sort(near)
		sites, weights := g.Neighbors(i)
		if !slices.Equal(near, sites) {
			return false
		}
		for _, w := range weights {
			if w != 1 {
				return false
			}
		}
	}
	return true
}

// product returns the product of the sides.
func product(sides []int) int {
	n := 1
	for _, s := range sides {
		n *= s
	}
	return n
}

// checkSides returns an error unless sides describes a lattice: at least one side, all ≥ 1, and not
// too many sites.
func checkSides(name string, sides []int) error {
	if len(sides) == 0 {
		return fmt.Errorf("model: %s: no sides, want at least one", name)
	}
	n := 1
	for k, s := range sides {
		if s < 1 {
			return fmt.Errorf("model: %s: side %d = %d, want ≥ 1", name, k, s)
		}
		if s > (math.MaxInt32-1)/n {
			return fmt.Errorf("model: %s: the sides %v give more than %d sites", name, sides, math.MaxInt32-1)
		}
		n *= s
	}
	return nil
}

// latticeGraph returns the graph of a lattice with periodic or open boundaries.
func latticeGraph(name string, sides []int, periodic bool) (*Graph, error) {
	if err := checkSides(name, sides); err != nil {
		return nil, err
	}
	n := product(sides)
	edges := make([]Edge, 0, len(sides)*n)
	for i := range n {
		stride := n
		for _, side := range sides {
			stride /= side
			switch at := i / stride % side; {
			case at+1 < side:
				edges = append(edges, Edge{i, i + stride, 1})
			case periodic && side > 2:
				edges = append(edges, Edge{i, i - at*stride, 1})
			}
		}
	}
	return NewGraph(n, edges)
}
