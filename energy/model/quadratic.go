package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// Quadratic is the quadratic energy
//
//	E(x) = vᵀQv + bᵀv + c,  v_i = values[x_i]:
//
// a QUBO or Boltzmann machine with the values {0, 1}, an Ising model with
// {−1, 1}, and an integer or ordinal problem with others. Q need not be
// symmetric; only Q_ij + Q_ji matters. With integer parameters energies and
// differences are exact.
//
// It is [energy.Differentiable] with exact differences (the second-order term
// of the diagonal included, rounded to float32), [energy.Local] and
// [energy.Learnable]; through [energy.As] also [energy.Binary] if it has two
// levels, [energy.Incremental] if its matrix is dense besides, [energy.Graphical] if
// it was made from a sparse matrix, and [energy.Ordinal] and [energy.Windowed]
// unless its values are {0, 1} or {−1, 1}. A Quadratic is immutable and safe
// for concurrent use; its methods allocate nothing in steady state.
//
// The couplings Q_ij + Q_ji of a dense matrix with two levels are rounded once:
// to multiples of 2^(e−52), where 2^e is the power of two above the largest sum of
// their magnitudes in a row. Sums of couplings are then exact, in
// any order, so that energies and fields are functions of the state alone,
// however it was reached, and the same on every machine.
type Quadratic struct {
	couplings couplings
	fast      *forces   // of a dense matrix with two levels, else nil
	numbers   []float32 // what the levels stand for
	values    []float64 // the same
	square    []float64 // Q_ii
	linear    []float64 // b_i
	constant  float64
	learned   bool // its numbers may change
}

// Polynomial holds the parts of a [Quadratic] other than its matrix. The zero
// value is that of a QUBO.
type Polynomial struct {
	Linear   []float64 // b, one number per site; nil means 0
	Constant float64   // c
	Values   []float32 // of the levels, strictly ascending; nil means {0, 1}
}

// couplings is the symmetric matrix A = Q + Qᵀ without its diagonal.
type couplings interface {
	// halves returns Σ A_ij values[x_j] over j < i and over j > i.
	halves(i int, x []int32, values []float64) (lo, hi float64)

	// move adds A_ij·dv·(values[l] − values[0]) to d[j·levels+l], for every j
	// and l.
	move(d []float64, i int, dv float64, values []float64)
}

// NewQuadratic returns the model of n sites whose matrix Q has the given
// entries, zero elsewhere. Entries may be on the diagonal; entries at the same
// place, or at (i,j) and (j,i), add up.
//
// It returns an error if n < 1, if an entry lies outside the matrix, if a
// number is not finite, if p.Linear does not have one entry per site, if
// p.Values are not strictly ascending, or if energies would overflow.
func NewQuadratic(n int, q []Edge, p Polynomial) (*Quadratic, error) {
	if n < 1 {
		return nil, fmt.Errorf("model: NewQuadratic: n = %d, want ≥ 1", n)
	}
	if err := check.Entries("model: NewQuadratic", "n", n); err != nil {
		return nil, err
	}
	square := make([]float64, n)
	var edges []Edge
	for k, e := range q {
		switch {
		case e.I < 0 || e.I >= n || e.J < 0 || e.J >= n:
			return nil, fmt.Errorf("model: NewQuadratic: q[%d] is at (%d, %d), want 0 … %d", k, e.I, e.J, n-1)
		case !check.Finite(e.W):
			return nil, fmt.Errorf("model: NewQuadratic: q[%d].W = %v, want a finite number", k, e.W)
		case e.I == e.J:
			square[e.I] += e.W
		default:
			edges = append(edges, e)
		}
	}
	g, err := NewGraph(n, edges)
	if err != nil {
		return nil, err
	}
	sum := 0.0
	for _, w := range g.weight {
		sum += math.Abs(w)
	}
	return newQuadratic("NewQuadratic", sparse{g}, sum, square, p)
}

// NewDenseQuadratic returns the model of n sites with the matrix q, n×n
// row-major, which it copies. It returns an error if len(q) ≠ n², and under
// the conditions of [NewQuadratic].
func NewDenseQuadratic(n int, q []float64, p Polynomial) (*Quadratic, error) {
	if n < 1 || len(q)/n != n || len(q)%n != 0 {
		return nil, fmt.Errorf("model: NewDenseQuadratic: n = %d and len(q) = %d, want n ≥ 1 and len(q) = n²", n, len(q))
	}
	square, a := make([]float64, n), make([]float64, n*n)
	sum := 0.0
	for i := range n {
		for j := range n {
			w := q[i*n+j]
			if !check.Finite(w) {
				return nil, fmt.Errorf("model: NewDenseQuadratic: q[%d] = %v, want a finite number", i*n+j, w)
			}
			if i == j {
				square[i] = w
				continue
			}
			a[i*n+j] = w + q[j*n+i]
			sum += math.Abs(a[i*n+j])
		}
	}
	return newQuadratic("NewDenseQuadratic", newDense(a, n), sum, square, p)
}

