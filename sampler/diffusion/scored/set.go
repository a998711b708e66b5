package scored

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Partial is a set that may lack the half that judges sequences, as a
// constraint.Score may: it is then refused as a judge or a guide.
type Partial interface{ Decides() bool }

var _ Partial = constraint.Score{}

// absent reports whether a set is nil, or a nil pointer.
func absent(s constraint.Set) bool { return s == nil || check.Nil(s) }

// checkSet returns what is wrong with a set that is not nil.
func checkSet(name string, s constraint.Set) error {
	if s == nil {
		return nil
	}
	if absent(s) {
		return fmt.Errorf("scored: %s = nil %T, want a set", name, s)
	}
	if v, ok := s.(constraint.Validated); ok {
		if err := v.Validate(); err != nil {
			return fmt.Errorf("scored: %s: %w", name, err)
		}
	}
	if p, ok := s.(Partial); ok && !p.Decides() {
		return fmt.Errorf("scored: %s = %T that judges no sequences, want one with Decide or DecideAll", name, s)
	}
	if n := s.Len(); n < 1 {
		return fmt.Errorf("scored: %s.Len() = %d, want ≥ 1", name, n)
	}
	return nil
}

// violations stores the largest violation of every state in dst. g is scratch of
// len(dst)·s.Len() entries. The error is that one is NaN.
func violations(dst, g []float64, s constraint.Set, x []int32) error {
	n := s.Len()
	g = g[:len(dst)*n]
	s.Violation(g, x)
	for k := range dst {
		worst := math.Inf(-1)
		for j, v := range g[k*n : (k+1)*n] {
			if v != v {
				sites := len(x) / len(dst)
				return fmt.Errorf("scored: violation %d of %v is NaN", j, x[k*sites:(k+1)*sites])
			}
			worst = max(worst, v)
		}
		dst[k] = worst
	}
	return nil
}
