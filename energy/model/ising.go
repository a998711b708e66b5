package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Ising is the Ising model
//
//	E(s) = −J Σ_{edges ij} w_ij s_i s_j − Σ_i h_i s_i,  s_i = 2x_i − 1 ∈ {−1, 1},
//
// with the coupling J, edge weights w_ij, fields h_i, and levels x_i. Each edge is counted once, so
// −a sᵀWs with a symmetric matrix W has the coupling J = 2a. If weights, fields and coupling are
// integers, energies and differences are exact.
//
// Ising is [energy.Differentiable] and [energy.Binary] with exact differences (rounded to float32),
// [energy.Local], [energy.Matching], [energy.Pairwise], [energy.Toroidal], [energy.Factored] and
// [energy.Learnable]. Tables of energy differences are fastest on a two-dimensional [Lattice] with
// sides ≥ 3 and a uniform field. An Ising is immutable and safe for concurrent use. After the first
// calls, its methods allocate nothing.
type Ising struct {
	sites    int
	topology *bonds // interactions as given, even if the coupling is 0
	bonds    *bonds
	grid     *stencil // stencil of a periodic lattice; nil for other topologies
	coupling float64
	field    float64
	fields   []float64 // field of each site; nil if the field is uniform
	// For a periodic lattice, the value that counts writes for each number of neighbours at level
	// 1.
	table   []float32
	degrees []float64 // Σ_j w_ij per site of a dense graph with integer weights; otherwise nil
}

// NewIsing returns the Ising model on the topology t with the given coupling J, and the given field
// h at every site. If J is positive, spins align. NewIsing returns an error if t.Graph returns one,
// a parameter is not finite, or energies would overflow.
func NewIsing(t Topology, coupling, field float64) (*Ising, error) {
	if t == nil {
		return nil, fmt.Errorf("model: NewIsing: no topology")
	}
	if !check.Finite(coupling) {
		return nil, fmt.Errorf("model: NewIsing: coupling = %v, want a finite number", coupling)
	}
	if !check.Finite(field) {
		return nil, fmt.Errorf("model: NewIsing: field = %v, want a finite number", field)
	}
	b, sides, err := newBonds(t)
	if err != nil {
		return nil, err
	}
	m := &Ising{sites: b.sites, topology: b, bonds: b, coupling: coupling, field: field}
	if coupling == 0 {
		m.bonds = given(edgeless(b.sites))
	} else if sides != nil {
		m.grid = newStencil(sides)
	}
	if err := m.checkRange("NewIsing"); err != nil {
		return nil, err
	}
	m.fillTable()
	if m.grid == nil {
		if g := m.bonds.graph(); len(g.adj) >= denseDegree*g.Sites() {
			m.degrees = integerDegrees(g)
		}
	}
	return m, nil
}

// WithFields returns a copy of the model with h[i] added to the field of site i. It returns an
// error if h does not hold one finite number per site, or if energies would overflow. It keeps no
// reference to h.
func (m *Ising) WithFields(h []float64) (*Ising, error) {
	n := m.sites
	if len(h) != n {
		return nil, fmt.Errorf("model: WithFields: len(h) = %d, want %d", len(h), n)
	}
	c := *m
	c.fields = slices.Clone(h)
	for i, v := range h {
		if !check.Finite(v) {
			return nil, fmt.Errorf("model: WithFields: h[%d] = %v, want a finite number", i, v)
		}
		c.fields[i] = m.fieldAt(i) + v
	}
	if err := c.checkRange("WithFields"); err != nil {
		return nil, err
	}
	c.fillTable()
	return &c, nil
}

// Shape returns the number of sites and the number of levels, which is 2.
func (m *Ising) Shape() (sites, levels int) { return m.sites, 2 }

