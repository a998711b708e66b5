package constraint

// store holds the states of a lexicon, each once: what equals a registered
// state is that state, and what nothing leads to is free for the next.
type store struct {
	nodes
	register  register
	spareNode []int32
	spareEdge [][]int32 // offsets of unused runs of edges, by length
	buf       []edge    // the state under construction
}

// intern returns the registered state with the edges l.buf, making one if
// there is none.
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
	if int(n) != len(l.buf) {
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

// takeEdges returns the offset of a run of n edges.
func (l *store) takeEdges(n int) int32 {
	if n < len(l.spareEdge) {
		if runs := l.spareEdge[n]; len(runs) > 0 {
			at := runs[len(runs)-1]
			l.spareEdge[n] = runs[:len(runs)-1]
			return at
		}
	}
	at := int32(len(l.edge))
	for range n {
		l.edge = append(l.edge, edge{})
	}
	return at
}

func (l *store) freeEdges(at, n int32) {
	if n == 0 {
		return
	}
	for int(n) >= len(l.spareEdge) {
		l.spareEdge = append(l.spareEdge, nil)
	}
	l.spareEdge[n] = append(l.spareEdge[n], at)
}
