package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// Potts is the Potts model
//
//	E(x) = −J Σ_{edges ij} w_ij δ(x_i, x_j) − Σ_i h[x_i],
//
// with the coupling J, edge weights w_ij, and the field h of each level. The function δ is 1 if its
// arguments are equal and 0 otherwise. Each edge is counted once. With two levels, Potts is an
// [Ising] model with half the coupling. If weights, fields and coupling are integers, energies and
// differences are exact.
//
// Potts is [energy.Differentiable] with exact differences (rounded to float32), [energy.Local],
// [energy.Matching], [energy.Factored] and [energy.Learnable]. If it has two levels, it is also
// [energy.Binary] through [energy.As]. A Potts is immutable and safe for concurrent use. After the
// first calls, its methods allocate nothing.
type Potts struct {
	topology *Graph // interactions as given, even if the coupling is 0
	graph    *Graph
	cols     int // number of columns of a two-dimensional Lattice with sides ≥ 3; otherwise 0
	levels   int
	coupling float64
	field    []float64
}

// NewPotts returns the Potts model on the topology t with the given coupling J. If J is positive,
// equal levels are favoured. The argument field holds h[l] for each level l; nil means 0. NewPotts
// keeps no reference to field.
//
// NewPotts returns the error of t.Graph. It also returns an error if levels < 1, if field is
// not nil and len(field) ≠ levels, if a parameter is not finite, or if energies would overflow.
func NewPotts(t Topology, levels int, coupling float64, field []float64) (*Potts, error) {
	if t == nil {
		return nil, fmt.Errorf("model: NewPotts: no topology")
	}
	if levels < 1 || levels > math.MaxInt32 {
		return nil, fmt.Errorf("model: NewPotts: levels = %d, want 1 … %d", levels, math.MaxInt32)
	}
	if !check.Finite(coupling) {
		return nil, fmt.Errorf("model: NewPotts: coupling = %v, want a finite number", coupling)
	}
	if field == nil {
		field = make([]float64, levels)
	}
	if len(field) != levels {
		return nil, fmt.Errorf("model: NewPotts: len(field) = %d, want %d", len(field), levels)
	}
	largest := 0.0
	for l, h := range field {
		if !check.Finite(h) {
			return nil, fmt.Errorf("model: NewPotts: field[%d] = %v, want a finite number", l, h)
		}
		largest = max(largest, math.Abs(h))
	}
	g, err := t.Graph()
	if err != nil {
		return nil, err
	}
	m := &Potts{topology: g, graph: g, levels: levels, coupling: coupling, field: slices.Clone(field)}
	if coupling == 0 {
		m.graph = edgeless(g.Sites())
	} else if l := sidesOf(t, g); len(l) == 2 && l[0] > 2 && l[1] > 2 {
		m.cols = l[1]
	}
	bound := largest * float64(g.Sites())
	for _, w := range m.graph.weight {
		bound += math.Abs(coupling * w)
	}
	// The bound counts each edge twice, and a difference is at most twice the bound.
	if !check.Finite(2 * bound) {
		return nil, fmt.Errorf("model: NewPotts: the parameters add up to more than %v, energies would overflow", math.MaxFloat64/2)
	}
	return m, nil
}

// Shape returns the number of sites and the number of levels.
func (m *Potts) Shape() (sites, levels int) { return m.graph.Sites(), m.levels }

// Energy stores in e the energies of the states x; it implements [energy.Model].
func (m *Potts) Energy(e []float64, x []int32) {
	defer check.States("model", x, len(m.field))
	n := m.graph.Sites()
	check.Len("model", "e", len(e), check.Rows("model", "x", len(x), n))
	g := m.graph
	for s := range e {
		state := x[s*n : (s+1)*n]
		bonds := 0.0
		if m.cols > 0 {
			bonds = float64(torusMatches(state, m.cols))
		} else {
			for i, l := range state {
				for k := g.upper[i]; k < g.start[i+1]; k++ {
					if state[g.adj[k]] == l {
						bonds += g.weight[k]
					}
				}
			}
		}
		e[s] = m.total(bonds, state)
	}
}

