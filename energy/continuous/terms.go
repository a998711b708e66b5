package continuous

import (
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Quadratic is the energy E(x) = ½xᵀAx + bᵀx + c with a symmetric matrix A. If A is positive
// definite, it is the energy of the Gaussian N(−A⁻¹b, A⁻¹). A Quadratic is immutable and safe for
// concurrent use.
type Quadratic struct {
	a, b []float64
	c    float64
}

var _ energy.Scored = (*Quadratic)(nil)

// NewQuadratic returns the energy ½xᵀAx + bᵀx + c with copies of A (n × n, row-major) and b (n
// entries; nil means zeros). It returns an error if A is not square or not exactly symmetric, the
// length of b does not fit, or a number is not finite.
func NewQuadratic(a, b []float64, c float64) (*Quadratic, error) {
	n := 1
	for n*n < len(a) {
		n++
	}
	if len(a) == 0 || n*n != len(a) {
		return nil, fmt.Errorf("continuous: NewQuadratic: len(a) = %d, want a positive square", len(a))
	}
	if b == nil {
		b = make([]float64, n)
	}
	if len(b) != n {
		return nil, fmt.Errorf("continuous: NewQuadratic: len(b) = %d, want %d", len(b), n)
	}
	if err := checkFinite("NewQuadratic", "a", a); err != nil {
		return nil, err
	}
	if err := checkFinite("NewQuadratic", "b", b); err != nil {
		return nil, err
	}
	if !check.Finite(c) {
		return nil, fmt.Errorf("continuous: NewQuadratic: c = %v, want a finite number", c)
	}
	for i := range n {
		for j := range i {
			if a[i*n+j] != a[j*n+i] {
				return nil, fmt.Errorf("continuous: NewQuadratic: a[%d,%d] = %v, want %v as a[%d,%d]", i, j, a[i*n+j], a[j*n+i], j, i)
			}
		}
	}
	return &Quadratic{slices.Clone(a), slices.Clone(b), c}, nil
}

// Sites returns the number of coordinates.
func (m *Quadratic) Sites() int { return len(m.b) }

// Energy stores in e the energy ½xᵀAx + bᵀx + c of every state of x. It implements [energy.Real].
func (m *Quadratic) Energy(e []float64, x []float32) {
	n := len(m.b)
	check.Len("continuous", "x", len(x), len(e)*n)
	for s := range e {
		state := x[s*n : (s+1)*n]
		sum := m.c
		for i, v := range state {
			sum += float64(float64(v) * (m.b[i] + float64(0.5*m.product(i, state))))
		}
		e[s] = sum
	}
}

// Score stores in s the score −Ax − b of every state of x; it implements [energy.Scored].
func (m *Quadratic) Score(s, x []float32) {
	n := len(m.b)
	check.Len("continuous", "s", len(s), len(x))
	check.Rows("continuous", "x", len(x), n)
	for at := range s {
		state := x[at/n*n : at/n*n+n]
		s[at] = float32(0 - (m.b[at%n] + m.product(at%n, state)))
	}
}

// product returns entry i of the product Ax.
func (m *Quadratic) product(i int, x []float32) float64 {
	sum := 0.0
	for j, a := range m.a[i*len(x) : (i+1)*len(x)] {
		sum += float64(a * float64(x[j]))
	}
	return sum
}

// Linear is the energy E(x) = wᵀx + c. It is not the energy of a distribution, because exp(−E) has
// no finite integral. It serves as a term of other energies, for instance as a constraint. It is
// immutable and safe for concurrent use.
type Linear struct {
	w []float64
	c float64
}

var _ energy.Scored = (*Linear)(nil)

// NewLinear returns the energy wᵀx + c with a copy of w. It returns an error if w is empty or a
// number is not finite.
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

// Sites returns the number of coordinates.
func (m *Linear) Sites() int { return len(m.w) }

// Slope returns the coefficients w. The slice is shared with the model; do not modify it.
func (m *Linear) Slope() []float64 { return m.w }

// Energy stores in e the energy wᵀx + c of every state of x; it implements [energy.Real].
func (m *Linear) Energy(e []float64, x []float32) {
	n := len(m.w)
	check.Len("continuous", "x", len(x), len(e)*n)
	for s := range e {
		e[s] = m.c + simd.Inner(m.w, x[s*n:(s+1)*n])
	}
}

// Score stores in s the score −w of every state of x; it implements [energy.Scored].
func (m *Linear) Score(s, x []float32) {
	check.Len("continuous", "s", len(s), len(x))
	check.Rows("continuous", "x", len(x), len(m.w))
	for ; len(s) > 0; s = s[len(m.w):] {
		for i, w := range m.w {
			s[i] = float32(0 - w)
		}
	}
}

// checkFinite returns an error unless all entries of v are finite.
func checkFinite(caller, name string, v []float64) error {
	for i, f := range v {
		if !check.Finite(f) {
			return fmt.Errorf("continuous: %s: %s[%d] = %v, want a finite number", caller, name, i, f)
		}
	}
	return nil
}
