package constraint

import "fmt"

// Score is a constraint that bounds a user-defined function,
//
//	g(v) = F(v) − Threshold ≤ 0.
//
// The function and its gradient are evaluated on one sample v at a time (see [Smooth] for its
// shape). If the function of interest is not smooth, set F to a smooth approximation, and set
// Decide to the function itself. Decide is evaluated on tokens. A Score is written as a literal.
// Its functions may be called from several goroutines at once.
type Score struct {
	// F returns the score of one sample v. NaN means that the evaluation failed.
	F func(v []float32) float64

	// Gradient adds weight·∂F/∂v, evaluated at v, to dst.
	Gradient func(dst, v []float32, weight float64)

	// Threshold is the largest score that counts as feasible, in the units of F.
	Threshold float64

	// Decide returns the score of a token sequence x. The score decides whether the sequence is
	// feasible. F is then only an approximation that guides the search. Only Violation needs Decide
	// or DecideAll.
	Decide func(x []int32) float64

	// DecideAll, if not nil, is called instead of Decide. It stores the scores of len(dst)
	// sequences in one call; the sequences are the rows of x. For networks this is faster.
	DecideAll func(dst []float64, x []int32)
}

// Validate returns an [*ArgumentError] if F, Decide and DecideAll are all nil, if F is set
// without Gradient, or if Threshold is NaN.
func (s Score) Validate() error {
	switch {
	case s.F == nil && !s.Decides():
		return &ArgumentError{"Score", "F", nil, "a function, or Decide"}
	case s.F != nil && s.Gradient == nil:
		return &ArgumentError{"Score", "Gradient", nil, "a function"}
	case s.Threshold != s.Threshold:
		return &ArgumentError{"Score", "Threshold", s.Threshold, "a number"}
	}
	return nil
}

// Leads reports whether the function F is set. If it returns false, Value and Pull must not be
// called.
func (s Score) Leads() bool { return s.F != nil }

// Decides reports whether Decide or DecideAll is set. If it returns false, Violation must not be
// called.
func (s Score) Decides() bool { return s.Decide != nil || s.DecideAll != nil }

// Len returns 1, because a Score is a single inequality.
func (s Score) Len() int { return 1 }

// Value stores F(v) − Threshold in g[0], where v is the sample. The result is ≤ 0 if the inequality
// holds.
func (s Score) Value(g []float64, v []float32) {
	if len(g) != 1 {
		panic(fmt.Sprintf("constraint: len(g) = %d, want 1", len(g)))
	}
	if s.F == nil {
		panic("constraint: Score.Value: F = nil, want a function")
	}
	g[0] = s.F(v) - s.Threshold
}

// Pull adds to dst the gradient of the function F at the sample v, multiplied by the weight w[0].
func (s Score) Pull(dst, v []float32, w []float64) {
	if len(dst) != len(v) {
		panic(fmt.Sprintf("constraint: len(dst) = %d, want %d", len(dst), len(v)))
	}
	if len(w) != 1 {
		panic(fmt.Sprintf("constraint: len(w) = %d, want 1", len(w)))
	}
	if s.Gradient == nil {
		panic("constraint: Score.Pull: Gradient = nil, want a function")
	}
	s.Gradient(dst, v, w[0])
}

// Violation stores in g the score minus Threshold for every sequence in x. The score comes from
// DecideAll if it is set, and otherwise from Decide. Violation panics if neither is set.
func (s Score) Violation(g []float64, x []int32) {
	switch {
	case s.DecideAll != nil:
		if len(g) == 0 {
			return
		}
		if len(x)%len(g) != 0 {
			panic(fmt.Sprintf("constraint: len(x) = %d, want a multiple of %d", len(x), len(g)))
		}
		s.DecideAll(g, x)
		for k := range g {
			g[k] -= s.Threshold
		}
	case s.Decide != nil:
		eachState(1, g, x, func(g []float64, x []int32) { g[0] = s.Decide(x) - s.Threshold })
	default:
		panic("constraint: Score.Violation: Decide = nil, want a function")
	}
}