// newQuadratic checks p and puts the model together; sum is Σ |A_ij|.
func newQuadratic(caller string, a couplings, sum float64, square []float64, p Polynomial) (*Quadratic, error) {
	n := len(square)
	m := &Quadratic{couplings: a, square: square, constant: p.Constant}
	if p.Linear == nil {
		m.linear = make([]float64, n)
	} else {
		m.linear = slices.Clone(p.Linear)
	}
	if len(m.linear) != n {
		return nil, fmt.Errorf("model: %s: len(Linear) = %d, want %d", caller, len(m.linear), n)
	}
	if !check.Finite(p.Constant) {
		return nil, fmt.Errorf("model: %s: Constant = %v, want a finite number", caller, p.Constant)
	}
	m.numbers = []float32{0, 1}
	if p.Values != nil {
		m.numbers = slices.Clone(p.Values)
	}
	if len(m.numbers) == 0 {
		return nil, fmt.Errorf("model: %s: len(Values) = 0, want ≥ 1", caller)
	}
	largest := 0.0
	for l, v := range m.numbers {
		if !check.Finite(float64(v)) {
			return nil, fmt.Errorf("model: %s: Values[%d] = %v, want a finite number", caller, l, v)
		}
		if l > 0 && v <= m.numbers[l-1] {
			return nil, fmt.Errorf("model: %s: Values[%d] = %v, want more than Values[%d] = %v", caller, l, v, l-1, m.numbers[l-1])
		}
		m.values = append(m.values, float64(v))
		largest = max(largest, math.Abs(float64(v)))
	}
	for i, b := range m.linear {
		if !check.Finite(b) {
			return nil, fmt.Errorf("model: %s: Linear[%d] = %v, want a finite number", caller, i, b)
		}
		sum += math.Abs(square[i])
	}
	bound := float64(largest * largest * sum)
	for _, b := range m.linear {
		bound += float64(largest * math.Abs(b))
	}
	// A difference of energies is at most twice the bound.
	if !check.Finite(4*sum) || !check.Finite(4*(bound+math.Abs(p.Constant))) {
		return nil, fmt.Errorf("model: %s: the parameters add up to more than %v, energies would overflow", caller, math.MaxFloat64/4)
	}
	if d, ok := a.(dense); ok && len(m.values) == 2 {
		m.fast = newForces(d)
	}
	return m, nil
}

// Shape returns the number of sites and of values.
func (m *Quadratic) Shape() (sites, levels int) { return len(m.linear), len(m.values) }

// Energy implements [energy.Model].
func (m *Quadratic) Energy(e []float64, x []int32) {
	defer check.States("model", x, len(m.values))
	n := len(m.linear)
	check.Len("model", "e", len(e), check.Rows("model", "x", len(x), n))
	if m.fast != nil {
		m.evaluate(e, nil, nil, x, nil, nil)
		return
	}
	for s := range e {
		state, sum := x[s*n:(s+1)*n], m.constant
		for i, l := range state {
			_, hi := m.couplings.halves(i, state, m.values)
			sum += m.share(i, l, hi)
		}
		e[s] = sum
	}
}

// Gradient implements [energy.Differentiable] with exact differences.
func (m *Quadratic) Gradient(e []float64, g []float32, x []int32) {
	defer check.States("model", x, len(m.values))
	levels := len(m.values)
	check.Len("model", "e", len(e), check.Rows("model", "x", len(x), len(m.linear)))
	check.Len("model", "g", len(g), len(x)*levels)
	if m.fast != nil {
		m.evaluate(e, g[len(x):], nil, x, nil, nil)
		expandField(g, x)
		return
	}
	m.each(e, x, func(at, i int, f float64) {
		row := g[at*levels : (at+1)*levels]
		for l := range row {
			row[l] = float32(m.difference(i, int(x[at]), l, f))
		}
	})
}

// Conditional implements [energy.Conditional].
func (m *Quadratic) Conditional(d []float64, site int, x []int32) {
	check.Index("model", "site", site, len(x))
	defer check.States("model", x, len(m.values))
	check.Len("model", "d", len(d), len(m.values))
	check.Len("model", "x", len(x), len(m.linear))
	lo, hi := m.couplings.halves(site, x, m.values)
	for l := range d {
		d[l] = m.difference(site, int(x[site]), l, lo+hi)
	}
}

// Locals implements [energy.Local].
func (m *Quadratic) Locals(d []float64, x []int32) {
	defer check.States("model", x, len(m.values))
	levels := len(m.values)
	check.Len("model", "x", len(x), len(m.linear))
	check.Len("model", "d", len(d), len(x)*levels)
	if m.fast != nil {
		m.fastLocals(d, x)
		return
	}
	for i := range x {
		lo, hi := m.couplings.halves(i, x, m.values)
		for l := range levels {
			d[i*levels+l] = m.difference(i, 0, l, lo+hi)
		}
	}
}