// Gradient stores the energies in e. The slice g receives the exact energy differences of all
// single-site changes. It implements [energy.Differentiable].
func (m *Potts) Gradient(e []float64, g []float32, x []int32) {
	defer check.States("model", x, len(m.field))
	n, levels := m.graph.Sites(), m.levels
	check.Len("model", "e", len(e), check.Rows("model", "x", len(x), n))
	check.Len("model", "g", len(g), len(x)*levels)
	buf := scratch.Float64s.Get(levels)
	defer scratch.Float64s.Put(buf)
	near := *buf
	for s := range e {
		state := x[s*n : (s+1)*n]
		bonds := 0.0
		for i, l := range state {
			bonds += m.neighbours(near, i, state)
			row := g[(s*n+i)*levels : (s*n+i+1)*levels]
			own, field := near[l], m.field[l]
			for to := range row {
				row[to] = float32(float64(m.coupling*(own-near[to])) + (field - m.field[to]))
			}
		}
		e[s] = m.total(bonds, state)
	}
}

// Conditional stores in d the exact energy at each level of one site, minus the energy of the state
// x. It implements [energy.Conditional].
func (m *Potts) Conditional(d []float64, site int, x []int32) {
	check.Index("model", "site", site, len(x))
	defer check.States("model", x, len(m.field))
	check.Len("model", "d", len(d), m.levels)
	check.Len("model", "x", len(x), m.graph.Sites())
	m.neighbours(d, site, x)
	m.differences(d, int(x[site]))
}

// Locals stores in d, for every site, the energy of each level relative to the energy of level 0.
// It implements [energy.Local].
func (m *Potts) Locals(d []float64, x []int32) {
	defer check.States("model", x, len(m.field))
	check.Len("model", "x", len(x), m.graph.Sites())
	check.Len("model", "d", len(d), len(x)*m.levels)
	for i := range x {
		row := d[i*m.levels : (i+1)*m.levels]
		m.neighbours(row, i, x)
		m.differences(row, 0)
	}
}

// Move updates the table d that [Potts.Locals] stored, for one site that is about to change. The
// table holds running sums, so rounding errors may grow to a few units in the last place over many
// moves. With integer parameters the table stays exact. It implements [energy.Local].
func (m *Potts) Move(d []float64, site int, level int32, x []int32) {
	check.Index("model", "level", int(level), len(m.field))
	check.Index("model", "site", site, len(x))
	defer check.States("model", x, len(m.field))
	check.Len("model", "x", len(x), m.graph.Sites())
	check.Len("model", "d", len(d), len(x)*m.levels)
	from := x[site]
	if from == level {
		return
	}
	adj, weight := m.graph.Neighbors(site)
	for k, j := range adj {
		row := d[int(j)*m.levels : (int(j)+1)*m.levels]
		c := float64(m.coupling * weight[k]) // not fused with the additions
		raise(row, from, c)
		raise(row, level, -c)
	}
}

// Graph returns the neighbours of each site; it implements [energy.Graphical].
func (m *Potts) Graph() (start, adj []int32) { return m.graph.start, m.graph.adj }

// Matching returns the common coupling of all edges and the field of each level; it implements
// [energy.Matching]. The result ok is true if all edges have the same weight.
func (m *Potts) Matching() (coupling float64, field []float64, ok bool) {
	w, ok := m.graph.uniform()
	return m.coupling * w, m.field, ok
}

// Factors returns the energy as a sum of tables, one for each edge and one for each site; it
// implements [energy.Factored].
func (m *Potts) Factors() (cards []int32, scopes [][]int32, tables [][]float64, ok bool) {
	site := make([]float64, m.levels)
	for l, h := range m.field {
		site[l] = 0 - h
	}
	scopes, tables = m.graph.factors(func(w float64) []float64 {
		t := make([]float64, m.levels*m.levels)
		for l := range m.levels {
			t[l*m.levels+l] = 0 - float64(m.coupling*w)
		}
		return t
	}, func(int) []float64 { return site })
	return slices.Repeat([]int32{int32(m.levels)}, m.graph.Sites()), scopes, tables, true
}

