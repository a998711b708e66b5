package constraint

// register finds the state of a lexicon that has given edges: a hash table of
// states with open addressing and linear probing. The start is not in it.
type register struct {
	slot []int32  // state, −1 empty
	hash []uint32 // of the state in the slot
	used int
}

// hashOf mixes finality and edges by multiplication with 2⁶⁴/φ (Knuth, The Art
// of Computer Programming 3, section 6.4). Any mixing is correct.
func hashOf(final bool, edges []Edge) uint32 {
	h := uint64(len(edges))
	if final {
		h |= 1 << 32
	}
	for _, e := range edges {
		h = (h ^ uint64(uint32(e.Token))<<32 ^ uint64(uint32(e.To))) * 0x9E3779B97F4A7C15
		h ^= h >> 29
	}
	h *= 0x9E3779B97F4A7C15
	return uint32(h >> 32)
}

// find returns the state that equals (final, edges), −1 if there is none.
func (r *register) find(l *Lexicon, final bool, edges []Edge) int32 {
	if len(r.slot) == 0 {
		return -1
	}
	mask := uint32(len(r.slot) - 1)
	h := hashOf(final, edges)
	for i := h & mask; r.slot[i] >= 0; i = (i + 1) & mask {
		if r.hash[i] == h && l.equal(r.slot[i], final, edges) {
			return r.slot[i]
		}
	}
	return -1
}

// equal compares a state with (final, edges).
func (l *Lexicon) equal(s int32, final bool, edges []Edge) bool {
	if l.node[s].final != final || int(l.node[s].edges) != len(edges) {
		return false
	}
	for i, e := range l.edges(s) {
		if e != edges[i] {
			return false
		}
	}
	return true
}

// insert enters state s, which must equal no state of the register.
func (r *register) insert(l *Lexicon, s int32) {
	if 2*r.used >= len(r.slot) { // at most half full, so that probes stay short
		r.grow()
	}
	r.place(s, hashOf(l.node[s].final, l.edges(s)))
	r.used++
}

func (r *register) place(s int32, h uint32) {
	mask := uint32(len(r.slot) - 1)
	i := h & mask
	for r.slot[i] >= 0 {
		i = (i + 1) & mask
	}
	r.slot[i], r.hash[i] = s, h
}

func (r *register) grow() {
	slot, hash := r.slot, r.hash
	r.slot, r.hash = make([]int32, max(64, 2*len(slot))), make([]uint32, max(64, 2*len(slot)))
	for i := range r.slot {
		r.slot[i] = -1
	}
	for i, s := range slot {
		if s >= 0 {
			r.place(s, hash[i])
		}
	}
}

// remove takes state s out and moves back what was displaced by it.
func (r *register) remove(l *Lexicon, s int32) {
	mask := uint32(len(r.slot) - 1)
	i := hashOf(l.node[s].final, l.edges(s)) & mask
	for r.slot[i] != s {
		i = (i + 1) & mask
	}
	r.used--
	for j := i; ; {
		j = (j + 1) & mask
		if r.slot[j] < 0 {
			break
		}
		// The entry at j may move to i unless its home lies in between.
		if (j-r.hash[j])&mask >= (j-i)&mask {
			r.slot[i], r.hash[i] = r.slot[j], r.hash[j]
			i = j
		}
	}
	r.slot[i] = -1
}

// intern returns the registered state with the edges l.buf, making one if
// there is none.
func (l *Lexicon) intern(final bool) int32 {
	if s := l.register.find(l, final, l.buf); s >= 0 {
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
	l.register.insert(l, s)
	return s
}

// replace gives state s the edges l.buf. States that nothing leads to any more
// are freed.
func (l *Lexicon) replace(s int32, final bool) {
	for _, e := range l.buf {
		l.node[e.To].refs++
	}
	at, n := l.node[s].at, l.node[s].edges
	for _, e := range l.edge[at : at+n] {
		l.release(e.To)
	}
	if int(n) != len(l.buf) {
		l.freeEdges(at, n)
		at = l.takeEdges(len(l.buf))
	}
	copy(l.edge[at:], l.buf)
	l.node[s].at, l.node[s].edges, l.node[s].final = at, int32(len(l.buf)), final
}

// release drops one reference to s.
func (l *Lexicon) release(s int32) {
	if l.node[s].refs--; l.node[s].refs > 0 {
		return
	}
	l.register.remove(l, s)
	for _, e := range l.edges(s) {
		l.release(e.To)
	}
	l.freeEdges(l.node[s].at, l.node[s].edges)
	l.spareNode = append(l.spareNode, s)
}

// takeEdges returns the offset of a run of n edges.
func (l *Lexicon) takeEdges(n int) int32 {
	if n < len(l.spareEdge) {
		if runs := l.spareEdge[n]; len(runs) > 0 {
			at := runs[len(runs)-1]
			l.spareEdge[n] = runs[:len(runs)-1]
			return at
		}
	}
	at := int32(len(l.edge))
	for range n {
		l.edge = append(l.edge, Edge{})
	}
	return at
}

func (l *Lexicon) freeEdges(at, n int32) {
	if n == 0 {
		return
	}
	for int(n) >= len(l.spareEdge) {
		l.spareEdge = append(l.spareEdge, nil)
	}
	l.spareEdge[n] = append(l.spareEdge[n], at)
}
