package model

import "sync"

// bonds are the interactions of a model. Those of a lattice take some 56 bytes a
// site, so they are made when somebody asks for them.
type bonds struct {
	sites int
	sides []int // of a Lattice; nil: the graph is given
	once  sync.Once
	made  *Graph
}

// given returns bonds that are those of a graph.
func given(g *Graph) *bonds { return &bonds{sites: g.Sites(), made: g} }

// newBonds returns the bonds of a topology, and its sides if it is a periodic
// lattice.
func newBonds(t Topology) (b *bonds, sides []int, err error) {
	// What these two are could be seen in their graphs as well, which are large.
	switch l := t.(type) {
	case Lattice:
		sides = l
	case *Lattice:
		if l != nil {
			sides = *l
		}
	}
	if checkSides("Lattice", sides) != nil {
		g, err := t.Graph()
		if err != nil {
			return nil, nil, err
		}
		if sides = sidesOf(t, g); sides == nil {
			return given(g), nil, nil
		}
	}
	sides = append([]int(nil), sides...)
	return &bonds{sites: product(sides), sides: sides}, sides, nil
}

// graph returns the interactions as a graph.
func (b *bonds) graph() *Graph {
	if b.sides != nil {
		b.once.Do(func() {
			g, err := Lattice(b.sides).Graph()
			if err != nil {
				panic(err) // newBonds has checked the sides
			}
			b.made = g
		})
	}
	return b.made
}