// Energy stores in e the energies of the states x; it implements [energy.Model].
func (m *Ising) Energy(e []float64, x []int32) {
	n := m.sites
	check.Len("model", "e", len(e), check.Rows("model", "x", len(x), n))
	// Vector code counts faster, even though it also stores a field.
	if m.grid != nil && m.grid.flat() {
		buf := scratch.Float32s.Get(n)
		defer scratch.Float32s.Put(buf)
		for s := range e {
			state := x[s*n : (s+1)*n]
			twice, up := m.grid.counts(*buf, m.table, state)
			e[s] = m.total(m.gridBonds(twice, up), up, state)
		}
		return
	}
	for s := range e {
		state := x[s*n : (s+1)*n]
		if m.grid != nil {
			pairs, up := m.grid.pairs(state)
			e[s] = m.total(m.gridBonds(2*pairs, up), up, state)
			continue
		}
		g, bonds, up := m.bonds.graph(), 0.0, 0
		for i, v := range state {
			hi := g.spins(state, g.upper[i], g.start[i+1])
			bonds += float64(float64(2*v-1) * hi)
			up += int(v)
		}
		e[s] = m.total(bonds, up, state)
	}
}

// Field stores the energies in e and the exact energy differences between levels 1 and 0 in h,
// rounded to float32. It implements [energy.Binary].
func (m *Ising) Field(e []float64, h []float32, x []int32) {
	n := m.sites
	check.Len("model", "e", len(e), check.Rows("model", "x", len(x), n))
	check.Len("model", "h", len(h), len(x))
	for s := range e {
		state := x[s*n : (s+1)*n]
		if m.grid != nil {
			e[s] = m.gridField(h[s*n:(s+1)*n], state)
		} else {
			e[s] = m.graphField(h[s*n:(s+1)*n], state)
		}
	}
}

// Gradient stores the energies in e. The slice g receives the exact energy differences of all
// single-site changes. It implements [energy.Differentiable].
func (m *Ising) Gradient(e []float64, g []float32, x []int32) {
	check.Rows("model", "x", len(x), m.sites)
	check.Len("model", "g", len(g), 2*len(x))
	m.Field(e, g[len(x):], x)
	expandField(g, x)
}

// Conditional stores in d the exact energy at each level of one site, minus the energy of the state
// x. It implements [energy.Conditional].
func (m *Ising) Conditional(d []float64, site int, x []int32) {
	check.Len("model", "d", len(d), 2)
	check.Len("model", "x", len(x), m.sites)
	check.Index("model", "site", site, m.sites)
	h := m.difference(m.spinsAt(site, x), site)
	d[0], d[1] = 0, 0
	if x[site] == 0 {
		d[1] = h
	} else {
		d[0] = -h
	}
}

// Locals stores in d, for every site, the energies of levels 0 and 1 relative to the energy of
// level 0. It implements [energy.Local].
func (m *Ising) Locals(d []float64, x []int32) {
	check.Len("model", "x", len(x), m.sites)
	check.Len("model", "d", len(d), 2*len(x))
	for i := range x {
		d[2*i], d[2*i+1] = 0, m.difference(m.spinsAt(i, x), i)
	}
}

// Move updates the table d that [Ising.Locals] stored, for one site that is about to change. The
// table holds running sums, so rounding errors may grow to a few units in the last place over many
// moves. With integer parameters the table stays exact. It implements [energy.Local].
func (m *Ising) Move(d []float64, site int, level int32, x []int32) {
	check.Len("model", "x", len(x), m.sites)
	check.Len("model", "d", len(d), 2*len(x))
	c := -4 * m.coupling * float64(level-x[site])
	adj, weight := m.bonds.graph().Neighbors(site)
	for k, j := range adj {
		d[2*j+1] += float64(c * weight[k])
	}
}

// Graph returns the neighbours of each site; it implements [energy.Graphical]. The graph of a
// [Lattice] is built at the first call of Graph, Conditional, Locals or Move.
func (m *Ising) Graph() (start, adj []int32) {
	g := m.bonds.graph()
	return g.start, g.adj
}

