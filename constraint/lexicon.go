package constraint

import (
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/gibbsite-go/gibbsite/internal/automata"
)

// Lexicon is a set of token sequences, stored as the minimal acyclic automaton of the set.
// Sequences can be added in any order (Daciuk, Mihov, Watson and Watson 2000, algorithm 2).
//
// As an [Automaton], a Lexicon accepts the sequences of the set, and its [Complement] accepts all
// others. The zero value is an empty set ready to use. Several goroutines may read a Lexicon, but
// not while one of them adds to it. State numbers are valid until the next Add. Intersections and
// complements always reflect the current set.
type Lexicon struct {
	store
	// whether each token below rareToken occurs in a sequence; tokens beyond the slice do not
	seen  []bool
	rare  map[int32]bool // tokens from rareToken on that occur in a sequence
	words int
	path  []int32
}

// Add adds x to the set and reports whether x was new. It takes O(len(x)) steps and does not keep
// x. It panics on a negative token, or if the automaton outgrows the bound that [Lexicon.States]
// returns.
func (l *Lexicon) Add(x []int32) bool {
	for i, t := range x {
		if t < 0 {
			panic(fmt.Sprintf("constraint: Lexicon: Add: x[%d] = %d, want ≥ 0", i, t))
		}
	}
	if len(l.node) == 0 {
		l.node = append(l.node, node{})
	}
	// Walk the longest prefix that exists. From the first state on that other
	// sequences reach too, states must be copied before they change.
	l.path = append(l.path[:0], 0)
	shared := len(x) + 1
	s := int32(0)
	for i, t := range x {
		if s = l.follow(s, t); s < 0 {
			break
		}
		if l.node[s].refs > 1 {
			shared = min(shared, i+1)
		}
		l.path = append(l.path, s)
	}
	depth := len(l.path) - 1
	if depth == len(x) && l.node[s].final {
		return false
	}
	l.words++
	l.note(x)

	// The new ending, from its end.
	child := int32(-1)
	for i := len(x); i > depth; i-- {
		l.buf = l.buf[:0]
		if i < len(x) {
			l.buf = append(l.buf, edge{x[i], child})
		}
		child = l.intern(i == len(x))
		shared = l.shares(child, shared)
	}
	// The states of the prefix, upwards, until one keeps its number.
	for i := depth; ; i-- {
		p := l.path[i]
		if i == 0 {
			if len(x) == 0 {
				l.node[0].final = true
			} else {
				l.turn(edge{x[0], child})
			}
			return true
		}
		final := l.node[p].final || i == len(x)
		l.buf = append(l.buf[:0], l.edges(p)...)
		if i < len(x) {
			l.buf = put(l.buf, edge{x[i], child})
		}
		if i >= shared {
			child = l.intern(final)
		} else if child = l.register.find(&l.nodes, final, l.buf); child < 0 {
			l.register.remove(&l.nodes, p)
			l.replace(p, final)
			l.register.insert(&l.nodes, p)
			return true
		}
		shared = l.shares(child, shared)
	}
}

// shares returns the depth from which on the states of l.path are shared with other sequences,
// once the new sequence also leads to child. shared is the depth found so far; it is lowered if
// child itself is a state of the path.
func (l *Lexicon) shares(child int32, shared int) int {
	for i, p := range l.path {
		if i == shared {
			break
		}
		if i > 0 && p == child {
			return i
		}
	}
	return shared
}

// note records that the tokens of x occur in the set.
func (l *Lexicon) note(x []int32) {
	for _, t := range x {
		if t >= rareToken {
			if l.rare == nil {
				l.rare = map[int32]bool{}
			}
			l.rare[t] = true
			continue
		}
		for int(t) >= len(l.seen) {
			l.seen = append(l.seen, false)
		}
		l.seen[t] = true
	}
}

// rareToken is the first token that is recorded in a map instead of a table indexed by token.
// No real vocabulary reaches 2²² tokens. A larger table would let a single sequence claim too
// much memory.
const rareToken = 1 << 22

