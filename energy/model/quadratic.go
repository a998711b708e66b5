package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// Quadratic is the quadratic energy
//
//	E(x) = vᵀQv + bᵀv + c,  v_i = values[x_i],
//
// with a matrix Q, linear terms b, a constant c, and the numeric values of the levels. With the
// values {0, 1} it is a QUBO or Boltzmann machine, and with {−1, 1} an Ising model. Only Q_ij +
// Q_ji matters. If the parameters are integers, energies and differences are exact.
//
// Quadratic is [energy.Differentiable] with exact differences (rounded to float32), [energy.Local],
// [energy.Factored] and [energy.Learnable]. Through [energy.As] it is also
//
//   - [energy.Binary] and [energy.Pairwise] if it has two levels, and [energy.Incremental] if its
//     matrix is also dense;
//   - [energy.Graphical] if it was made from a sparse matrix;
//   - [energy.Ordinal] and [energy.Windowed] unless its values are {0, 1} or {−1, 1}.
//
// A Quadratic is immutable and safe for concurrent use. After the first calls, its methods allocate
// nothing.
//
// With two levels and a dense matrix, energies and fields are the same on every machine. For this,
// the couplings Q_ij + Q_ji are rounded once, to multiples of one unit. This unit is about 2⁻⁵²
// times the largest row sum of their magnitudes.
type Quadratic struct {
	couplings couplings
	// Couplings for fast updates of a dense matrix with two levels; otherwise nil.
	fast     *forces
	numbers  []float32 // value of each level
	values   []float64 // value of each level, as float64
	square   []float64 // diagonal Q_ii
	linear   []float64 // linear terms b_i
	constant float64
	learned  bool // whether the parameters may change
}

// Polynomial holds the parameters of a [Quadratic] other than its matrix. With the zero value, the
// levels have the values {0, 1}, as in a QUBO.
type Polynomial struct {
	Linear   []float64 // linear terms b, one number per site; nil means 0
	Constant float64   // constant c
	Values   []float32 // numeric values of the levels, strictly ascending; nil means {0, 1}
}

// couplings is the symmetric matrix A = Q + Qᵀ without its diagonal.
type couplings interface {
	// halves returns Σ A_ij values[x_j] over j < i as lo, and over j > i as hi.
	halves(i int, x []int32, values []float64) (lo, hi float64)

	// move adds A_ij·dv·(values[l] − values[0]) to d[j·levels+l], for every j
	// and l.
	move(d []float64, i int, dv float64, values []float64)
}

// NewQuadratic returns the model of n sites whose sparse matrix Q has the given entries. Entries
// may be on the diagonal. Entries at the same place, or at (i,j) and (j,i), are added. The argument
// p holds the linear terms, the constant and the numeric values of the levels.
//
// NewQuadratic returns an error in these cases:
//
//   - n < 1, or an entry lies outside the matrix;
//   - a number is not finite, or energies would overflow;
//   - p.Linear does not have one entry per site;
//   - p.Values are not strictly ascending.
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

// NewDenseQuadratic returns the model of n sites with the n × n matrix q, row-major. It copies q.
// The argument p holds the linear terms, the constant and the numeric values of the levels.
// NewDenseQuadratic returns an error if len(q) ≠ n², and in the same cases as [NewQuadratic].
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

// newQuadratic checks p and returns the model with the couplings a and the diagonal square. sum is
// Σ |A_ij| over all entries of a.
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

// Shape returns the number of sites and the number of levels.
func (m *Quadratic) Shape() (sites, levels int) { return len(m.linear), len(m.values) }

// Energy stores in e the energies of the states x; it implements [energy.Model].
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

// Gradient stores the energies in e. The slice g receives the exact energy differences of all
// single-site changes. It implements [energy.Differentiable].
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

// Conditional stores in d the exact energy at each level of one site, minus the energy of the state
// x. It implements [energy.Conditional].
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

// Locals stores in d the energy of every level relative to level 0 at every site. It implements
// [energy.Local].
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