// Move implements [energy.Local]. The differences are running sums: over many moves
// rounding may add up to a few units in the last place, except with integer
// parameters, where they stay exact.
func (m *Quadratic) Move(d []float64, site int, to int32, x []int32) {
	check.Index("model", "to", int(to), len(m.values))
	check.Index("model", "site", site, len(x))
	defer check.States("model", x, len(m.values))
	check.Len("model", "x", len(x), len(m.linear))
	check.Len("model", "d", len(d), len(x)*len(m.values))
	if dv := m.values[to] - m.values[x[site]]; dv != 0 {
		m.couplings.move(d, site, dv, m.values)
	}
}

// ordinal reports whether the values are other than {0, 1} and {−1, 1}.
func (m *Quadratic) ordinal() bool {
	return !slices.Equal(m.numbers, []float32{0, 1}) && !slices.Equal(m.numbers, []float32{-1, 1})
}

// each stores the energies in e and calls f for every site of every state with
// its place in x and the sum f = Σ_j A_ij v_j over the other sites.
func (m *Quadratic) each(e []float64, x []int32, f func(at, i int, f float64)) {
	n := len(m.linear)
	check.Len("model", "e", len(e), check.Rows("model", "x", len(x), n))
	for s := range e {
		state, sum := x[s*n:(s+1)*n], m.constant
		for i, l := range state {
			lo, hi := m.couplings.halves(i, state, m.values)
			sum += m.share(i, l, hi)
			f(s*n+i, i, lo+hi)
		}
		e[s] = sum
	}
}

// share returns what site i adds to the energy, given hi = Σ_{j>i} A_ij v_j.
func (m *Quadratic) share(i int, l int32, hi float64) float64 {
	v := m.values[l]
	return float64(v * (float64(m.square[i]*v) + m.linear[i] + hi))
}

// difference returns E(x_i = to) − E(x_i = from), given f = Σ_{j≠i} A_ij v_j.
func (m *Quadratic) difference(i, from, to int, f float64) float64 {
	v, w := m.values[from], m.values[to]
	return (w - v) * (float64(m.square[i]*(w+v)) + m.linear[i] + f)
}

// evaluate stores the energies of y in e and, unless they are nil, fields in h
// and caches in next. It begins from the states x with the given caches or, if x
// is nil, from the state 0.
func (m *Quadratic) evaluate(e []float64, h []float32, next []float64, y []int32, cache []float64, x []int32) {
	n, stride := len(m.linear), len(m.fast.panels.origin)
	sums := scratch.Float64s.Get(tile * stride)
	defer scratch.Float64s.Put(sums)
	values := [2]float64{m.values[0], m.values[1]}
	v0, v1 := values[0], values[1]
	step, both := v1-v0, v1+v0
	for s := 0; s < len(e); s += tile {
		k := min(len(e)-s, tile)
		at, to := s*n, (s+k)*n
		now, before, from := (*sums)[:k*stride], []int32(nil), []float64(nil)
		if next != nil {
			now = next[s*stride : (s+k)*stride]
		}
		if x != nil {
			before, from = x[at:to], cache[s*stride:(s+k)*stride]
		}
		m.fast.panels.activate(now, nil, y[at:to], from, before)
		for k := range k {
			state := y[at+k*n : at+(k+1)*n]
			a := now[k*stride : k*stride+n][:len(state)]
			total, square, linear := m.fast.total[:len(state)], m.square[:len(state)], m.linear[:len(state)]
			sum := m.constant
			if h == nil {
				for i, l := range state {
					f := float64(v0*total[i]) + float64(step*a[i])
					v := values[l&1]
					sum += float64(v * (float64(square[i]*v) + linear[i] + float64(f/2)))
				}
				e[s+k] = sum
				continue
			}
			// Fields fill the time that each term of the energy waits for the one
			// before it.
			h := h[at+k*n : at+(k+1)*n][:len(state)]
			for i, l := range state {
				f := float64(v0*total[i]) + float64(step*a[i])
				v := values[l&1]
				sum += float64(v * (float64(square[i]*v) + linear[i] + float64(f/2)))
				h[i] = float32(step * (float64(square[i]*both) + linear[i] + f))
			}
			e[s+k] = sum
		}
	}
}

// fastLocals is Locals of one state.
func (m *Quadratic) fastLocals(d []float64, x []int32) {
	n := len(m.linear)
	sums := scratch.Float64s.Get(len(m.fast.panels.origin))
	defer scratch.Float64s.Put(sums)
	m.fast.panels.activate(*sums, nil, x, nil, nil)
	step := m.values[1] - m.values[0]
	for i, a := range (*sums)[:n] {
		d[2*i], d[2*i+1] = 0, m.difference(i, 0, 1, float64(m.values[0]*m.fast.total[i])+float64(step*a))
	}
}