func (l *Lexicon) knows(t int32) bool {
	if t >= rareToken {
		return l.rare[t]
	}
	return int(t) < len(l.seen) && l.seen[t]
}

// Contains reports whether x is in the set.
func (l *Lexicon) Contains(x []int32) bool { return Accepts(l, x) }

// Len returns the number of sequences in the set.
func (l *Lexicon) Len() int { return l.words }

// Nodes returns the number of states of the automaton that stores the set, not counting the dead
// state. No deterministic automaton of the set has fewer states.
func (l *Lexicon) Nodes() int { return max(1, len(l.node)-len(l.spareNode)) }

// All yields the sequences of the set in lexicographic order. The slice is overwritten in
// the next iteration.
func (l *Lexicon) All() iter.Seq[[]int32] {
	return func(yield func([]int32) bool) {
		if len(l.node) > 0 {
			l.each(0, nil, yield)
		}
	}
}

// each yields the sequences of the set that begin with the prefix x, where s is the state that
// x leads to. It reports whether the iteration should continue.
func (l *Lexicon) each(s int32, x []int32, yield func([]int32) bool) bool {
	if l.node[s].final && !yield(x) {
		return false
	}
	for _, e := range l.edges(s) {
		if !l.each(e.to, append(x, e.token), yield) {
			return false
		}
	}
	return true
}

// States returns 2³⁰, or 2²² where int has 32 bits. The bound does not depend on the size of the
// set, so an intersection with the lexicon stays valid as the lexicon grows.
func (l *Lexicon) States() int { return maxNodes }

// Start returns 0, the state before the first token.
func (l *Lexicon) Start() int { return 0 }

// Next returns the state after the given token is read in the given state, or −1 if no sequence of
// the set continues with this token.
func (l *Lexicon) Next(state int, token int32) int {
	if uint(state) >= uint(len(l.node)) {
		return -1
	}
	return int(l.follow(int32(state), token))
}

// Accepting reports whether a sequence of the set ends in the given state.
func (l *Lexicon) Accepting(state int) bool {
	return uint(state) < uint(len(l.node)) && l.node[state].final
}

// Classes puts all tokens that occur in no sequence into one class, and every other token into
// a class by itself. The classes may change when a sequence is added.
func (l *Lexicon) Classes(levels int) (of []int32, n int) {
	return automata.ClassesBy(levels, func(t int32) int32 {
		if l.knows(t) {
			return t
		}
		return -1
	})
}

// AppendEdges lists the transitions that leave the given state, in ascending order of their tokens.
// For each transition it appends the token to tokens and the target state to states.
func (l *Lexicon) AppendEdges(tokens []int32, states []int, state int) ([]int32, []int) {
	if state < 0 || state >= len(l.node) {
		return tokens, states
	}
	for _, e := range l.edges(int32(state)) {
		tokens, states = append(tokens, e.token), append(states, int(e.to))
	}
	return tokens, states
}

// AppendEdgesOf lists the transitions that leave each of the given states, one state after the
// other. For each transition it appends the token to tokens and the target state to targets. After
// each state, it appends len(tokens) to ends. For a single state, use [Lexicon.AppendEdges].
func (l *Lexicon) AppendEdgesOf(tokens []int32, targets, ends, states []int) ([]int32, []int, []int) {
	const crowd = 64
	var heads [crowd]node
	var first [crowd]edge
	for len(states) > 0 {
		n := min(len(states), crowd)
		// Nothing stands between reads that wait for memory, so that they overlap.
		for i, s := range states[:n] {
			heads[i] = node{}
			if uint(s) < uint(len(l.node)) {
				heads[i] = l.node[s]
			}
		}
		for i := range n {
			if heads[i].edges > 0 {
				first[i] = l.edge[heads[i].at]
			}
		}
		for i := range n {
			if k := heads[i].edges; k > 0 {
				tokens, targets = append(tokens, first[i].token), append(targets, int(first[i].to))
				for _, e := range l.edge[heads[i].at+1 : heads[i].at+k] {
					tokens, targets = append(tokens, e.token), append(targets, int(e.to))
				}
			}
			ends = append(ends, len(tokens))
		}
		states = states[n:]
	}
	return tokens, targets, ends
}

