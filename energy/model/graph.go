package model

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Edge joins the sites I and J, in either order, with weight W.
type Edge struct {
	I, J int
	W    float64
}

// Topology defines which sites of a model interact. It is a [Lattice], a [FreeLattice], a *[Graph]
// or your own type. A topology may also be [Periodic].
type Topology interface {
	// Graph returns the graph whose edges join the sites that interact, or an error if the topology
	// is not valid.
	Graph() (*Graph, error)
}

// Graph is an immutable weighted undirected graph of sites, stored in compressed sparse rows.
type Graph struct {
	start  []int32   // row i consists of entries start[i] … start[i+1]−1 of adj and weight
	upper  []int32   // for each row i, index of its first entry with a neighbour > i
	adj    []int32   // neighbours of each site, ascending within a row
	weight []float64 // weight of the edge of each entry in adj
}

// NewGraph returns the graph of n sites with the given edges. The weights of edges that join the
// same two sites are added. If the sum is exactly 0, the edge is omitted.
//
// NewGraph returns an error if n < 1, a site lies outside 0…n−1, or an edge joins a site to itself.
// It also returns an error if a weight or a sum of weights is not finite, or if the graph is too
// large for 32-bit indices.
func NewGraph(n int, edges []Edge) (*Graph, error) {
	if err := checkGraph(n, edges); err != nil {
		return nil, err
	}
	type entry struct {
		to int32
		w  float64
	}
	// Store both directions of every edge, grouped by site, in the given order.
	start := make([]int, n+1)
	for _, e := range edges {
		start[e.I+1]++
		start[e.J+1]++
	}
	for i := range n {
		start[i+1] += start[i]
	}
	next := slices.Clone(start[:n])
	entries := make([]entry, 2*len(edges))
	for _, e := range edges {
		entries[next[e.I]] = entry{int32(e.J), e.W}
		next[e.I]++
		entries[next[e.J]] = entry{int32(e.I), e.W}
		next[e.J]++
	}

	g := &Graph{
		start:  make([]int32, n+1),
		upper:  make([]int32, n),
		adj:    make([]int32, 0, len(entries)),
		weight: make([]float64, 0, len(entries)),
	}
	for i := range n {
		row := entries[start[i]:start[i+1]]
		// The sort is stable, so that parallel edges are summed in the same order in both
		// directions.
		slices.SortStableFunc(row, func(a, b entry) int { return cmp.Compare(a.to, b.to) })
		g.upper[i] = g.start[i]
		for len(row) > 0 {
			to, w := row[0].to, 0.0
			for len(row) > 0 && row[0].to == to {
				w += row[0].w
				row = row[1:]
			}
			if math.IsInf(w, 0) || math.IsNaN(w) {
				return nil, fmt.Errorf("model: NewGraph: the weights between sites %d and %d add up to %v, want a finite number", i, to, w)
			}
			if w == 0 {
				continue
			}
			g.adj = append(g.adj, to)
			g.weight = append(g.weight, w)
			if int(to) < i {
				g.upper[i]++
			}
		}
		g.start[i+1] = int32(len(g.adj))
	}
	return g, nil
}

// Sites returns the number of sites of the graph.
func (g *Graph) Sites() int { return len(g.upper) }

// Len returns the number of edges.
func (g *Graph) Len() int { return len(g.adj) / 2 }

// Edges returns an iterator over the edges. It yields every edge once, with I < J, ordered by I and
// then by J.
func (g *Graph) Edges() iter.Seq[Edge] {
	return func(yield func(Edge) bool) {
		for i := range g.upper {
			for k := g.upper[i]; k < g.start[i+1]; k++ {
				if !yield(Edge{i, int(g.adj[k]), g.weight[k]}) {
					return
				}
			}
		}
	}
}

// Neighbors returns the sites that share an edge with site i, ascending, and the weight of each of
// these edges. The slices are shared with the graph and must not be modified.
func (g *Graph) Neighbors(i int) (sites []int32, weights []float64) {
	check.Index("model", "i", i, len(g.start)-1)
	from, to := g.start[i], g.start[i+1]
	return g.adj[from:to:to], g.weight[from:to:to]
}

// Graph returns g itself; it implements [Topology]. It returns an error if g was not
// made by [NewGraph].
func (g *Graph) Graph() (*Graph, error) {
	if g == nil || len(g.upper) == 0 {
		return nil, fmt.Errorf("model: empty Graph, want one made by NewGraph")
	}
	return g, nil
}

