package constraint

import (
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/automata"
)

// Unbounded, used as an upper bound such as Count.Max, means that there is no upper bound. For a
// [Sum] without a lower bound, use math.MinInt.
const Unbounded = math.MaxInt

// Count bounds the number of sites (positions in the sequence) whose level (token) is in a given
// set:
//
//	Min ≤ #{i : x_i ∈ Levels} ≤ Max.
//
// Create a Count as a struct literal. It is both a [Set] and a [Language] of sequences of any
// length.
//
// Count{Levels: l, Min: 2, Max: Unbounded} means "at least two", Count{Levels: l, Max: 3} means
// "at most three", and Count{Levels: l} means "none". There is no lower bound if Min ≤ 0, and no
// upper bound if Max is [Unbounded].
type Count struct {
	Levels   []int32 // levels that are counted; a duplicate level counts once
	Min, Max int
}

// Validate returns an [*ArgumentError] if a level or Max is negative, and an error that wraps
// [ErrInfeasible] if Min > Max.
func (c Count) Validate() error {
	for _, l := range c.Levels {
		if l < 0 {
			return &ArgumentError{"Count", "a level", l, "≥ 0"}
		}
	}
	if c.Max < 0 {
		return &ArgumentError{"Count", "Max", c.Max, "≥ 0"}
	}
	if c.Min > c.Max {
		return infeasible("Count: Min = %d, want ≤ Max = %d (constraint.Unbounded for no upper bound)", c.Min, c.Max)
	}
	return nil
}

// String returns c as a Go literal.
func (c Count) String() string {
	if c.Max == Unbounded {
		return fmt.Sprintf("Count{Levels:%v Min:%d Max:Unbounded}", c.Levels, c.Min)
	}
	return fmt.Sprintf("Count{Levels:%v Min:%d Max:%d}", c.Levels, c.Min, c.Max)
}

// Counts returns c.Levels and the bounds on the count. A negative bound is replaced by 0. It
// implements [Counting].
func (c Count) Counts() (levels []int32, lower, upper int) {
	return c.Levels, max(c.Min, 0), max(c.Max, 0)
}

// upper returns the upper bound on the count, and whether there is one.
func (c Count) upper() (int, bool) { return max(c.Max, 0), c.Max != Unbounded }

// States returns the number of states, which are the counts 0, 1, …, Max. If there is no upper
// bound, the largest state is max(Min, 0), which also stands for all larger counts.
func (c Count) States() int {
	upper, ok := c.upper()
	if !ok {
		upper = max(c.Min, 0)
	}
	return upper + 1
}

// Start returns 0, the count before the first token.
func (c Count) Start() int { return 0 }

// Next returns the count after the given token is read, or −1 (dead) if the count exceeds Max. If
// Max is Unbounded, the count does not grow beyond Min: larger counts are all accepted. Next takes
// O(len(Levels)) steps. For large level sets, call it once per class: see [Count.Classes].
func (c Count) Next(state int, token int32) int {
	if !slices.Contains(c.Levels, token) {
		return state
	}
	if state+1 < c.States() {
		return state + 1
	}
	if _, bounded := c.upper(); bounded {
		return -1
	}
	return state
}

// Accepting reports whether the given state, a count, is at least Min.
func (c Count) Accepting(state int) bool { return state >= c.Min }

// Classes divides the tokens into the levels that are counted and all others.
func (c Count) Classes(levels int) (of []int32, n int) {
	in := c.membership(levels)
	return automata.ClassesBy(levels, func(t int32) bool { return in[t] })
}

// Len returns the number of inequalities (0 to 2). There is one for each bound that is set. It
// implements [Set].
func (c Count) Len() int {
	n := 0
	if c.Min > 0 {
		n++
	}
	if _, ok := c.upper(); ok {
		n++
	}
	return n
}

// Violation stores the violations of the bounds in g for each sequence in x. The violations of a
// sequence are Min − count if there is a lower bound, followed by count − Max if there is an upper
// bound. It implements [Set].
func (c Count) Violation(g []float64, x []int32) {
	upper, bounded := c.upper()
	eachState(c.Len(), g, x, func(g []float64, x []int32) {
		count := 0
		for _, t := range x {
			if slices.Contains(c.Levels, t) {
				count++
			}
		}
		if c.Min > 0 {
			g[0] = float64(c.Min - count)
		}
		if bounded {
			g[len(g)-1] = float64(count - upper)
		}
	})
}

// membership returns a slice of length levels whose entry l is true if level l is counted.
func (c Count) membership(levels int) []bool {
	if levels < 0 || levels > math.MaxInt32 {
		panic(fmt.Sprintf("constraint: levels = %d, want 0 … %d", levels, math.MaxInt32))
	}
	in := make([]bool, levels)
	for _, l := range c.Levels {
		if l >= 0 && int(l) < levels {
			in[l] = true
		}
	}
	return in
}

// Counting is implemented by languages that only bound the number of sites whose level is in a
// given set. [Count] implements it, as does a type that embeds a Count. Code that receives a
// Counting language can count instead of walking an automaton.
type Counting interface {
	Automaton

	// Counts returns a set of levels and two bounds. A sequence x is in the language if and
	// only if
	//
	//	lower ≤ #{i : x_i ∈ levels} ≤ upper.
	//
	// The slice levels may contain duplicates and levels that the model does not have; it must not
	// be modified. Without a lower bound, lower is 0. Without an upper bound, upper is [Unbounded].
	Counts() (levels []int32, lower, upper int)
}