// Torus returns the number of columns of the lattice and five energy differences d. The entry d[k]
// is E(x_i=1) − E(x_i=0) for a site i with k = 0, …, 4 neighbours at level 1. The result ok is true
// if the topology is a two-dimensional [Lattice] with sides of at least 3 and the field is uniform.
// It implements [energy.Toroidal].
func (m *Ising) Torus() (cols int, d [5]float64, ok bool) {
	if m.grid == nil || len(m.grid.sides) != 2 || m.grid.degree != 4 || m.fields != nil {
		return 0, d, false
	}
	for k := range d {
		d[k] = m.difference(float64(2*k-4), 0)
	}
	return m.grid.sides[1], d, true
}

// Matching returns the coupling and the fields of the Potts model that has the same distribution.
// The result ok is true if all edges have the same weight and all sites have the same field. It
// implements [energy.Matching].
func (m *Ising) Matching() (coupling float64, field []float64, ok bool) {
	w, ok := 1.0, true
	if m.grid == nil {
		w, ok = m.bonds.graph().uniform()
	}
	return float64(2 * float64(m.coupling*w)), []float64{0 - m.field, m.field}, ok && m.fields == nil
}

// Pairs returns the energy as a quadratic function of the levels x_i ∈ {0, 1}. It returns a weight
// for each edge and a field for each site. It implements [energy.Pairwise].
func (m *Ising) Pairs() (start, adj []int32, weight, field []float64, ok bool) {
	g := m.bonds.graph()
	weight, field = slices.Clone(g.weight), make([]float64, g.Sites())
	for i := range field {
		sum := 0.0
		_, row := g.Neighbors(i)
		for _, w := range row {
			sum += w
		}
		field[i] = m.difference(-sum, i)
	}
	for k := range weight {
		weight[k] = float64(-4*m.coupling) * weight[k]
	}
	return g.start, g.adj, weight, field, true
}

// Factors returns the energy as a sum of tables, one for each edge and one for each site; it
// implements [energy.Factored].
func (m *Ising) Factors() (cards []int32, scopes [][]int32, tables [][]float64, ok bool) {
	site := func(i int) []float64 { return []float64{m.fieldAt(i), 0 - m.fieldAt(i)} }
	if m.fields == nil {
		all := site(0)
		site = func(int) []float64 { return all }
	}
	scopes, tables = m.bonds.graph().factors(func(w float64) []float64 {
		c := float64(m.coupling * w)
		return []float64{0 - c, c, c, 0 - c}
	}, site)
	return slices.Repeat([]int32{2}, m.sites), scopes, tables, true
}

// gridField stores in h the field of one state on a periodic lattice. It returns the energy of the
// state.
func (m *Ising) gridField(h []float32, x []int32) float64 {
	twice, up := m.grid.counts(h, m.table, x)
	if m.fields != nil {
		// The method counts has stored the number of neighbours that are up in h.
		for i, k := range h {
			h[i] = float32(m.difference(float64(2*int(k)-m.grid.degree), i))
		}
	}
	return m.total(m.gridBonds(twice, up), up, x)
}

// graphField stores in h the field of one state on a general graph. It returns the energy of the
// state.
func (m *Ising) graphField(h []float32, x []int32) float64 {
	g := m.bonds.graph()
	bonds, up := 0.0, 0
	if m.degrees != nil {
		// Sums of integers are exact in any order, so the result has the same bits as that of the
		// loop below.
		buf := scratch.Float64s.Get(len(x))
		defer scratch.Float64s.Put(buf)
		simd.SparseField(*buf, g.start, g.adj, g.weight, x)
		for i, v := range x {
			spins := 2*(*buf)[i] - m.degrees[i]
			h[i] = float32(m.difference(spins, i))
			bonds += float64(float64(2*v-1) * spins)
			up += int(v)
		}
		return m.total(bonds/2, up, x) // each bond was counted at both ends
	}
	for i, v := range x {
		lo := g.spins(x, g.start[i], g.upper[i])
		hi := g.spins(x, g.upper[i], g.start[i+1])
		h[i] = float32(m.difference(lo+hi, i))
		bonds += float64(float64(2*v-1) * hi)
		up += int(v)
	}
	return m.total(bonds, up, x)
}

