package constraint

import "fmt"

// Automaton is a deterministic finite automaton over token ids. It stands for
// the set of sequences x_0 … x_{n−1} for which
//
//	s_0 = Start(), s_{i+1} = Next(s_i, x_i) ≥ 0, Accepting(s_n).
//
// Implementations are immutable and safe for concurrent use.
type Automaton interface {
	// States returns a bound on the state numbers: every state is in
	// 0…States()−1. The bound may be far larger than the number of states that
	// exist, so nothing should be allocated by it.
	States() int

	// Start returns the state before the first token.
	Start() int

	// Next returns the state after token, −1 (dead) if no continuation is in
	// the language because of it. state is one that Start or Next returned.
	Next(state int, token int32) int

	// Accepting reports whether the sequence may end in state.
	Accepting(state int) bool
}

// Classed automata know which tokens they cannot tell apart.
type Classed interface {
	Automaton

	// Classes returns the class of[t] ∈ 0…n−1 of every token t < levels:
	// tokens of one class lead from every state to the same state. Every
	// class has a token. The slice may be the automaton's own and must not be
	// modified.
	Classes(levels int) (of []int32, n int)
}

// Tabled automata have a dense table over their classes. Consumers that walk
// all edges of a state read it directly.
type Tabled interface {
	Classed

	// Table returns next[s·classes + c], the state after a token of class c
	// in state s, −1 if dead; c counts as in Classes(Levels()). The slice is
	// the automaton's own and must not be modified.
	Table() (next []int32, classes int)

	// Levels returns the number of tokens that the table knows.
	Levels() int
}

// Any is the language of all sequences.
type Any struct{}

// States returns 1.
func (Any) States() int { return 1 }

// Start returns 0.
func (Any) Start() int { return 0 }

// Next returns state.
func (Any) Next(state int, _ int32) int { return state }

// Accepting returns true.
func (Any) Accepting(int) bool { return true }

// Classes puts all tokens into one class.
func (Any) Classes(levels int) ([]int32, int) { return make([]int32, levels), min(levels, 1) }

// Accepts reports whether x is in the language of a, in O(len(x)) steps.
func Accepts(a Automaton, x []int32) bool {
	s := a.Start()
	for _, t := range x {
		if s = a.Next(s, t); s < 0 {
			return false
		}
	}
	return a.Accepting(s)
}

// Classes returns the token classes of a if it is [Classed], and otherwise one
// class for each token. It panics if levels < 0.
func Classes(a Automaton, levels int) (of []int32, n int) {
	if levels < 0 {
		panic(fmt.Sprintf("constraint: levels = %d, want ≥ 0", levels))
	}
	if c, ok := a.(Classed); ok {
		return c.Classes(levels)
	}
	return identity(levels), levels
}

// identity puts every token into a class of its own.
func identity(levels int) []int32 {
	of := make([]int32, levels)
	for t := range of {
		of[t] = int32(t)
	}
	return of
}

// representatives returns the first token of each class.
func representatives(of []int32, n int) []int32 {
	rep := make([]int32, n)
	for t := len(of) - 1; t >= 0; t-- {
		rep[of[t]] = int32(t)
	}
	return rep
}

// classesBy numbers tokens by a key, in order of first appearance.
func classesBy[K comparable](levels int, key func(token int32) K) (of []int32, n int) {
	of = make([]int32, levels)
	seen := make(map[K]int32)
	for t := range of {
		k := key(int32(t))
		c, ok := seen[k]
		if !ok {
			c = int32(len(seen))
			seen[k] = c
		}
		of[t] = c
	}
	return of, len(seen)
}

// refine returns the coarsest classes that are finer than those of every part.
func refine(parts []Automaton, levels int) (of []int32, n int) {
	of, n = make([]int32, levels), min(levels, 1)
	for _, p := range parts {
		other, _ := Classes(p, levels)
		of, n = classesBy(levels, func(t int32) uint64 {
			return uint64(uint32(of[t]))<<32 | uint64(uint32(other[t]))
		})
	}
	return of, n
}
