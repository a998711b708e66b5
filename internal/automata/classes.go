package automata

import (
	"fmt"
	"math"
)

// classed is implemented by automata that can report classes of tokens with equal transitions.
// It is identical to constraint.Classed, apart from the embedded interface.
type classed interface {
	Classes(levels int) (of []int32, n int)
}

// Classes returns the class of every token 0 … levels−1, as the automaton reports it. From any
// given state, all tokens of a class lead to the same next state. If the automaton does not report
// classes, every token is a class by itself. The slice may be shared with the automaton and must
// not be modified. Classes panics if levels < 0.
func Classes(a Automaton, levels int) (of []int32, n int) {
	checkLevels(levels)
	if c, ok := a.(classed); ok {
		return c.Classes(levels)
	}
	return Identity(levels), levels
}

// checkLevels panics unless the tokens 0…levels−1 fit an int32.
func checkLevels(levels int) {
	if levels < 0 || levels > math.MaxInt32 {
		panic(fmt.Sprintf("automata: levels = %d, want 0 … %d", levels, math.MaxInt32))
	}
}

// Identity returns classes in which every token is a class by itself.
func Identity(levels int) []int32 {
	checkLevels(levels)
	of := make([]int32, levels)
	for t := range of {
		of[t] = int32(t)
	}
	return of
}

// Representatives returns the smallest token of each of n classes.
func Representatives(of []int32, n int) []int32 {
	rep := make([]int32, n)
	for t := len(of) - 1; t >= 0; t-- {
		rep[of[t]] = int32(t)
	}
	return rep
}

// ClassesBy puts tokens with equal keys into one class and numbers classes in order of first
// appearance. It returns the class of each token and the number of classes.
func ClassesBy[K comparable](levels int, key func(token int32) K) (of []int32, n int) {
	checkLevels(levels)
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

// ClassesByBytes is like [ClassesBy] for keys of any length. The function key appends the key of a token
// to b.
func ClassesByBytes(levels int, key func(b []byte, token int32) []byte) (of []int32, n int) {
	checkLevels(levels)
	of = make([]int32, levels)
	seen := make(map[string]int32)
	var b []byte
	for t := range of {
		b = key(b[:0], int32(t))
		c, ok := seen[string(b)] // without a copy
		if !ok {
			c = int32(len(seen))
			seen[string(b)] = c
		}
		of[t] = c
	}
	return of, len(seen)
}

// Refine combines the token classes of several automata. Two tokens share a class of the result if
// they share a class in every automaton. Refine returns the class of each token and the number of
// classes.
func Refine[A Automaton](parts []A, levels int) (of []int32, n int) {
	checkLevels(levels)
	of, n = make([]int32, levels), min(levels, 1)
	for _, p := range parts {
		other, _ := Classes(p, levels)
		of, n = ClassesBy(levels, func(t int32) uint64 {
			return uint64(uint32(of[t]))<<32 | uint64(uint32(other[t]))
		})
	}
	return of, n
}