// Move updates the table d that [Quadratic.Locals] stored, for one site that is about to change.
// The table holds running sums, so rounding errors may grow to a few units in the last place over
// many moves. With integer parameters the table stays exact. It implements [energy.Local].
func (m *Quadratic) Move(d []float64, site int, level int32, x []int32) {
	check.Index("model", "level", int(level), len(m.values))
	check.Index("model", "site", site, len(x))
	defer check.States("model", x, len(m.values))
	check.Len("model", "x", len(x), len(m.linear))
	check.Len("model", "d", len(d), len(x)*len(m.values))
	if dv := m.values[level] - m.values[x[site]]; dv != 0 {
		m.couplings.move(d, site, dv, m.values)
	}
}

// ordinal reports whether the values of the levels are neither {0, 1} nor {−1, 1}.
func (m *Quadratic) ordinal() bool {
	return !slices.Equal(m.numbers, []float32{0, 1}) && !slices.Equal(m.numbers, []float32{-1, 1})
}

// each stores the energies in e. It calls f for every site i of every state, with the index at of
// the site in x and the sum f = Σ_j A_ij v_j over the other sites.
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

// share returns the contribution of site i at level l to the energy, given hi = Σ_{j>i} A_ij v_j.
func (m *Quadratic) share(i int, l int32, hi float64) float64 {
	v := m.values[l]
	return float64(v * (float64(m.square[i]*v) + m.linear[i] + hi))
}

// difference returns E(x_i = to) − E(x_i = from), given f = Σ_{j≠i} A_ij v_j.
func (m *Quadratic) difference(i, from, to int, f float64) float64 {
	v, w := m.values[from], m.values[to]
	return (w - v) * (float64(m.square[i]*(w+v)) + m.linear[i] + f)
}

// evaluate stores the energies of y in e and, unless they are nil, fields in h and caches in next.
// It starts from the states x with the given caches or, if x is nil, from the state with all levels
// 0.
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
			// Each term of the energy waits for the previous one; computing fields fills that
			// time.
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

// fastLocals computes Locals with the fast couplings.
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

// sparse is a matrix of couplings in compressed rows.
type sparse struct{ graph *Graph }

func (a sparse) halves(i int, x []int32, values []float64) (lo, hi float64) {
	g := a.graph
	from, mid, to := g.start[i], g.upper[i], g.start[i+1]
	for k := from; k < mid; k++ {
		lo += float64(g.weight[k] * values[x[g.adj[k]]])
	}
	for k := mid; k < to; k++ {
		hi += float64(g.weight[k] * values[x[g.adj[k]]])
	}
	return lo, hi
}

func (a sparse) move(d []float64, i int, dv float64, values []float64) {
	adj, weight := a.graph.Neighbors(i)
	for k, j := range adj {
		shift(d[int(j)*len(values):], float64(weight[k]*dv), values)
	}
}

// dense is a matrix of couplings in full rows, with zeros on the diagonal.
type dense struct {
	rows  []float64
	sites int
}

// newDense returns the n×n matrix a as couplings. It keeps a reference to a.
func newDense(a []float64, n int) dense { return dense{a, n} }

func (a dense) halves(i int, x []int32, values []float64) (lo, hi float64) {
	row := a.rows[i*a.sites : (i+1)*a.sites]
	return weigh(row[:i], x, values), weigh(row[i+1:], x[i+1:], values)
}

func (a dense) move(d []float64, i int, dv float64, values []float64) {
	if len(values) == 2 {
		step := values[1] - values[0]
		for j, w := range a.rows[i*a.sites : (i+1)*a.sites] {
			d[2*j+1] += float64(float64(w*dv) * step)
		}
		return
	}
	for j, w := range a.rows[i*a.sites : (i+1)*a.sites] {
		shift(d[j*len(values):], float64(w*dv), values)
	}
}

