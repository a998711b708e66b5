package constraint

// register finds the state of a lexicon with given edges. It is a hash table of states with
// open addressing and linear probing, and does not contain the start.
type register struct {
	slot []int32 // state, −1 empty; its hash is computed when it is needed
	used int
}

// hashOf mixes finality and edges by multiplication with 2⁶⁴/φ (Knuth, The Art
// of Computer Programming 3, section 6.4). Any mixing is correct.
func hashOf(final bool, edges []edge) uint32 {
	h := uint64(len(edges))
	if final {
		h |= 1 << 32
	}
	for _, e := range edges {
		h = (h ^ uint64(uint32(e.token))<<32 ^ uint64(uint32(e.to))) * 0x9E3779B97F4A7C15
		h ^= h >> 29
	}
	h *= 0x9E3779B97F4A7C15
	return uint32(h >> 32)
}

// find returns the state that equals (final, edges), −1 if there is none.
func (r *register) find(l *nodes, final bool, edges []edge) int32 {
	if len(r.slot) == 0 {
		return -1
	}
	mask := uint32(len(r.slot) - 1)
	h := hashOf(final, edges)
	for i := h & mask; r.slot[i] >= 0; i = (i + 1) & mask {
		if l.equal(r.slot[i], final, edges) {
			return r.slot[i]
		}
	}
	return -1
}

// insert enters state s, which must equal no state of the register.
func (r *register) insert(l *nodes, s int32) {
	if 4*r.used >= 3*len(r.slot) { // at most three quarters full: 3 probes or so
		r.grow(l)
	}
	r.place(s, r.home(l, s))
	r.used++
}

// home returns the hash of state s.
func (r *register) home(l *nodes, s int32) uint32 { return hashOf(l.node[s].final, l.edges(s)) }

func (r *register) place(s int32, h uint32) {
	mask := uint32(len(r.slot) - 1)
	i := h & mask
	for r.slot[i] >= 0 {
		i = (i + 1) & mask
	}
	r.slot[i] = s
}

func (r *register) grow(l *nodes) {
	slot := r.slot
	r.slot = make([]int32, max(64, 2*len(slot)))
	for i := range r.slot {
		r.slot[i] = -1
	}
	for _, s := range slot {
		if s >= 0 {
			r.place(s, r.home(l, s))
		}
	}
}

// remove removes state s and moves back the states that it displaced.
func (r *register) remove(l *nodes, s int32) {
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
		if (j-r.home(l, r.slot[j]))&mask >= (j-i)&mask {
			r.slot[i] = r.slot[j]
			i = j
		}
	}
	r.slot[i] = -1
}
