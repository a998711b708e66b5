package constraint

import (
	"fmt"
	"math"
	"sort"
)

// Sum bounds a weighted sum over the sequence,
//
//	lower ≤ Σ_i w_i(x_i) ≤ upper,
//
// where w_i(l) is the integer weight of level l at site i. It is both a language and a [Set].
// Construct it with [NewSum] for sequences of any length, or with [NewSiteSum] for a fixed number
// of sites. If weights have both signs, use NewSiteSum, because it knows how much the remaining
// sites can add.
type Sum struct {
	weights
	lower, upper int

	// low and high bound the sums so far if the length is not fixed. A sum beyond a bound is
	// dead, or, with stayLow or stayHigh, is clamped to the bound because it can never come
	// back.
	low, high         int
	stayLow, stayHigh bool

	// from[i] and to[i] bound the sums so far at site i if the length is fixed. The states of
	// site i begin at offset[i], and offset[sites+1] is the number of states.
	from, to, offset []int
}

// maxSum bounds the absolute value of partial sums. It ensures that their number fits a 32-bit
// int.
const maxSum = 1<<29 - 1

// NewSum returns the language of the sequences x of any length with
//
//	lower ≤ Σ_i weights[x_i] ≤ upper.
//
// Use math.MinInt or math.MaxInt for no bound. Tokens without a weight are not allowed. The weights
// are copied.
//
// If weights have both signs, the language has too many states for a table. It then omits the
// sequences with a partial sum above 2²⁹−1 in absolute value. Such sequences have at least 512
// sites.
//
// The error is an [*ArgumentError] if a weight exceeds 2²⁰ or a finite bound exceeds 2²⁹−1 in
// absolute value. It wraps [ErrInfeasible] if lower > upper.
func NewSum(weights []int, lower, upper int) (*Sum, error) {
	s, err := newSum("NewSum", [][]int{weights}, false, lower, upper)
	if err != nil {
		return nil, err
	}
	least, most := s.extremes(0)
	s.low, s.high = -maxSum, maxSum
	switch {
	case least >= 0: // sums only grow
		s.stayHigh = upper == math.MaxInt
		s.low, s.high = 0, max(upper, 0)
		if s.stayHigh {
			s.high = max(lower, 0)
		}
	case most <= 0: // sums only fall
		s.stayLow = lower == math.MinInt
		s.low, s.high = min(lower, 0), 0
		if s.stayLow {
			s.low = min(upper, 0)
		}
	}
	return s, nil
}

// NewSiteSum returns the language of the sequences x of exactly len(weights) tokens with
//
//	lower ≤ Σ_i weights[i][x_i] ≤ upper.
//
// Use math.MinInt or math.MaxInt for no bound. Tokens without a weight at their site are not
// allowed. The rows are copied and may share memory.
//
// Weights and bounds have the same ranges as in [NewSum]. The error wraps [ErrInfeasible] if lower
// > upper, or if no sequence has a sum between the bounds. It is a [*LimitError] if a partial sum,
// or the number of partial sums, exceeds 2²⁹−1.
func NewSiteSum(weights [][]int, lower, upper int) (*Sum, error) {
	s, err := newSum("NewSiteSum", weights, true, lower, upper)
	if err != nil {
		return nil, err
	}
	sites := len(weights)
	s.from, s.to = make([]int, sites+1), make([]int, sites+1)
	for i := range sites {
		least, most := s.extremes(i)
		s.from[i+1], s.to[i+1] = s.from[i]+least, s.to[i]+most
		if max(-s.from[i+1], s.to[i+1]) > maxSum {
			return nil, &LimitError{"NewSiteSum: |partial sum|", max(-s.from[i+1], s.to[i+1]), maxSum}
		}
	}
	// What comes after a site must still be able to reach the bounds.
	needLow, needHigh := lower, upper
	for i := sites; i >= 0; i-- {
		s.from[i], s.to[i] = max(s.from[i], needLow), min(s.to[i], needHigh)
		if s.from[i] > s.to[i] {
			return nil, infeasible("NewSiteSum: no sum is in [%s, %s]", side(lower), side(upper))
		}
		if i > 0 {
			least, most := s.extremes(i - 1)
			needLow, needHigh = s.from[i]-most, s.to[i]-least
		}
	}
	total := 0
	for i := range s.from {
		s.offset = append(s.offset, total)
		if total += s.to[i] - s.from[i] + 1; total > maxSum {
			return nil, &LimitError{"NewSiteSum: states", total, maxSum}
		}
	}
	s.offset = append(s.offset, total)
	return s, nil
}

// Finite returns an [*ArgumentError] if no transition table can hold the language. This is so if
// the length is not fixed and weights have both signs.
func (s *Sum) Finite() error {
	if s.offset == nil && s.low == -maxSum && s.high == maxSum {
		return &ArgumentError{"NewSum", "weights", "of both signs",
			"one sign, NewSiteSum, or the sum within projection.Path, which needs no table"}
	}
	return nil
}