// weigh returns Σ w_j values[x_j]. It computes four partial sums and adds them at the end, because
// a single sum would wait for the adder at every term.
func weigh(w []float64, x []int32, values []float64) float64 {
	x = x[:len(w)]
	var a, b, c, d float64
	for ; len(w) >= 4; w, x = w[4:], x[4:] {
		x := x[:4]
		a += float64(w[0] * values[x[0]])
		b += float64(w[1] * values[x[1]])
		c += float64(w[2] * values[x[2]])
		d += float64(w[3] * values[x[3]])
	}
	for j, v := range w {
		a += float64(v * values[x[j]])
	}
	return (a + b) + (c + d)
}

// shift adds c·(values[l] − values[0]) to row[l].
func shift(row []float64, c float64, values []float64) {
	for l := 1; l < len(values); l++ {
		row[l] += float64(c * (values[l] - values[0]))
	}
}

// As implements energy.Capable. The model is also [energy.Binary], [energy.Incremental],
// [energy.Pairwise], [energy.Ordinal], [energy.Windowed] or [energy.Graphical] if its values and
// its matrix allow this (see [Quadratic]).
func (m *Quadratic) As(target any) bool {
	if m.fast != nil && (energy.Give[energy.Binary](target, denseQuadratic{m}) || energy.Give[energy.Incremental](target, denseQuadratic{m})) {
		return true
	}
	if m.fast == nil && len(m.values) == 2 && energy.Give[energy.Binary](target, binaryQuadratic{m}) {
		return true
	}
	if len(m.values) == 2 && !m.learned && energy.Give[energy.Pairwise](target, pairwiseQuadratic{m}) {
		return true
	}
	if o := (ordinalQuadratic{m}); m.ordinal() && (energy.Give[energy.Ordinal](target, o) || energy.Give[energy.Windowed](target, o)) {
		return true
	}
	a, ok := m.couplings.(sparse)
	return ok && energy.Give[energy.Graphical](target, sparseQuadratic{m, a.graph})
}

// binaryQuadratic implements [energy.Binary] for a Quadratic with two levels.
type binaryQuadratic struct{ *Quadratic }

// Field stores the energies in e and the exact energy differences between levels 1 and 0 in h,
// rounded to float32. It implements [energy.Binary].
func (m binaryQuadratic) Field(e []float64, h []float32, x []int32) {
	check.Rows("model", "x", len(x), len(m.linear))
	check.Len("model", "h", len(h), len(x))
	m.each(e, x, func(at, i int, f float64) {
		h[at] = float32(m.difference(i, 0, 1, f))
	})
}

// pairwiseQuadratic implements [energy.Pairwise] for a Quadratic with two levels.
type pairwiseQuadratic struct{ *Quadratic }

// Pairs returns the energy as a quadratic function of the levels x_i ∈ {0, 1}. It returns a weight
// for each pair of sites that interact, and a field for each site. Every call converts a dense
// matrix to sparse rows. Pairs implements [energy.Pairwise].
func (m pairwiseQuadratic) Pairs() (start, adj []int32, weight, field []float64, ok bool) {
	step := m.values[1] - m.values[0]
	unit := float64(step * step)
	field = make([]float64, len(m.linear))
	zeros := make([]int32, len(m.linear))
	for i := range field {
		lo, hi := m.couplings.halves(i, zeros, m.values)
		field[i] = m.difference(i, 0, 1, lo+hi)
	}
	if a, is := m.couplings.(sparse); is {
		start, adj, weight = a.graph.start, a.graph.adj, slices.Clone(a.graph.weight)
	} else if start, adj, weight, ok = denseRows(m.couplings.(dense)); !ok {
		return nil, nil, nil, nil, false
	}
	for k := range weight {
		weight[k] = float64(weight[k] * unit)
	}
	return start, adj, weight, field, true
}

