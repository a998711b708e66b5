package constraint

import (
	"fmt"
	"iter"

	"github.com/gibbsite-go/gibbsite/internal/automata"
)

// Lexicon is a set of token sequences, kept as the minimal acyclic automaton
// of the set while sequences are added in any order (Daciuk, Mihov, Watson and
// Watson 2000, algorithm 2). Common beginnings and common endings are stored
// once.
//
// As an [Automaton], a Lexicon accepts the sequences of the set, and its [Complement] is
// novelty. The zero value is an empty set ready to use. A Lexicon may be read by several
// goroutines, but not while one adds to it. State numbers are valid until the next Add.
// Products and complements always reflect the current set and need not be rebuilt.
type Lexicon struct {
	store
	seen  []bool         // tokens that occur, below rareToken
	rare  map[int32]bool // the others
	words int
	path  []int32
}

// Add adds x to the set and reports whether it was new. It takes O(len(x)) steps and does
// not keep x. It panics on a negative token, or if more than States() states are needed.
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

// shares returns the depth from which the states of the path are shared, now that the new
// sequence also ends in child; that ending may be a state of the path itself.
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

// note marks the tokens of x as seen.
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

// rareToken is the first token that no real vocabulary has. A larger table by token would
// let a single sequence claim its memory.
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

// Nodes returns the number of states that exist, not counting the dead state. No
// deterministic automaton of the set has fewer.
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

// each yields the sequences that begin with x, which leads to s.
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

// States returns 2³⁰, or 2²² on machines of 32 bits, whatever the size of the set.
func (l *Lexicon) States() int { return maxNodes }

// Start returns 0.
func (l *Lexicon) Start() int { return 0 }

// Next follows the edge of token.
func (l *Lexicon) Next(state int, token int32) int {
	if uint(state) >= uint(len(l.node)) {
		return -1
	}
	return int(l.follow(int32(state), token))
}

// Accepting reports whether a sequence of the set ends in state.
func (l *Lexicon) Accepting(state int) bool {
	return uint(state) < uint(len(l.node)) && l.node[state].final
}

// Classes puts all tokens that no sequence uses into one class. The classes may change when
// a sequence is added.
func (l *Lexicon) Classes(levels int) (of []int32, n int) {
	return automata.ClassesBy(levels, func(t int32) int32 {
		if l.knows(t) {
			return t
		}
		return -1
	})
}

// AppendEdges appends the tokens that have a transition from state to tokens, in
// ascending order, and the targets of these transitions to states.
func (l *Lexicon) AppendEdges(tokens []int32, states []int, state int) ([]int32, []int) {
	if state < 0 || state >= len(l.node) {
		return tokens, states
	}
	for _, e := range l.edges(int32(state)) {
		tokens, states = append(tokens, e.token), append(states, int(e.to))
	}
	return tokens, states
}

// AppendEdgesOf appends the transitions of all given states, one state after the other, as
// [Lexicon.AppendEdges] does. After each state it appends the length of tokens to ends.
func (l *Lexicon) AppendEdgesOf(tokens []int32, to, ends, states []int) ([]int32, []int, []int) {
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
				tokens, to = append(tokens, first[i].token), append(to, int(first[i].to))
				for _, e := range l.edge[heads[i].at+1 : heads[i].at+k] {
					tokens, to = append(tokens, e.token), append(to, int(e.to))
				}
			}
			ends = append(ends, len(tokens))
		}
		states = states[n:]
	}
	return tokens, to, ends
}