// As implements energy.Capable. The model is also [energy.Binary] if there are two levels.
func (m *Potts) As(target any) bool {
	return m.levels == 2 && energy.Give[energy.Binary](target, binaryPotts{m})
}

// binaryPotts implements [energy.Binary] for a Potts model with two levels.
type binaryPotts struct{ *Potts }

// Field stores the energies in e and the exact energy differences between levels 1 and 0 in h,
// rounded to float32. It implements [energy.Binary].
func (m binaryPotts) Field(e []float64, h []float32, x []int32) {
	n := m.graph.Sites()
	check.Len("model", "e", len(e), check.Rows("model", "x", len(x), n))
	check.Len("model", "h", len(h), len(x))
	var near [2]float64
	for s := range e {
		state := x[s*n : (s+1)*n]
		bonds := 0.0
		for i := range state {
			bonds += m.neighbours(near[:], i, state)
			h[s*n+i] = float32(float64(m.coupling*(near[0]-near[1])) + (m.field[0] - m.field[1]))
		}
		e[s] = m.total(bonds, state)
	}
}

// neighbours stores in near[l] the weight of the bonds between site i and its neighbours of level
// l. It returns the share of near[x_i] to be counted for this site. The sum of these shares over
// all sites counts every bond once.
func (m *Potts) neighbours(near []float64, i int, x []int32) (matched float64) {
	clear(near)
	own := x[i]
	if m.cols > 0 {
		left, right, above, below := torusAround(i, m.cols, len(x))
		near[x[left]]++
		near[x[right]]++
		near[x[above]]++
		near[x[below]]++
		return near[own] / 2 // exact: a small integer
	}
	g := m.graph
	for k := g.start[i]; k < g.start[i+1]; k++ {
		l := x[g.adj[k]]
		near[l] += g.weight[k]
		if k >= g.upper[i] && l == own {
			matched += g.weight[k]
		}
	}
	return matched
}

// differences turns the weights that neighbours stored in d into E(x_i = l) − E(x_i = from).
func (m *Potts) differences(d []float64, from int) {
	own, field := d[from], m.field[from]
	for l := range d {
		d[l] = float64(m.coupling*(own-d[l])) + (field - m.field[l])
	}
}

// total returns the energy of x; bonds is the weight of the bonds between sites of equal level.
func (m *Potts) total(bonds float64, x []int32) float64 {
	sum := 0.0
	for _, l := range x {
		sum += m.field[l]
	}
	return 0 - float64(m.coupling*bonds) - sum
}

// raise adds c to the energy of a level in a row of energies relative to level 0. For level 0 it
// subtracts c from all others.
func raise(row []float64, level int32, c float64) {
	if level > 0 {
		row[level] += c
		return
	}
	for l := 1; l < len(row); l++ {
		row[l] -= c
	}
}

// torusAround returns the neighbours of site i on a torus of n sites.
func torusAround(i, cols, n int) (left, right, above, below int) {
	left, right, above, below = i-1, i+1, i-cols, i+cols
	switch col := int(uint32(i) % uint32(cols)); col {
	case 0:
		left += cols
	case cols - 1:
		right -= cols
	}
	if above < 0 {
		above += n
	}
	if below >= n {
		below -= n
	}
	return left, right, above, below
}

// torusMatches returns the number of bonds between sites of equal level on a torus.
func torusMatches(x []int32, cols int) int {
	sum := matches(x[:len(x)-cols], x[cols:]) + matches(x[len(x)-cols:], x[:cols])
	for at := 0; at < len(x); at += cols {
		row := x[at : at+cols]
		sum += matches(row[:cols-1], row[1:])
		if row[0] == row[cols-1] {
			sum++
		}
	}
	return sum
}

// matches returns the number of indices at which x and y are equal.
func matches(x, y []int32) int {
	y = y[:len(x)]
	sum := 0
	for i, v := range x {
		if v == y[i] {
			sum++
		}
	}
	return sum
}