// Factors returns the energy as a sum of tables, one for each nonzero coupling and one for each
// site. The result ok is false if the parameters can change. It implements [energy.Factored].
func (m *Quadratic) Factors() (cards []int32, scopes [][]int32, tables [][]float64, ok bool) {
	if m.learned {
		return nil, nil, nil, false
	}
	levels := len(m.values)
	pair := func(w float64) []float64 {
		t := make([]float64, 0, levels*levels)
		for _, a := range m.values {
			for _, b := range m.values {
				t = append(t, float64(w*a)*b)
			}
		}
		return t
	}
	site := func(i int) []float64 {
		t := make([]float64, levels)
		for l, v := range m.values {
			t[l] = float64(float64(m.square[i]*v)*v) + float64(m.linear[i]*v)
		}
		return t
	}
	n := len(m.linear)
	switch a := m.couplings.(type) {
	case sparse:
		scopes, tables = a.graph.factors(pair, site)
	case dense:
		for i := range n {
			scopes, tables = append(scopes, []int32{int32(i)}), append(tables, site(i))
			for j := i + 1; j < n; j++ {
				if w := a.rows[i*n+j]; w != 0 {
					scopes, tables = append(scopes, []int32{int32(i), int32(j)}), append(tables, pair(w))
				}
			}
		}
	}
	scopes, tables = append(scopes, nil), append(tables, []float64{m.constant})
	return slices.Repeat([]int32{int32(levels)}, n), scopes, tables, true
}

// denseRows returns the nonzero entries of a in compressed rows. ok is false if there are too many
// for 32-bit indices.
func denseRows(a dense) (start, adj []int32, weight []float64, ok bool) {
	entries := 0
	for _, w := range a.rows {
		if w != 0 {
			entries++
		}
	}
	if entries > math.MaxInt32 {
		return nil, nil, nil, false
	}
	start = make([]int32, a.sites+1)
	adj, weight = make([]int32, 0, entries), make([]float64, 0, entries)
	for i := range a.sites {
		for j, w := range a.rows[i*a.sites : (i+1)*a.sites] {
			if w != 0 {
				adj, weight = append(adj, int32(j)), append(weight, w)
			}
		}
		start[i+1] = int32(len(adj))
	}
	return start, adj, weight, true
}

// ordinalQuadratic implements [energy.Ordinal] and [energy.Windowed] for a Quadratic.
type ordinalQuadratic struct{ *Quadratic }

// Values returns the numeric value of each level; it implements [energy.Ordinal].
func (m ordinalQuadratic) Values() []float32 { return m.numbers }

// Window stores the energies in e. It stores in g the exact energy differences for the levels at
// most w steps above or below the current level of each site. It implements [energy.Windowed].
func (m ordinalQuadratic) Window(e []float64, g []float32, x []int32, w int) {
	width := 2*w + 1
	check.Rows("model", "x", len(x), len(m.linear))
	check.Len("model", "g", len(g), len(x)*width)
	if m.fast != nil {
		m.fastWindow(e, g, x, w)
		return
	}
	m.each(e, x, func(at, i int, f float64) {
		row, here := g[at*width:(at+1)*width], int(x[at])
		for k := range row {
			if l := here + k - w; l >= 0 && l < len(m.values) {
				row[k] = float32(m.difference(i, here, l, f))
			} else {
				row[k] = float32(math.Inf(1))
			}
		}
	})
}

// fastWindow computes Window for two levels by copying entries of their table, so that energies and
// differences are bit-identical to those of Gradient.
func (m ordinalQuadratic) fastWindow(e []float64, g []float32, x []int32, w int) {
	table := scratch.Float32s.Get(2 * len(x))
	defer scratch.Float32s.Put(table)
	m.Gradient(e, *table, x)
	width := 2*w + 1
	for at, from := range x {
		for k := range width {
			if l := int(from) + k - w; l == 0 || l == 1 {
				g[at*width+k] = (*table)[2*at+l]
			} else {
				g[at*width+k] = float32(math.Inf(1))
			}
		}
	}
}

// sparseQuadratic implements [energy.Graphical] for a Quadratic with a sparse matrix.
type sparseQuadratic struct {
	*Quadratic
	graph *Graph
}

// Graph returns the neighbours of each site; it implements [energy.Graphical].
func (m sparseQuadratic) Graph() (start, adj []int32) { return m.graph.start, m.graph.adj }

