package text

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// Range is a range of whole numbers n with Min ≤ n ≤ Max.
//
// Range{Min: 2, Max: constraint.Unbounded} means "at least two", Range{Max: 3} "at most three",
// Range{Min: 8, Max: 8} "exactly eight", and Range{} "none". There is no lower bound if Min ≤
// 0, and no upper bound if Max is [constraint.Unbounded].
type Range struct{ Min, Max int }

// String returns the range in mathematical notation, such as "2…5" or "≥ 2".
func (r Range) String() string {
	least, most := max(r.Min, 0), max(r.Max, 0)
	switch {
	case r.Max == constraint.Unbounded:
		return fmt.Sprintf("≥ %d", least)
	case least == most:
		return fmt.Sprint(most)
	}
	return fmt.Sprintf("%d…%d", least, most)
}

// counter counts up to the largest number that a range needs to distinguish.
type counter struct {
	least, most int // bounds on the count; most is −1 if there is no upper bound
}

// counter checks the range and returns a counter for it. name is the function that errors name.
func (r Range) counter(name string, limits constraint.Limits) (counter, error) {
	c := counter{min(max(r.Min, 0), math.MaxInt32-1), min(max(r.Max, 0), math.MaxInt32-1)}
	switch {
	case r.Max < 0:
		return c, &constraint.ArgumentError{Func: name, Arg: "Max", Value: r.Max, Want: "≥ 0"}
	case r.Max == constraint.Unbounded:
		c.most = -1
	case c.least > c.most:
		return c, fmt.Errorf("text: %s: Min = %d, want ≤ Max = %d (constraint.Unbounded for no upper bound): %w", name, r.Min, c.most, constraint.ErrInfeasible)
	}
	return c, limits.Check(name, c.states(), 0, 0)
}

// states returns the number of different counts.
func (c counter) states() int {
	if c.most >= 0 {
		return c.most + 1
	}
	return c.least + 1
}

// next returns the count after n, or −1 if it would exceed the upper bound.
func (c counter) next(n int) int {
	if n == c.most {
		return -1
	}
	return min(n+1, c.states()-1)
}

// enough reports whether n is at least the lower bound.
func (c counter) enough(n int) bool { return n >= c.least }
