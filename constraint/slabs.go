package constraint

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Slabs is a system of two-sided linear inequalities on reals,
//
//	Lower_j ≤ Σ_k A[j].Value[k]·v[A[j].Index[k]] ≤ Upper_j.
//
// An infinite bound means no bound on that side, and equal bounds make an equation. Create a Slabs
// as a struct literal. As a [Smooth], it has one value per row: the larger of the row's two
// violations,
//
//	g_j(v) = max(a_j·v − Upper_j, Lower_j − a_j·v),  a_j = A[j].
//
// If the two are equal, the derivative of g_j is a_j, as for the upper bound.
type Slabs struct {
	A            []Row
	Lower, Upper []float64
}

// Slabs returns the system A·v ≤ B as slabs without lower bounds. The result shares the slices A
// and B.
func (l Linear) Slabs() Slabs {
	lower := make([]float64, len(l.A))
	for j := range lower {
		lower[j] = math.Inf(-1)
	}
	return Slabs{A: l.A, Lower: lower, Upper: l.B}
}

// Split separates the linear inequalities of a system from the nonlinear ones. It returns l as
// [Slabs] and nil, because l has no nonlinear ones.
func (l Linear) Split() (Slabs, Curved) { return l.Slabs(), nil }

// Split separates the linear inequalities of a system from the nonlinear ones. It returns s and
// nil, because s has no nonlinear ones.
func (s Slabs) Split() (Slabs, Curved) { return s, nil }

// Validate checks the system for vectors v of length n. The slices A, Lower and Upper must have
// equal lengths, as must Index and Value in every row. Indices must lie in 0…n−1, and entries
// must be finite. No bound may be NaN, no lower bound +Inf, and no upper bound −Inf. The error is
// an [*ArgumentError], or wraps [ErrInfeasible] for a row whose bounds contradict each other.
func (s Slabs) Validate(n int) error {
	if len(s.Lower) != len(s.A) || len(s.Upper) != len(s.A) {
		return &ArgumentError{"Slabs", "len(Lower), len(Upper)",
			fmt.Sprintf("%d, %d", len(s.Lower), len(s.Upper)), fmt.Sprintf("len(A) = %d", len(s.A))}
	}
	open := make([]float64, len(s.A))
	for j := range open {
		open[j] = math.Inf(1)
	}
	if err := (Linear{A: s.A, B: open}).Validate(n); err != nil {
		return err
	}
	for j := range s.A {
		lo, hi := s.Lower[j], s.Upper[j]
		switch {
		case math.IsNaN(lo) || math.IsInf(lo, 1):
			return &ArgumentError{"Slabs", fmt.Sprintf("Lower[%d]", j), lo, "finite or -Inf"}
		case math.IsNaN(hi) || math.IsInf(hi, -1):
			return &ArgumentError{"Slabs", fmt.Sprintf("Upper[%d]", j), hi, "finite or +Inf"}
		case lo > hi:
			return infeasible("Slabs: row %d is %v ≤ … ≤ %v", j, lo, hi)
		}
	}
	return nil
}

// Len returns the number of rows. Each row gives one inequality g_j(v) ≤ 0.
func (s Slabs) Len() int { return len(s.A) }

// Value stores in g, for each row, the larger of its two violations (see [Slabs]). Sums are
// accumulated in float64, in the order of the row. Value panics if len(g) ≠ Len() or if an index
// lies outside v.
func (s Slabs) Value(g []float64, v []float32) {
	check.Len("constraint", "g", len(g), len(s.A))
	check.Len("constraint", "Upper", len(s.Upper), len(s.A))
	check.Len("constraint", "Lower", len(s.Lower), len(s.A))
	for j, r := range s.A {
		Linear{A: s.A, B: s.Upper}.checkRow(j, len(v))
		a := r.dot(v)
		g[j] = max(a-s.Upper[j], s.Lower[j]-a)
	}
}

// Pull adds to dst the gradient of Σ_j w_j·g_j at v, where g_j is the larger violation of row j
// (see [Slabs]). The gradient of g_j is A[j] for a violation of the upper bound, and −A[j] for one
// of the lower bound.
func (s Slabs) Pull(dst, v []float32, w []float64) {
	check.Len("constraint", "dst", len(dst), len(v))
	check.Len("constraint", "w", len(w), len(s.A))
	check.Len("constraint", "Upper", len(s.Upper), len(s.A))
	check.Len("constraint", "Lower", len(s.Lower), len(s.A))
	for j, r := range s.A {
		Linear{A: s.A, B: s.Upper}.checkRow(j, len(v))
		if w[j] == 0 {
			continue
		}
		x, a := w[j], r.dot(v)
		if s.Lower[j]-a > a-s.Upper[j] {
			x = -x
		}
		for k, i := range r.Index {
			dst[i] += float32(x * r.Value[k])
		}
	}
}
