package continuous

import (
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Linear is the energy E(x) = wᵀx + c. By itself it has no normalisable
// density; it is a term of others, for instance a constraint. It is immutable and
// safe for concurrent use.
type Linear struct {
	w []float64
	c float64
}

var _ energy.Scored = (*Linear)(nil)

// NewLinear returns the energy wᵀx + c with a copy of w. It returns an error
// if w is empty or a number is not finite.
func NewLinear(w []float64, c float64) (*Linear, error) {
	if len(w) == 0 {
		return nil, fmt.Errorf("continuous: NewLinear: len(w) = 0, want ≥ 1")
	}
	if err := checkFinite("NewLinear", "w", w); err != nil {
		return nil, err
	}
	if !check.Finite(c) {
		return nil, fmt.Errorf("continuous: NewLinear: c = %v, want a finite number", c)
	}
	return &Linear{slices.Clone(w), c}, nil
}

// Sites returns len(w).
func (m *Linear) Sites() int { return len(m.w) }

// Slope returns w. The slice is the model's own.
func (m *Linear) Slope() []float64 { return m.w }

// Energy implements [energy.Real].
func (m *Linear) Energy(e []float64, x []float32) {
	n := len(m.w)
	check.Len("continuous", "x", len(x), len(e)*n)
	for s := range e {
		e[s] = m.c + simd.Inner(m.w, x[s*n:(s+1)*n])
	}
}

// Score implements [energy.Scored].
func (m *Linear) Score(s, x []float32) {
	check.Len("continuous", "s", len(s), len(x))
	check.Rows("continuous", "x", len(x), len(m.w))
	for ; len(s) > 0; s = s[len(m.w):] {
		for i, w := range m.w {
			s[i] = float32(0 - w)
		}
	}
}