// gridBonds returns Σ s_i s_j over the bonds of the lattice, computed from the sums twice = 2 Σ x_i
// x_j over the bonds and up = Σ x_i over the sites.
func (m *Ising) gridBonds(twice, up int) float64 {
	return float64(2*twice - 2*m.grid.degree*up + m.grid.bonds())
}

// total returns the energy of x, given bonds = Σ w_ij s_i s_j and up = Σ x_i.
func (m *Ising) total(bonds float64, up int, x []int32) float64 {
	e := 0 - float64(m.coupling*bonds)
	if m.fields == nil {
		return e - float64(m.field*float64(2*up-len(x)))
	}
	sum := 0.0
	for i, f := range m.fields {
		sum += float64(f * float64(2*x[i]-1))
	}
	return e - sum
}

// spinsAt returns Σ_j w_ij s_j over the neighbours of site i.
func (m *Ising) spinsAt(i int, x []int32) float64 {
	g := m.bonds.graph()
	return g.spins(x, g.start[i], g.upper[i]) + g.spins(x, g.upper[i], g.start[i+1])
}

// difference returns E(x_i=1) − E(x_i=0), given spins = Σ_j w_ij s_j.
func (m *Ising) difference(spins float64, i int) float64 {
	return -2 * (float64(m.coupling*spins) + m.fieldAt(i))
}

// fieldAt returns the field of site i.
func (m *Ising) fieldAt(i int) float64 {
	if m.fields == nil {
		return m.field
	}
	return m.fields[i]
}

// fillTable sets m.table, which maps the number k of neighbours at level 1 to what the stencil
// writes: the energy difference if the field is uniform, and otherwise k itself.
func (m *Ising) fillTable() {
	if m.grid == nil {
		return
	}
	size := 8
	for size <= m.grid.degree {
		size *= 2
	}
	m.table = make([]float32, size)
	for k := range m.table {
		m.table[k] = float32(k)
		if m.fields == nil {
			m.table[k] = float32(m.difference(float64(2*k-m.grid.degree), 0))
		}
	}
}

// denseDegree is the mean number of neighbours at or above which simd.SparseField computes a field
// faster (BenchmarkIsing).
const denseDegree = 8

// integerDegrees returns Σ_j w_ij for every site, or nil if some weight is not an integer or sums
// of weights could be rounded.
func integerDegrees(g *Graph) []float64 {
	d, sum := make([]float64, g.Sites()), 0.0
	for i := range d {
		_, weight := g.Neighbors(i)
		for _, w := range weight {
			if w != math.Trunc(w) {
				return nil
			}
			d[i] += w
			sum += math.Abs(w)
		}
	}
	if sum > 1<<51 { // intermediate results reach twice the sum
		return nil
	}
	return d
}

// checkRange returns an error unless every energy and difference is finite.
func (m *Ising) checkRange(caller string) error {
	sum := 0.0
	if m.grid != nil {
		sum = math.Abs(m.coupling) * float64(2*m.grid.bonds())
	} else {
		for _, w := range m.bonds.graph().weight {
			sum += math.Abs(m.coupling * w)
		}
	}
	for i := range m.sites {
		sum += math.Abs(m.fieldAt(i))
	}
	// The sum counts each edge twice, and a difference is at most twice the bound on the energy.
	if !check.Finite(2 * sum) {
		return fmt.Errorf("model: %s: the parameters add up to more than %v, energies would overflow", caller, math.MaxFloat64/2)
	}
	return nil
}
