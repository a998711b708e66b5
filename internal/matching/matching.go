// Package matching finds minimum-weight perfect matchings in sparse graphs. It also returns the
// dual solution, which proves that a matching is optimal.
package matching

import (
	"context"
	"errors"
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/heap"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Edge joins the vertices U and V. Its weight W must be even, so that dual variables are integers.
type Edge struct {
	U, V int32
	W    int64
}

// Set is a set of an odd number of vertices. Z is its variable in the dual problem; see [Matching].
type Set struct {
	Members []int32
	Z       int64
}

// Matching is a perfect matching of minimum weight. Y and Z solve the dual problem
//
//	max Σ_v Y_v + Σ_B Z_B,  Y_u + Y_v + Σ_{B: one of u, v ∈ B} Z_B ≤ W_uv,  Z ≥ 0,
//
// where u and v are vertices, B runs over the Sets, and the inner sum is over sets that contain
// exactly one of u and v. The optimal value is Weight. Any two sets are either nested or
// disjoint.
type Matching struct {
	Mate   []int32 // partner of each vertex in the matching
	Weight int64
	Y      []int64
	Sets   []Set
}

// ErrNone is the error of [Perfect] for a graph without a perfect matching.
var ErrNone = errors.New("matching: the graph has no perfect matching")

const (
	free  = int8(iota) // label of a node that is not in the alternating tree
	plus               // label of a node at even distance from the root of the tree
	minus              // label of a node at odd distance from the root of the tree
)

// search grows one alternating tree at a time (Edmonds 1965, in the form of Galil 1986). Nodes
// below len(adj) are vertices; the others are blossoms, which are odd cycles of nodes. Node b has
// the dual variable dual[b]. potential[v] is the sum of the dual variables of vertex v and of all
// blossoms that contain v. As time increases, the dual variables of outermost plus nodes in the
// tree increase, and those of outermost minus nodes decrease.
type search struct {
	adj  [][]arc
	mate []int32

	outer     []int32 // for each vertex, the outermost node that contains it
	potential []int64

	dual   []int64
	parent []int32
	base   []int32 // for each node, its one vertex that is not matched within the node
	// Child nodes of a blossom in cyclic order, starting with the child that contains the base.
	children [][]int32
	links    [][][2]int32 // links[b][k] is the edge from child k of blossom b to the next child
	label    []int8
	start    []int64 // time up to which dual and potential of the node are current
	// For a minus node, the edge from a vertex of a plus node to a vertex of this node.
	entry [][2]int32
	spare []int32 // numbers of deleted blossoms, for reuse

	time   int64
	tree   []int32 // all nodes labelled since the tree was started
	events []event
	mark   []int32
	marked int32
}

type arc struct {
	to int32
	w  int64
}

type event struct {
	at int64
	// An edge that loses its slack, or a blossom u whose dual variable becomes 0, with v = −1.
	u, v int32
	w    int64
}

func sooner(a, b event) bool { return a.at < b.at }

// Perfect returns a perfect matching of minimum weight of a graph with n vertices. It returns
// ErrNone if there is none, and the cause of ctx if ctx ends.
func Perfect(ctx context.Context, n int, edges []Edge) (*Matching, error) {
	s := &search{adj: make([][]arc, n), mate: make([]int32, n), outer: make([]int32, n), potential: make([]int64, n)}
	for _, e := range edges {
		if e.U == e.V || e.W%2 != 0 {
			return nil, fmt.Errorf("matching: edge %d–%d of weight %d, want two vertices and an even weight", e.U, e.V, e.W)
		}
		s.adj[e.U] = append(s.adj[e.U], arc{e.V, e.W})
		s.adj[e.V] = append(s.adj[e.V], arc{e.U, e.W})
	}
	for v := range n {
		s.node()
		s.mate[v], s.outer[v], s.base[v] = -1, int32(v), int32(v)
	}
	if err := s.begin(); err != nil {
		return nil, err
	}
	for v := range int32(n) {
		if poll.Err(ctx) != nil {
			return nil, context.Cause(ctx)
		}
		if s.mate[v] >= 0 {
			continue
		}
		if err := s.grow(s.outer[v]); err != nil {
			return nil, err
		}
	}
	return s.result(), nil
}

// node returns the number of an unused node and allocates one if necessary.
func (s *search) node() int32 {
	if n := len(s.spare); n > 0 {
		b := s.spare[n-1]
		s.spare = s.spare[:n-1]
		return b
	}
	s.dual, s.parent, s.base = append(s.dual, 0), append(s.parent, -1), append(s.base, -1)
	s.children, s.links = append(s.children, nil), append(s.links, nil)
	s.label, s.start, s.entry, s.mark = append(s.label, free), append(s.start, 0), append(s.entry, [2]int32{}), append(s.mark, 0)
	return int32(len(s.dual) - 1)
}

// begin computes a feasible dual solution and greedily matches vertices along edges without slack.
func (s *search) begin() error {
	for v, row := range s.adj {
		if len(row) == 0 {
			return ErrNone
		}
		least := row[0].w
		for _, a := range row {
			least = min(least, a.w)
		}
		s.dual[v] = least / 2
	}
	for v, row := range s.adj {
		if s.mate[v] >= 0 {
			continue
		}
		slack := row[0].w - s.dual[row[0].to] - s.dual[v]
		for _, a := range row {
			slack = min(slack, a.w-s.dual[a.to]-s.dual[v])
		}
		s.dual[v] += slack
		for _, a := range row {
			if s.mate[a.to] < 0 && a.w == s.dual[a.to]+s.dual[v] {
				s.mate[v], s.mate[a.to] = a.to, int32(v)
				break
			}
		}
	}
	copy(s.potential, s.dual)
	return nil
}

// leaves calls f with every vertex that node b contains.
func (s *search) leaves(b int32, f func(v int32)) {
	if int(b) < len(s.adj) {
		f(b)
		return
	}
	for _, c := range s.children[b] {
		s.leaves(c, f)
	}
}

// now returns the potential of vertex v at the current time.
func (s *search) now(v int32) int64 {
	b := s.outer[v]
	switch s.label[b] {
	case plus:
		return s.potential[v] + (s.time - s.start[b])
	case minus:
		return s.potential[v] - (s.time - s.start[b])
	}
	return s.potential[v]
}

// settle updates the dual variable and the potentials of the outermost node b to the current time.
func (s *search) settle(b int32) {
	d := s.time - s.start[b]
	switch s.label[b] {
	case free:
		return
	case minus:
		d = -d
	}
	s.start[b] = s.time
	if d == 0 {
		return
	}
	s.dual[b] += d
	s.leaves(b, func(v int32) { s.potential[v] += d })
}

func (s *search) give(b int32, label int8) {
	s.label[b], s.start[b] = label, s.time
	s.tree = append(s.tree, b)
}

// scan schedules an event for every edge of u that can lose its slack. u is a vertex of a plus
// node.
func (s *search) scan(u int32) {
	here := s.outer[u]
	for _, a := range s.adj[u] {
		b := s.outer[a.to]
		if b == here || s.label[b] == minus {
			continue
		}
		s.wait(u, a)
	}
}

func (s *search) wait(u int32, a arc) {
	slack := a.w - s.now(u) - s.now(a.to)
	if s.label[s.outer[a.to]] == plus {
		slack /= 2
	}
	s.events = heap.Push(s.events, event{s.time + slack, u, a.to, a.w}, sooner)
}

func (s *search) plusNode(b int32) {
	s.give(b, plus)
	s.leaves(b, s.scan)
}

func (s *search) minusNode(b int32, u, v int32) {
	s.give(b, minus)
	s.entry[b] = [2]int32{u, v}
	if int(b) >= len(s.adj) {
		s.events = heap.Push(s.events, event{s.time + s.dual[b], b, -1, 0}, sooner)
	}
}

// grow grows an alternating tree from a free node until it reaches another free node, and augments
// the matching. It returns ErrNone if there is no other free node within reach.
func (s *search) grow(root int32) error {
	s.time, s.events, s.tree = 0, s.events[:0], s.tree[:0]
	s.plusNode(root)
	for len(s.events) > 0 {
		var e event
		s.events, e = heap.Pop(s.events, sooner)
		s.time = e.at
		if e.v < 0 {
			if b := e.u; s.parent[b] < 0 && s.children[b] != nil && s.label[b] == minus && s.dual[b] == s.time-s.start[b] {
				s.expand(b)
			}
			continue
		}
		u, v := e.u, e.v
		if s.label[s.outer[u]] != plus {
			u, v = v, u
		}
		a, b := s.outer[u], s.outer[v]
		if a == b || s.label[a] != plus || s.label[b] == minus {
			continue
		}
		if e.w != s.now(u)+s.now(v) { // a label has changed since
			s.wait(u, arc{v, e.w})
			continue
		}
		switch {
		case s.label[b] == plus:
			s.shrink(u, v)
		case s.mate[s.base[b]] < 0:
			s.augment(u, v)
			for _, b := range s.tree {
				if s.parent[b] < 0 {
					s.settle(b)
				}
				s.label[b] = free
			}
			return nil
		default:
			s.minusNode(b, u, v)
			s.plusNode(s.outer[s.mate[s.base[b]]])
		}
	}
	return ErrNone
}

// up returns the parent of b in the tree and the edge link from b to its parent. ok is false for
// the root.
func (s *search) up(b int32) (above int32, link [2]int32, ok bool) {
	if s.label[b] == minus {
		e := s.entry[b]
		return s.outer[e[0]], [2]int32{e[1], e[0]}, true
	}
	v := s.base[b]
	if s.mate[v] < 0 {
		return -1, link, false
	}
	return s.outer[s.mate[v]], [2]int32{v, s.mate[v]}, true
}

// shrink contracts the odd cycle that the edge u–v between two plus nodes closes into a blossom.
func (s *search) shrink(u, v int32) {
	s.marked++
	top := int32(-1)
	for a, b := s.outer[u], s.outer[v]; ; a, b = b, a {
		if a >= 0 {
			if s.mark[a] == s.marked {
				top = a
				break
			}
			s.mark[a] = s.marked
			if above, _, ok := s.up(a); ok {
				a = above
			} else {
				a = -1
			}
		}
	}
	var nodes []int32
	var links [][2]int32
	for a := s.outer[u]; a != top; {
		above, link, _ := s.up(a)
		nodes, links = append(nodes, a), append(links, [2]int32{link[1], link[0]})
		a = above
	}
	nodes = append(nodes, top)
	reverse(nodes)
	reverse(links)
	links = append(links, [2]int32{u, v})
	for a := s.outer[v]; a != top; {
		above, link, _ := s.up(a)
		nodes, links = append(nodes, a), append(links, link)
		a = above
	}
	b := s.node()
	s.dual[b], s.parent[b], s.base[b] = 0, -1, s.base[top]
	s.children[b], s.links[b] = nodes, links
	var changed []int32
	for _, c := range nodes {
		s.settle(c)
		s.parent[c] = b
		if s.label[c] == minus {
			s.leaves(c, func(v int32) { changed = append(changed, v) })
		}
		s.label[c] = free
	}
	s.leaves(b, func(v int32) { s.outer[v] = b })
	s.give(b, plus)
	for _, v := range changed {
		s.scan(v)
	}
}

func reverse[T any](x []T) {
	for i, j := 0, len(x)-1; i < j; i, j = i+1, j-1 {
		x[i], x[j] = x[j], x[i]
	}
}

// place returns the index of the child of blossom b that contains vertex v.
func (s *search) place(b, v int32) int {
	c := v
	for s.parent[c] != b {
		c = s.parent[c]
	}
	for k, d := range s.children[b] {
		if c == d {
			return k
		}
	}
	return -1
}

// expand replaces the minus blossom b, whose dual variable is 0, by its children. The children on
// the even path from the entry to the base join the tree, and the others become free.
func (s *search) expand(b int32) {
	s.settle(b)
	entry := s.entry[b]
	k := s.place(b, entry[1])
	children, links := s.children[b], s.links[b]
	s.label[b], s.children[b], s.links[b] = free, nil, nil
	for _, c := range children {
		s.parent[c] = -1
		s.label[c] = free
		s.leaves(c, func(v int32) { s.outer[v] = c })
	}
	n := len(children)
	step := -1
	if k%2 == 1 {
		step = 1
	}
	in := make([]bool, n)
	for u, v := entry[0], entry[1]; ; {
		c := children[k]
		in[k] = true
		s.minusNode(c, u, v)
		if k == 0 {
			break
		}
		k = (k + step + n) % n
		in[k] = true
		s.plusNode(children[k])
		// Find the edge from this child to the next one on the path.
		if step < 0 {
			l := links[(k-1+n)%n]
			u, v = l[1], l[0]
		} else {
			l := links[k]
			u, v = l[0], l[1]
		}
		k = (k + step + n) % n
	}
	for k, c := range children {
		if in[k] {
			continue
		}
		s.leaves(c, func(v int32) { // plus nodes reconsider their edges to the vertex
			for _, a := range s.adj[v] {
				if s.label[s.outer[a.to]] == plus {
					s.wait(a.to, arc{v, a.w})
				}
			}
		})
	}
	s.spare = append(s.spare, b)
}

// turn makes v the base of node b by exchanging matched and unmatched edges along the even path
// within the node from v to the old base.
func (s *search) turn(b, v int32) {
	if int(b) < len(s.adj) {
		return
	}
	k := s.place(b, v)
	children, links := s.children[b], s.links[b]
	n := len(children)
	s.turn(children[k], v)
	match := func(i int) { // match child i with child i+1
		l := links[i]
		s.turn(children[i], l[0])
		s.turn(children[(i+1)%n], l[1])
		s.mate[l[0]], s.mate[l[1]] = l[1], l[0]
	}
	if k%2 == 0 {
		for i := k - 2; i >= 0; i -= 2 {
			match(i)
		}
	} else {
		for i := k + 1; i < n; i += 2 {
			match(i)
		}
	}
	s.children[b] = append(append([]int32{}, children[k:]...), children[:k]...)
	s.links[b] = append(append([][2]int32{}, links[k:]...), links[:k]...)
	s.base[b] = v
}

// augment matches u, a vertex in the tree, with v, a vertex of a free node. It exchanges matched
// and unmatched edges along the path from u to the root.
func (s *search) augment(u, v int32) {
	s.turn(s.outer[v], v)
	for {
		a := s.outer[u]
		above := s.mate[s.base[a]] // partner of the base of a, before turn changes the base
		s.turn(a, u)
		s.mate[u], s.mate[v] = v, u
		if above < 0 {
			return
		}
		b := s.outer[above]
		e := s.entry[b]
		s.turn(b, e[1])
		u, v = e[0], e[1]
	}
}

func (s *search) result() *Matching {
	n := len(s.adj)
	m := &Matching{Mate: s.mate, Y: s.dual[:n:n]}
	for b := n; b < len(s.dual); b++ {
		if s.children[b] != nil && s.dual[b] > 0 {
			set := Set{Z: s.dual[b]}
			s.leaves(int32(b), func(v int32) { set.Members = append(set.Members, v) })
			m.Sets = append(m.Sets, set)
		}
	}
	for v, row := range s.adj {
		best := int64(-1)
		for _, a := range row {
			if a.to == s.mate[v] && (best < 0 || a.w < best) {
				best = a.w
			}
		}
		m.Weight += best
	}
	m.Weight /= 2
	return m
}
