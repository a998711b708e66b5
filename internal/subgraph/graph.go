package subgraph

import (
	"math/rand/v2"
	"slices"
)

// Graph is who interacts with whom, in compressed rows, and which sites may be in a set.
type Graph struct {
	start, adj []int32
	free       []bool
}

// NewGraph returns a graph whose site i has the neighbours adj[start[i]:start[i+1]]. Sites
// that are not free are in no set; nil means that all are.
func NewGraph(start, adj []int32, free []bool) *Graph {
	if free == nil {
		free = slices.Repeat([]bool{true}, len(start)-1)
	}
	return &Graph{start, adj, free}
}

// OfScopes returns the graph in which the free sites of every scope are neighbours of each
// other.
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

// Degree returns the mean number of neighbours of a free site, 0 if there is none.
func (g *Graph) Degree() float64 {
	n := 0
	for _, f := range g.free {
		if f {
			n++
		}
	}
	return float64(len(g.adj)) / float64(max(1, n))
}

// Cover returns sets of the given width that together have all free sites. Sets take in
// sites that no set has yet first, then as many others as fit. The random numbers decide
// between equals.
func (g *Graph) Cover(width int, r *rand.Rand) (sets [][]int32) {
	c := &chooser{Graph: g, r: r, had: make([]bool, len(g.free)), rank: make([]int32, len(g.free)), state: make([]int32, len(g.free))}
	var left []int32
	for i, f := range g.free {
		if f {
			left = append(left, int32(i))
		}
	}
	all := slices.Clone(left)
	for len(left) > 0 {
		r.Shuffle(len(left), func(a, b int) { left[a], left[b] = left[b], left[a] })
		r.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
		c.order = append(c.order[:0], left...)
		for _, i := range all {
			if c.had[i] {
				c.order = append(c.order, i)
			}
		}
		var set []int32
		if width == 1 {
			set = c.forest()
		} else {
			set = c.strips(width)
		}
		for _, i := range set {
			c.had[i] = true
		}
		sets = append(sets, set)
		left = slices.DeleteFunc(left, func(i int32) bool { return c.had[i] })
	}
	return sets
}

// chooser makes one set after the other.
type chooser struct {
	*Graph
	r     *rand.Rand
	had   []bool  // an earlier set has the site
	order []int32 // in which sites are tried
	rank  []int32 // of a site in the order
	state []int32 // forest: a site of the same tree nearer to its root; strips: see below
	seen  []int32
}

// forest takes in every site that joins no two sites of one tree.
func (c *chooser) forest() []int32 {
	root := c.state
	for i := range root {
		root[i] = -1
	}
	find := func(i int32) int32 {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
sites:
	for _, i := range c.order {
		c.seen = c.seen[:0]
		for _, j := range c.row(i) {
			if root[j] < 0 {
				continue
			}
			t := find(j)
			if slices.Contains(c.seen, t) {
				continue sites
			}
			c.seen = append(c.seen, t)
		}
		root[i] = i
		for _, t := range c.seen {
			root[t] = i
		}
	}
	// Breadth first from a root of each tree, then reversed.
	set, done := make([]int32, 0, len(c.order)), make([]bool, len(root))
	for _, i := range c.order {
		if root[i] < 0 || done[i] {
			continue
		}
		done[i] = true
		at := len(set)
		for set = append(set, i); at < len(set); at++ {
			for _, j := range c.row(set[at]) {
				if root[j] >= 0 && !done[j] {
					done[j] = true
					set = append(set, j)
				}
			}
		}
	}
	slices.Reverse(set)
	return set
}

// States of a site while strips are chosen.
const (
	open  = iota
	front // in the set, with neighbours that are open
	in
	out
)

// strips takes in a path of as many sites as the width, the front, and then, over and over,
// the open neighbours of the oldest site of the front as far as it stays as narrow. Other
// neighbours stay out. When no front is left the next path begins.
func (c *chooser) strips(width int) (set []int32) {
	clear(c.state)
	for k, i := range c.order {
		c.rank[i] = int32(k)
	}
	for _, i := range c.order {
		if c.state[i] != open {
			continue
		}
		queue := c.path(i, width)
		for len(queue) > 0 {
			u := queue[0]
			queue = queue[1:]
			for room := width - len(queue); room > 0; room-- {
				v := c.best(u)
				if v < 0 {
					break
				}
				c.state[v] = front
				queue = append(queue, v)
			}
			for _, v := range c.row(u) {
				if c.state[v] == open {
					c.state[v] = out
				}
			}
			c.state[u] = in
			set = append(set, u)
		}
	}
	return set
}

// best returns the open neighbour of u that fits best: with the most neighbours in the set
// and the fewest out of it, the earliest of the order among equals; −1 for none.
func (c *chooser) best(u int32) int32 {
	best, most := int32(-1), 0
	for _, v := range c.row(u) {
		if c.state[v] != open {
			continue
		}
		score := 0
		for _, w := range c.row(v) {
			switch c.state[w] {
			case front, in:
				score++
			case out:
				score--
			}
		}
		if best < 0 || score > most || score == most && c.rank[v] < c.rank[best] {
			best, most = v, score
		}
	}
	return best
}

// path puts a shortest path of open sites from i, of at most the given number, in the front.
func (c *chooser) path(i int32, length int) []int32 {
	from, depth := map[int32]int32{i: -1}, map[int32]int{i: 1}
	queue := []int32{i}
	last := i
	for at := 0; at < len(queue) && at < 1<<12; at++ {
		u := queue[at]
		if depth[u] > depth[last] {
			last = u
		}
		if depth[u] == length {
			break
		}
		for _, v := range c.row(u) {
			if _, met := from[v]; !met && c.state[v] == open {
				from[v], depth[v] = u, depth[u]+1
				queue = append(queue, v)
			}
		}
	}
	var path []int32
	for v := last; v >= 0; v = from[v] {
		c.state[v] = front
		path = append(path, v)
	}
	return path
}
