package constraint

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// maxNodes bounds the state numbers of a lexicon: 2³⁰, or 2²² where an int has 32
// bits. It does not change as the lexicon grows, so that products stay valid.
const maxNodes = 1 << (22 + 8*(^uint(0)>>63))

// store holds the states of a lexicon, each once: a state equal to a registered one is
// replaced by that one, and a state that no edge leads to is freed for reuse.
type store struct {
	nodes
	register  register
	spareNode []int32
	spareEdge [][]int32 // offsets of unused runs of edges, by size class
	buf       []edge    // the state under construction
}

// intern returns the registered state with the edges l.buf, and makes one if there is none.
func (l *store) intern(final bool) int32 {
	if s := l.register.find(&l.nodes, final, l.buf); s >= 0 {
		return s
	}
	var s int32
	if n := len(l.spareNode); n > 0 {
		s = l.spareNode[n-1]
		l.spareNode = l.spareNode[:n-1]
		l.node[s] = node{}
	} else {
		if len(l.node) >= maxNodes {
			panic(fmt.Sprintf("constraint: Lexicon: states = %d, want ≤ %d", len(l.node)+1, maxNodes))
		}
		s = int32(len(l.node))
		l.node = append(l.node, node{})
	}
	l.replace(s, final)
	l.register.insert(&l.nodes, s)
	return s
}

// replace gives state s the edges l.buf. States that nothing leads to any more
// are freed.
func (l *store) replace(s int32, final bool) {
	for _, e := range l.buf {
		l.node[e.to].refs++
	}
	at, n := l.node[s].at, l.node[s].edges
	for _, e := range l.edge[at : at+n] {
		l.release(e.to)
	}
	if capacity(int(n)) != capacity(len(l.buf)) {
		l.freeEdges(at, n)
		at = l.takeEdges(len(l.buf))
	}
	copy(l.edge[at:], l.buf)
	l.node[s].at, l.node[s].edges, l.node[s].final = at, int32(len(l.buf)), final
}

// release drops one reference to s.
func (l *store) release(s int32) {
	if l.node[s].refs--; l.node[s].refs > 0 {
		return
	}
	l.register.remove(&l.nodes, s)
	for _, e := range l.edges(s) {
		l.release(e.to)
	}
	l.freeEdges(l.node[s].at, l.node[s].edges)
	l.spareNode = append(l.spareNode, s)
}

// takeEdges returns the offset of a run that can hold n edges.
func (l *store) takeEdges(n int) int32 {
	size := capacity(n)
	if c := sizeClass(size); c < len(l.spareEdge) {
		if runs := l.spareEdge[c]; len(runs) > 0 {
			at := runs[len(runs)-1]
			l.spareEdge[c] = runs[:len(runs)-1]
			return at
		}
	}
	at := len(l.edge)
	if at > math.MaxInt32-size {
		panic("constraint: Lexicon: more than 2³¹ edges")
	}
	for range size {
		l.edge = append(l.edge, edge{})
	}
	return int32(at)
}

func (l *store) freeEdges(at, n int32) {
	if n == 0 {
		return
	}
	c := sizeClass(capacity(int(n)))
	for c >= len(l.spareEdge) {
		l.spareEdge = append(l.spareEdge, nil)
	}
	l.spareEdge[c] = append(l.spareEdge[c], at)
}

// capacity returns how many edges a run allocated for n can hold, up to a quarter more than
// n. There are four sizes per doubling, so a state that gains edges one by one does not
// leave a run of every length behind.
func capacity(n int) int {
	if n < 8 {
		return n
	}
	step := 1 << (bits.Len(uint(n-1)) - 3)
	return (n + step - 1) / step * step
}

// sizeClass numbers the sizes that capacity returns.
func sizeClass(size int) int {
	if size < 8 {
		return size
	}
	l := bits.Len(uint(size)) - 3
	return 8*l + size>>l
}

// turn sets the edge e of the start, which is not in the register. It works in place,
// because the start of a large lexicon has an edge for every token.
func (l *store) turn(e edge) {
	l.node[e.to].refs++
	edges := l.edges(0)
	i, found := slices.BinarySearchFunc(edges, e.token, func(e edge, t int32) int { return int(e.token) - int(t) })
	if found {
		was := edges[i].to
		edges[i].to = e.to
		l.release(was)
		return
	}
	n := len(edges)
	if capacity(n+1) != capacity(n) {
		at := l.takeEdges(n + 1)
		copy(l.edge[at:], l.edges(0))
		l.freeEdges(l.node[0].at, int32(n))
		l.node[0].at = at
	}
	l.node[0].edges++
	edges = l.edges(0)
	copy(edges[i+1:], edges[i:n])
	edges[i] = e
}
