package automata

import (
	"fmt"
	"math"
)

// classed automata know which tokens they do not distinguish, see constraint.Classed.
type classed interface {
	Classes(levels int) (of []int32, n int)
}

// Classes returns the token classes of a, or one class for each token if a knows none.
// The slice may be the automaton's own. It panics if levels < 0.
func Classes(a Automaton, levels int) (of []int32, n int) {
	checkLevels(levels)
	if c, ok := a.(classed); ok {
		return c.Classes(levels)
	}
	return Identity(levels), levels
}

// checkLevels panics unless tokens 0 … levels−1 are int32.
func checkLevels(levels int) {
	if levels < 0 || levels > math.MaxInt32 {
		panic(fmt.Sprintf("automata: levels = %d, want 0 … %d", levels, math.MaxInt32))
	}
}

// Identity puts every token into a class of its own.
func Identity(levels int) []int32 {
	checkLevels(levels)
	of := make([]int32, levels)
	for t := range of {
		of[t] = int32(t)
	}
	return of
}

// Representatives returns the first token of each of n classes.
func Representatives(of []int32, n int) []int32 {
	rep := make([]int32, n)
	for t := len(of) - 1; t >= 0; t-- {
		rep[of[t]] = int32(t)
	}
	return rep
}

// ClassesBy numbers tokens by a key, in order of first appearance.
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

// Refine returns the coarsest classes that are finer than those of every part.
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