// newSum checks the arguments that NewSum and NewSiteSum have in common and returns a Sum with
// its weights and bounds.
func newSum(name string, rows [][]int, fixed bool, lower, upper int) (*Sum, error) {
	if lower > upper {
		return nil, infeasible("%s: lower = %s, want ≤ upper = %s", name, side(lower), side(upper))
	}
	if lower != math.MinInt && (lower < -maxSum || lower > maxSum) {
		return nil, &ArgumentError{name, "lower", lower, "math.MinInt or −(2²⁹−1) … 2²⁹−1"}
	}
	if upper != math.MaxInt && (upper < -maxSum || upper > maxSum) {
		return nil, &ArgumentError{name, "upper", upper, "math.MaxInt or −(2²⁹−1) … 2²⁹−1"}
	}
	w, err := newWeights(name, rows, fixed)
	if err != nil {
		return nil, err
	}
	return &Sum{weights: w, lower: lower, upper: upper}, nil
}

// side formats a bound, with ∞ for a missing one.
func side(v int) string {
	switch v {
	case math.MinInt:
		return "−∞"
	case math.MaxInt:
		return "∞"
	}
	return fmt.Sprint(v)
}

// States returns the number of states, one for each partial sum that must be distinguished. If the
// number of sites is fixed, the partial sums at different sites count separately.
func (s *Sum) States() int {
	if s.fixed {
		return s.offset[len(s.offset)-1]
	}
	return s.high - s.low + 1
}

// Start returns the state before the first token, which stands for the sum 0.
func (s *Sum) Start() int {
	if s.fixed {
		return 0
	}
	return -s.low
}

// Next returns the state after the weight of the given token is added to the sum. It returns −1
// (dead) if the sum leaves its range or the token has no weight.
func (s *Sum) Next(state int, token int32) int {
	if s.fixed {
		return s.nextAt(state, token)
	}
	w, ok := s.at(0, token)
	if !ok {
		return -1
	}
	sum := state + s.low + w
	switch {
	case sum > s.high && s.stayHigh:
		sum = s.high
	case sum < s.low && s.stayLow:
		sum = s.low
	case sum > s.high || sum < s.low:
		return -1
	}
	return sum - s.low
}

// nextAt is Next for a fixed number of sites.
func (s *Sum) nextAt(state int, token int32) int {
	site := s.site(state)
	if site == len(s.rows) {
		return -1
	}
	w, ok := s.at(site, token)
	sum := s.from[site] + state - s.offset[site] + w
	if !ok || sum < s.from[site+1] || sum > s.to[site+1] {
		return -1
	}
	return s.offset[site+1] + sum - s.from[site+1]
}

// site returns the number of tokens before state.
func (s *Sum) site(state int) int {
	return sort.Search(len(s.rows), func(i int) bool { return s.offset[i+1] > state })
}

// Accepting reports whether the sum is within the bounds and, if the number of sites is fixed,
// whether the sequence has that many tokens.
func (s *Sum) Accepting(state int) bool {
	if s.fixed {
		return state >= s.offset[len(s.rows)]
	}
	sum := state + s.low
	return sum >= s.lower && sum <= s.upper
}

// Classes puts tokens that have the same weight at every site into one class. It implements
// [Classed].
func (s *Sum) Classes(levels int) (of []int32, n int) {
	return s.classes(levels, func(v int) int { return v })
}

// Len returns the number of inequalities (0 to 2). There is one for each finite bound. It
// implements [Set].
func (s *Sum) Len() int {
	n := 0
	if s.lower != math.MinInt {
		n++
	}
	if s.upper != math.MaxInt {
		n++
	}
	return n
}

// Violation stores the violations of the bounds in g for each sequence in x. The violations of a
// sequence are lower − sum if there is a lower bound, followed by sum − upper if there is an upper
// bound. Both are in units of the weights. Violation panics if a token has no weight, or if the
// number of sites is fixed and a sequence has a different length.
func (s *Sum) Violation(g []float64, x []int32) {
	eachState(s.Len(), g, x, func(g []float64, x []int32) {
		if s.fixed && len(x) != len(s.rows) {
			panic(fmt.Sprintf("constraint: len(x) = %d per state, want %d", len(x), len(s.rows)))
		}
		sum := 0
		for i, t := range x {
			w, ok := s.at(i, t)
			if !ok {
				panic(fmt.Sprintf("constraint: Sum: token %d at site %d has no weight", t, i))
			}
			sum += w
		}
		if s.lower != math.MinInt {
			g[0] = float64(s.lower - sum)
		}
		if s.upper != math.MaxInt {
			g[len(g)-1] = float64(sum - s.upper)
		}
	})
}
