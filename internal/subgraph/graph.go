package subgraph

import (
	"math/rand/v2"
	"slices"
)

// Graph records which sites interact, in compressed rows, and which sites are free. Only free sites
// may belong to a set that is redrawn.
type Graph struct {
	start, adj []int32
	free       []bool
}

// NewGraph returns a graph in which site i has the neighbours adj[start[i]:start[i+1]]. The entry
// free[i] states whether site i may belong to a set. If free is nil, all sites may.
func NewGraph(start, adj []int32, free []bool) *Graph {
	if free == nil {
		free = slices.Repeat([]bool{true}, len(start)-1)
	}
	return &Graph{start, adj, free}
}

// OfScopes returns the graph of a model that is a sum of tables. The argument scopes lists the
// sites of each table. Free sites are neighbours if they are in the same scope.
func OfScopes(sites int, scopes [][]int32, free []bool) *Graph {
	near := make([][]int32, sites)
	for _, scope := range scopes {
		for _, a := range scope {
			for _, b := range scope {
				if a != b && free[a] && free[b] {
					near[a] = append(near[a], b)
				}
			}
		}
	}
	g := &Graph{start: make([]int32, sites+1), free: free}
	for i, row := range near {
		slices.Sort(row)
		g.adj = append(g.adj, slices.Compact(row)...)
		g.start[i+1] = int32(len(g.adj))
	}
	return g
}

func (g *Graph) row(i int32) []int32 { return g.adj[g.start[i]:g.start[i+1]] }

// Degree returns the mean number of neighbours of a free site, or 0 if there is no free site.
func (g *Graph) Degree() float64 {
	n := 0
	for _, f := range g.free {
		if f {
			n++
		}
	}
	return float64(len(g.adj)) / float64(max(1, n))
}

// Cover returns sets of the given width that together contain all free sites. Each set first takes
// sites that are in no earlier set, and then as many other sites as fit. The generator r breaks
// ties.
func (g *Graph) Cover(width int, r *rand.Rand) (sets [][]int32) {
	c := &chooser{Graph: g, width: width, had: make([]bool, len(g.free)), near: make([][]int32, len(g.free)), gone: make([]bool, len(g.free))}
	for i, f := range g.free {
		if f {
			c.order = append(c.order, int32(i))
		}
	}
	left := len(c.order)
	for left > 0 {
		r.Shuffle(len(c.order), func(a, b int) { c.order[a], c.order[b] = c.order[b], c.order[a] })
		set := c.choose()
		for _, i := range set {
			if !c.had[i] {
				left--
			}
			c.had[i] = true
		}
		sets = append(sets, set)
	}
	return sets
}

// chooser chooses sets one after the other.
type chooser struct {
	*Graph
	width int
	had   []bool    // whether an earlier set contains the site
	order []int32   // free sites in the order that breaks ties
	near  [][]int32 // remaining neighbours of each site
	gone  []bool    // sites that are eliminated or excluded
	thin  [][]int32 // sites by number of neighbours, up to the width; some entries are outdated
	// other sites by number of neighbours: [0] those in an earlier set, [1] the rest
	thick [2][]queue
}

// queue is a list of sites.
type queue = []int32

// choose returns one set. It repeatedly eliminates the site with the fewest remaining
// neighbours, and its neighbours become neighbours of each other. If all sites have more
// neighbours than the width, it excludes the one with the most, preferably one that an earlier
// set contains. For forests this is decycling by the largest degrees of the core (Zdeborová,
// Zhang and Zhou 2016).
func (c *chooser) choose() (set []int32) {
	c.thin, c.thick = make([][]int32, c.width+1), [2][]queue{}
	for _, i := range c.order {
		c.near[i] = append(c.near[i][:0], c.row(i)...)
		c.gone[i] = false
		c.put(i)
	}
	for left := len(c.order); left > 0; left-- {
		u := int32(-1)
		for d := 0; d <= c.width && u < 0; d++ {
			u = c.pop(&c.thin[d], d)
		}
		if u >= 0 {
			set = append(set, u)
			c.join(u)
		}
		for h := 0; h < 2 && u < 0; h++ {
			for d := len(c.thick[h]) - 1; d >= 0 && u < 0; d-- {
				if u = c.pop(&c.thick[h][d], d); u < 0 {
					c.thick[h] = c.thick[h][:d]
				}
			}
		}
		c.gone[u] = true
		for _, a := range c.near[u] {
			k := slices.Index(c.near[a], u)
			c.near[a] = slices.Delete(c.near[a], k, k+1)
			c.put(a)
		}
	}
	return set
}

// put adds a site to the list for its number of neighbours.
func (c *chooser) put(i int32) {
	d := len(c.near[i])
	if d <= c.width {
		c.thin[d] = append(c.thin[d], i)
		return
	}
	h := 1
	if c.had[i] {
		h = 0
	}
	for len(c.thick[h]) <= d {
		c.thick[h] = append(c.thick[h], nil)
	}
	c.thick[h][d] = append(c.thick[h][d], i)
}

// pop removes entries from the end of a list up to the first remaining site with d neighbours.
// It returns that site, or −1 if there is none.
func (c *chooser) pop(list *queue, d int) int32 {
	for n := len(*list); n > 0; n-- {
		v := (*list)[n-1]
		*list = (*list)[:n-1]
		if !c.gone[v] && len(c.near[v]) == d {
			return v
		}
	}
	return -1
}

// join makes the neighbours of u neighbours of each other.
func (c *chooser) join(u int32) {
	for k, a := range c.near[u] {
		for _, b := range c.near[u][:k] {
			if !slices.Contains(c.near[a], b) {
				c.near[a], c.near[b] = append(c.near[a], b), append(c.near[b], a)
			}
		}
	}
}