// nodes are the states of a lexicon and their transitions.
type nodes struct {
	node []node // states by number; node 0 is the start
	edge []edge
}

// edge is a transition of a lexicon: its token and the index of the target state.
type edge struct{ token, to int32 }

// node is a state of a lexicon. Its edges are nodes.edge[at : at+edges], in ascending order of
// token.
type node struct {
	at, edges int32
	refs      int32 // number of edges that lead to this state
	final     bool
}

func (l *nodes) edges(s int32) []edge {
	n := &l.node[s]
	return l.edge[n.at : n.at+n.edges : n.at+n.edges]
}

// follow returns the state that token leads to from s, or −1 if there is none.
func (l *nodes) follow(s, token int32) int32 {
	edges := l.edges(s)
	for len(edges) > 8 { // halve, then look at each: 8 edges are one cache line
		half := len(edges) / 2
		if edges[half].token <= token {
			edges = edges[half:]
		} else {
			edges = edges[:half]
		}
	}
	for _, e := range edges {
		if e.token == token {
			return e.to
		}
	}
	return -1
}

// put replaces the edge with the token of e by e, or inserts e at its place if there is no such
// edge. It returns the updated slice.
func put(edges []edge, e edge) []edge {
	i := sort.Search(len(edges), func(i int) bool { return edges[i].token >= e.token })
	if i < len(edges) && edges[i].token == e.token {
		edges[i] = e
		return edges
	}
	return slices.Insert(edges, i, e)
}

// equal reports whether state s has the given finality and edges.
func (l *nodes) equal(s int32, final bool, edges []edge) bool {
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

// register is a hash table that finds the state of a lexicon with given finality and edges. It
// uses open addressing and linear probing. It does not contain the start state.
type register struct {
	slot []int32 // state in each slot, −1 if empty; hashes are recomputed when needed
	used int
}

// hashOf returns a hash of the finality and edges of a state. It multiplies by 2⁶⁴/φ (Knuth,
// The Art of Computer Programming 3, section 6.4). The choice of the hash affects only speed.
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

// find returns the registered state with the given finality and edges, or −1 if there is none.
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

// insert adds state s, which must not equal any state already in the register.
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

// remove removes state s and moves back the entries behind it that the probe for s had
// displaced.
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

// maxNodes bounds the state numbers of a lexicon: 2³⁰, or 2²² where an int has 32 bits. The
// bound does not change as the lexicon grows, so the state numbers of products stay valid.
const maxNodes = 1 << (22 + 8*(^uint(0)>>63))

// store holds the states of a lexicon without duplicates. Instead of a new state that equals a
// registered state, the registered state is used. A state that no edge leads to is freed for
// reuse.
type store struct {
	nodes
	register  register
	spareNode []int32
	spareEdge [][]int32 // offsets of unused runs of edges, indexed by size class
	buf       []edge    // edges of the state under construction
}

// intern returns the registered state that has the edges l.buf and the given finality. It
// creates the state if none exists.
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

// replace sets the edges of state s to l.buf and its finality to final. It frees the states
// that no edge leads to any more.
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

// release removes one reference to state s, and frees s if none is left.
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

// takeEdges allocates a run of consecutive entries of l.edge that can hold n edges, and returns
// the offset of the run.
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

// capacity returns the number of edges that a run allocated for n edges can hold, at most a
// quarter more than n. There are four sizes per doubling. A state that gains edges one by one
// therefore does not leave an unused run of every length.
func capacity(n int) int {
	if n < 8 {
		return n
	}
	step := 1 << (bits.Len(uint(n-1)) - 3)
	return (n + step - 1) / step * step
}

// sizeClass returns a number that identifies a size returned by capacity.
func sizeClass(size int) int {
	if size < 8 {
		return size
	}
	l := bits.Len(uint(size)) - 3
	return 8*l + size>>l
}

// turn sets the edge of the start state for the token of e to e. The start state is not in the
// register. turn works in place, because the start state of a large lexicon has an edge for
// every token.
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
