package continuous

import (
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Quadratic is the energy E(x) = ½xᵀAx + bᵀx + c with A symmetric; if A is
// positive definite its distribution is the Gaussian N(−A⁻¹b, A⁻¹). It is
// immutable and safe for concurrent use.
type Quadratic struct {
	a, b []float64
	c    float64
}

var _ energy.Scored = (*Quadratic)(nil)

// NewQuadratic returns the energy with copies of A (n × n, row-major) and b
// (n; nil means zeros). It returns an error unless A is square, symmetric to
// the bit and everything is finite.
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

// Energy implements [energy.Real].
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

// Score implements [energy.Scored].
func (m *Quadratic) Score(s, x []float32) {
	n := len(m.b)
	check.Len("continuous", "s", len(s), len(x))
	check.Rows("continuous", "x", len(x), n)
	for at := range s {
		state := x[at/n*n : at/n*n+n]
		s[at] = float32(0 - (m.b[at%n] + m.product(at%n, state)))
	}
}

// product returns entry i of Ax.
func (m *Quadratic) product(i int, x []float32) float64 {
	sum := 0.0
	for j, a := range m.a[i*len(x) : (i+1)*len(x)] {
		sum += float64(a * float64(x[j]))
	}
	return sum
}