// checkGraph returns an error unless n and edges are valid arguments of NewGraph.
func checkGraph(n int, edges []Edge) error {
	if n < 1 || n > math.MaxInt32-1 {
		return fmt.Errorf("model: NewGraph: n = %d, want 1 … %d", n, math.MaxInt32-1)
	}
	if len(edges) > math.MaxInt32/2 {
		return fmt.Errorf("model: NewGraph: len(edges) = %d, want ≤ %d", len(edges), math.MaxInt32/2)
	}
	for k, e := range edges {
		switch {
		case e.I < 0 || e.I >= n || e.J < 0 || e.J >= n:
			return fmt.Errorf("model: NewGraph: edges[%d] joins sites %d and %d, want 0 … %d", k, e.I, e.J, n-1)
		case e.I == e.J:
			return fmt.Errorf("model: NewGraph: edges[%d] joins site %d with itself", k, e.I)
		case !check.Finite(e.W):
			return fmt.Errorf("model: NewGraph: edges[%d].W = %v, want a finite number", k, e.W)
		}
	}
	return nil
}

// edgeless returns the graph of n sites without edges.
func edgeless(n int) *Graph {
	return &Graph{start: make([]int32, n+1), upper: make([]int32, n)}
}

// spins returns Σ w_k s_k over the entries from ≤ k < to of the graph, where s = 2x − 1 is the spin
// of the neighbour in the entry and w its weight.
func (g *Graph) spins(x []int32, from, to int32) float64 {
	adj, weight := g.adj[from:to], g.weight[from:to]
	sum := 0.0
	for k, j := range adj {
		sum += float64(weight[k] * float64(2*x[j]-1))
	}
	return sum
}

// uniform returns the weight of all edges, or 0 if there are no edges. ok is false if weights
// differ.
func (g *Graph) uniform() (w float64, ok bool) {
	if len(g.weight) == 0 {
		return 0, true
	}
	for _, v := range g.weight {
		if v != g.weight[0] {
			return 0, false
		}
	}
	return g.weight[0], true
}

// factors returns one factor per edge and per site, as in [energy.Factored]. pair returns the table
// of an edge of weight w and is called once for each weight; site returns the table of site i.
func (g *Graph) factors(pair func(w float64) []float64, site func(i int) []float64) (scopes [][]int32, tables [][]float64) {
	n := g.Sites()
	scopes, tables = make([][]int32, 0, n+len(g.adj)/2), make([][]float64, 0, n+len(g.adj)/2)
	ends := make([]int32, 0, n+len(g.adj))
	add := func(table []float64, v ...int32) {
		ends = append(ends, v...)
		scopes, tables = append(scopes, ends[len(ends)-len(v):]), append(tables, table)
	}
	made := map[float64][]float64{}
	for i := range n {
		add(site(i), int32(i))
		for k := g.upper[i]; k < g.start[i+1]; k++ {
			w := g.weight[k]
			if made[w] == nil {
				made[w] = pair(w)
			}
			add(made[w], int32(i), g.adj[k])
		}
	}
	return scopes, tables
}

// bonds holds the interactions of a model. The graph of a lattice takes some 56 bytes per site, so
// it is built on first use.
type bonds struct {
	sites int
	sides []int // sides of a periodic lattice; nil if made holds a graph from the start
	once  sync.Once
	made  *Graph
}

// given returns bonds for an existing graph.
func given(g *Graph) *bonds { return &bonds{sites: g.Sites(), made: g} }

// newBonds returns the bonds of a topology. If the topology is a periodic lattice, it also returns
// the sides.
func newBonds(t Topology) (b *bonds, sides []int, err error) {
	// The graphs of lattices are large, so lattices are recognised by their type.
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

// graph returns the interactions as a graph, which it builds on the first call if necessary.
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

// Cut returns the weight of the cut that the two-level state x defines. It is the sum of the
// weights w_ij of all edges ij with x_i ≠ x_j. The method value g.Cut can be used as an observer of
// a sampler: it is safe for concurrent use and allocates nothing. Cut panics unless len(x) is the
// number of sites.
func (g *Graph) Cut(x []int32) float64 {
	check.Len("model", "x", len(x), g.Sites())
	cut := 0.0
	for i, v := range x {
		for k := g.upper[i]; k < g.start[i+1]; k++ {
			if x[g.adj[k]] != v {
				cut += g.weight[k]
			}
		}
	}
	return cut
}

// MaxCut returns a model that favours large cuts of g. Its energy is
//
//	E(x) = ½ Σ_{edges ij} w_ij s_i s_j = ½ Σ_{edges ij} w_ij − g.Cut(x),  s_i = 2x_i − 1.
//
// It is the [Ising] model with coupling −½. A cut that is heavier by 1 has an energy lower by 1, so
// the ground states are the maximum cuts. To find them, anneal the model. MaxCut returns an error
// if g was not made by [NewGraph] or energies would overflow.
func MaxCut(g *Graph) (*Ising, error) { return NewIsing(g, -0.5, 0) }
