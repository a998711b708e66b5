package energy

import (
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Real is an unnormalised log-density over real numbers, p(x) ∝ exp(−E(x)),
// x ∈ ℝ^sites.
//
// The law of E: as for [Model], +Inf is density zero and NaN is failure.
// Implementations must be safe for concurrent use.
type Real interface {
	// Sites returns the number of coordinates, ≥ 1.
	Sites() int

	// Energy stores in e[s] the energy in nats of the state
	// x[s·sites : (s+1)·sites], for every s. It panics unless
	// len(x) = len(e)·sites.
	Energy(e []float64, x []float32)
}

// Scored is a Real with a derivative.
type Scored interface {
	Real

	// Score stores −∇E in s, for every state of x; len(s) = len(x). The rows
	// are functions of their own state alone.
	Score(s, x []float32)
}

// RealFunc is a real-valued model given by functions of one state; a struct
// literal is ready for use. E is as for [Func], with reals; Grad stores ∇E(x)
// in g and may be left out by users that need no score. Both must be safe for
// concurrent calls and must not modify or keep x. Methods panic if Dim < 1 or
// the function they call is nil.
type RealFunc struct {
	Dim  int
	E    func(x []float32) float64
	Grad func(g, x []float32)
}

// Sites returns Dim.
func (f RealFunc) Sites() int { return f.Dim }

// Energy implements [Real].
func (f RealFunc) Energy(e []float64, x []float32) {
	checkReal(len(e), f.Dim, x)
	for s := range e {
		e[s] = f.E(x[s*f.Dim : (s+1)*f.Dim])
	}
}

// Score implements [Scored].
func (f RealFunc) Score(s, x []float32) {
	check.Len("energy", "s", len(s), len(x))
	checkReal(len(x)/max(f.Dim, 1), f.Dim, x)
	for at := 0; at < len(x); at += f.Dim {
		f.Grad(s[at:at+f.Dim], x[at:at+f.Dim])
	}
	for i, v := range s {
		s[i] = 0 - v
	}
}

// RealLinear is the energy E(x) = wᵀx + c. By itself it has no normalisable
// law; it is a term of others, for instance a constraint. It is immutable and
// safe for concurrent use.
type RealLinear struct {
	w []float64
	c float64
}

// NewRealLinear returns the energy wᵀx + c with a copy of w. It returns an error
// if w is empty or a number is not finite.
func NewRealLinear(w []float64, c float64) (*RealLinear, error) {
	if len(w) == 0 {
		return nil, fmt.Errorf("energy: NewRealLinear: len(w) = 0, want ≥ 1")
	}
	if err := checkFinite("NewRealLinear", "w", w); err != nil {
		return nil, err
	}
	if !check.Finite(c) {
		return nil, fmt.Errorf("energy: NewRealLinear: c = %v, want a finite number", c)
	}
	return &RealLinear{slices.Clone(w), c}, nil
}

// Sites returns len(w).
func (m *RealLinear) Sites() int { return len(m.w) }

// Slope returns w. The slice is the model's own.
func (m *RealLinear) Slope() []float64 { return m.w }

// Energy implements [Real].
func (m *RealLinear) Energy(e []float64, x []float32) {
	n := len(m.w)
	checkReal(len(e), n, x)
	for s := range e {
		sum := m.c
		for i, v := range x[s*n : (s+1)*n] {
			sum += float64(m.w[i] * float64(v))
		}
		e[s] = sum
	}
}

// Score implements [Scored].
func (m *RealLinear) Score(s, x []float32) {
	check.Len("energy", "s", len(s), len(x))
	checkReal(len(x)/len(m.w), len(m.w), x)
	for i := range s {
		s[i] = float32(0 - m.w[i%len(m.w)])
	}
}

// RealQuadratic is the energy E(x) = ½xᵀAx + bᵀx + c with A symmetric; if A is
// positive definite its law is the Gaussian N(−A⁻¹b, A⁻¹). It is immutable and
// safe for concurrent use.
type RealQuadratic struct {
	a, b []float64
	c    float64
}

// NewRealQuadratic returns the energy with copies of A (n × n, row-major) and b
// (n; nil means zeros). It returns an error unless A is square, symmetric to
// the bit and everything is finite.
func NewRealQuadratic(a, b []float64, c float64) (*RealQuadratic, error) {
	n := 1
	for n*n < len(a) {
		n++
	}
	if len(a) == 0 || n*n != len(a) {
		return nil, fmt.Errorf("energy: NewRealQuadratic: len(a) = %d, want a positive square", len(a))
	}
	if b == nil {
		b = make([]float64, n)
	}
	if len(b) != n {
		return nil, fmt.Errorf("energy: NewRealQuadratic: len(b) = %d, want %d", len(b), n)
	}
	if err := checkFinite("NewRealQuadratic", "a", a); err != nil {
		return nil, err
	}
	if err := checkFinite("NewRealQuadratic", "b", b); err != nil {
		return nil, err
	}
	if !check.Finite(c) {
		return nil, fmt.Errorf("energy: NewRealQuadratic: c = %v, want a finite number", c)
	}
	for i := range n {
		for j := range i {
			if a[i*n+j] != a[j*n+i] {
				return nil, fmt.Errorf("energy: NewRealQuadratic: a[%d,%d] = %v, want %v as a[%d,%d]", i, j, a[i*n+j], a[j*n+i], j, i)
			}
		}
	}
	return &RealQuadratic{slices.Clone(a), slices.Clone(b), c}, nil
}

// Sites returns the number of coordinates.
func (m *RealQuadratic) Sites() int { return len(m.b) }

// Energy implements [Real].
func (m *RealQuadratic) Energy(e []float64, x []float32) {
	n := len(m.b)
	checkReal(len(e), n, x)
	for s := range e {
		state := x[s*n : (s+1)*n]
		sum := m.c
		for i, v := range state {
			sum += float64(float64(v) * (m.b[i] + float64(0.5*m.product(i, state))))
		}
		e[s] = sum
	}
}

// Score implements [Scored].
func (m *RealQuadratic) Score(s, x []float32) {
	n := len(m.b)
	check.Len("energy", "s", len(s), len(x))
	checkReal(len(x)/n, n, x)
	for at := range s {
		state := x[at/n*n : at/n*n+n]
		s[at] = float32(0 - (m.b[at%n] + m.product(at%n, state)))
	}
}

// product returns entry i of Ax.
func (m *RealQuadratic) product(i int, x []float32) float64 {
	sum := 0.0
	for j, a := range m.a[i*len(x) : (i+1)*len(x)] {
		sum += float64(a * float64(x[j]))
	}
	return sum
}

// checkReal panics unless x holds states rows of sites entries.
func checkReal(states, sites int, x []float32) {
	if sites < 1 || len(x) != states*sites {
		panic(fmt.Sprintf("energy: len(x) = %d, want %d states of %d ≥ 1", len(x), states, sites))
	}
}

// checkFinite returns an error unless all of v is finite.
func checkFinite(caller, name string, v []float64) error {
	for i, f := range v {
		if !check.Finite(f) {
			return fmt.Errorf("energy: %s: %s[%d] = %v, want a finite number", caller, name, i, f)
		}
	}
	return nil
}