// denseQuadratic implements [energy.Binary] and [energy.Incremental] for a Quadratic with dense
// couplings and two levels.
type denseQuadratic struct{ *Quadratic }

// Field stores the energies in e and the exact energy differences between levels 1 and 0 in h,
// rounded to float32. It implements [energy.Binary].
func (m denseQuadratic) Field(e []float64, h []float32, x []int32) {
	check.Len("model", "e", len(e), check.Rows("model", "x", len(x), len(m.linear)))
	check.Len("model", "h", len(h), len(x))
	m.evaluate(e, h, nil, x, nil, nil)
}

// CacheLen returns the number of float64s cached per state: one sum of couplings for each site, and
// padding. It implements [energy.Incremental].
func (m denseQuadratic) CacheLen() int { return len(m.fast.panels.origin) }

// FieldFrom stores in e the energies and in h the fields of the states y. It reads from cache the
// sums of couplings for the earlier states x. Each site that differs between x and y costs one pass
// over its couplings. It implements [energy.Incremental].
func (m denseQuadratic) FieldFrom(e []float64, h []float32, newCache []float64, y []int32, cache []float64, x []int32) {
	rows := check.Rows("model", "y", len(y), len(m.linear))
	check.Len("model", "e", len(e), rows)
	check.Len("model", "h", len(h), len(y))
	check.Len("model", "newCache", len(newCache), rows*m.CacheLen())
	if x != nil {
		check.Len("model", "x", len(x), len(y))
		check.Len("model", "cache", len(cache), len(newCache))
	}
	m.evaluate(e, h, newCache, y, cache, x)
}

// forces computes F_i = Σ_j A_ij v_j for dense couplings of two levels. It stores the contribution
// of each site to all F_i when its level is 1:
//
//	F_i = v_0·Σ_j A_ij + (v_1 − v_0)·a_i,  a_i = Σ_{j: x_j=1} A_ij,
//
// where v_0 and v_1 are the values of the levels.
type forces struct {
	panels panels    // updates the sums a_i
	total  []float64 // row sums Σ_j A_ij
}

// smallestGrid is the smallest spacing of the grid to which couplings are rounded. It is a normal
// number.
const smallestGrid = 0x1p-1000

// newForces returns the forces of the couplings a, whose entries it rounds to a grid.
func newForces(a dense) *forces {
	f := &forces{panels: newPanels(a.sites, a.sites), total: make([]float64, a.sites)}
	f.panels.wide = make([]float64, a.sites*len(f.panels.origin))
	f.set(a)
	return f
}

// set stores the couplings a, whose entries it rounds to the grid.
func (f *forces) set(a dense) {
	n, most := a.sites, 0.0
	for i := range n {
		sum := 0.0
		for _, w := range a.rows[i*n : (i+1)*n] {
			sum += math.Abs(w)
		}
		most = max(most, sum)
	}
	_, e := math.Frexp(most)
	grid := max(math.Ldexp(1, e-52), smallestGrid)
	for i := range n {
		for j, w := range a.rows[i*n : i*n+i] {
			w = float64(math.RoundToEven(w/grid) * grid)
			a.rows[i*n+j], a.rows[j*n+i] = w, w
			f.panels.wide[f.panels.at(i, j)], f.panels.wide[f.panels.at(j, i)] = w, w
		}
	}
	for i := range n {
		sum := 0.0
		for _, w := range a.rows[i*n : (i+1)*n] {
			sum += w
		}
		f.total[i] = sum
	}
}

// expandField expands the field of two-level states to their table of differences, in place: on
// entry g[len(x)+i] is h_i, on return g[2i+l] = (l − x_i)·h_i.
func expandField(g []float32, x []int32) {
	h := g[len(x):]
	// Row i is written at 2i and 2i+1 ≤ len(x)+i; those entries have already been read.
	for i, v := range x {
		d := h[i]
		if v == 0 {
			g[2*i], g[2*i+1] = 0, d
		} else {
			g[2*i], g[2*i+1] = -d, 0
		}
	}
}
