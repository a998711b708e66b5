package energy

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/weighted"
)

// Affine is the model
//
//	E(x) = c·(Σ_k w_k E_k(x) + b)  where x_i = l_i at all fixed sites i, +Inf elsewhere,
//
// that Sum, Scale and Clamp return and that a dual.Lagrangian is. Parts are added in order, and a
// state that has probability zero in one part has probability zero. An Affine built from another
// Affine absorbs its parts where this does not change rounding.
//
// It supports what its parts support: see [Affine.As]. It is safe for concurrent use,
// except as [NewAffine] states.
type Affine struct {
	sites, levels int
	parts         []Model
	weight        []float64 // w, one per part; a part of weight 0 is not evaluated unless it is the first
	offset        float64   // b
	factor        float64   // c
	fixed         []int32   // level of each site, or free; nil without a Clamp
	which         []int     // the fixed sites, ascending
	own           int       // the first own parts define values and support; the others are statistics
	varies        bool      // weights change, see NewAffine
	version       uint64    // number of changes of the weights

	values []float32 // nil: not Ordinal
	graph  *once
	hidden *hidden // nil: not Bipartite
}

// free marks a site that is not fixed.
const free = -1

// Sum returns the model with E(x) = Σ_k E_k(x), the product of the densities of the
// given models. Energies are added in the given order. The sum of one model is that
// model. [Affine.As] lists what the result supports.
//
// Sum returns an error if there is no model, one is nil, shapes differ, or two
// Ordinal parts have different values.
func Sum(models ...Model) (Model, error) {
	if len(models) == 0 {
		return nil, fmt.Errorf("energy: Sum: no models, want ≥ 1")
	}
	a := &Affine{factor: 1}
	var values []float32
	for k, m := range models {
		if err := a.fit("Sum", fmt.Sprintf("models[%d]", k), "models[0]", m); err != nil {
			return nil, err
		}
		if o, ok := As[Ordinal](m); ok {
			if values == nil {
				values = o.Values()
			}
			if !slices.Equal(values, o.Values()) {
				return nil, fmt.Errorf("energy: Sum: models[%d] has the level values %v, want %v as an earlier model", k, o.Values(), values)
			}
		}
	}
	if len(models) == 1 {
		return models[0], nil
	}
	for _, m := range models {
		a.add(m)
	}
	a.own = len(a.parts)
	return a.finish(), nil
}

// Scale returns the model with the energy β·E(x): the distribution of m at inverse
// temperature β. States of probability zero keep probability zero, also at β = 0. With
// β = 1 it returns m itself. [Affine.As] lists what the result supports. β·E must not
// overflow.
//
// Scale returns an error if m is nil or β is negative, infinite or NaN.
func Scale(m Model, beta float64) (Model, error) {
	_, _, err := check.Model("energy", "Scale", "m", m)
	if err = cmp.Or(err, check.If(!(beta >= 0 && check.Finite(beta)), "energy: Scale: beta = %v, want 0 ≤ beta < ∞", beta)); err != nil {
		return nil, err
	}
	if beta == 1 {
		return m, nil
	}
	a := around(m)
	if a.factor != 1 { // (E·c)·β has other roundings than E·(c·β)
		a = single(m)
	}
	a.factor = beta
	return a.finish(), nil
}

// Clamp returns m with the given sites fixed: the distribution of m given that x_i =
// fixed[i] for every i in fixed. Its shape is that of m; the energy of every other
// state is +Inf. In tables, the row of a fixed site is +Inf except at the current
// level; in fields, its entry is ±Inf.
//
// The result is [Supported]: Repair calls m's own Repair, if m has one, and then sets the fixed
// sites, which may undo that repair. [Affine.As] lists what else the result supports. Clamp keeps
// no reference to fixed.
//
// Clamp returns an error if m is nil or a site or level is out of range.
func Clamp(m Model, fixed map[int]int32) (Model, error) {
	sites, levels, err := check.Model("energy", "Clamp", "m", m)
	if err != nil {
		return nil, err
	}
	all := slices.Repeat([]int32{free}, sites)
	for _, i := range slices.Sorted(maps.Keys(fixed)) {
		l := fixed[i]
		if i < 0 || i >= sites {
			return nil, fmt.Errorf("energy: Clamp: site %d is fixed, want 0 … %d", i, sites-1)
		}
		if l < 0 || int(l) >= levels {
			return nil, fmt.Errorf("energy: Clamp: fixed[%d] = %d, want 0 … %d", i, l, levels-1)
		}
		all[i] = l
	}
	a := around(m)
	if !a.hold(all) {
		a = single(m)
		a.hold(all)
	}
	return a.finish(), nil
}

// NewAffine returns the model Σ_k w_k E_k(x) + b, whose part 0 is base and whose parts 1, 2, …
// are statistics of the same shape. It also returns the function set, which copies weight into w
// and sets b to offset. Initially w is 1, 0, 0, … and b is 0: the model is the base bit for bit.
// Values of levels, support and parameters are those of the base alone; statistics must be finite
// wherever the base has positive probability.
//
// The model is [Varying], and safe for concurrent use except while set is called;
// kernels that work on it must be Reset afterwards. set panics unless there is one
// weight per part.
//
// NewAffine returns an error if a model is nil or shapes differ.
func NewAffine(base Model, statistics ...Model) (a *Affine, set func(weight []float64, offset float64), err error) {
	a = &Affine{factor: 1, own: 1, varies: true}
	if err := a.fit("NewAffine", "base", "", base); err != nil {
		return nil, nil, err
	}
	for k, m := range statistics {
		if err := a.fit("NewAffine", fmt.Sprintf("statistics[%d]", k), "base", m); err != nil {
			return nil, nil, err
		}
	}
	if b, ok := base.(*Affine); ok && !b.varies && a.hold(b.fixed) {
		base = b.unclamped()
	}
	a.parts = append([]Model{base}, statistics...)
	a.weight = make([]float64, len(a.parts))
	a.weight[0] = 1
	return a.finish(), func(weight []float64, offset float64) {
		check.Len("energy", "weight", len(weight), len(a.weight))
		copy(a.weight, weight)
		a.offset = offset
		a.version++
	}, nil
}

// fit checks a model: the first model defines the shape, which all others must have.
func (a *Affine) fit(caller, name, first string, m Model) error {
	sites, levels, err := check.Model("energy", caller, name, m)
	if a.sites == 0 {
		a.sites, a.levels = sites, levels
	}
	if err == nil && (sites != a.sites || levels != a.levels) {
		err = fmt.Errorf("energy: %s: %s has %d sites and %d levels, want %d and %d as %s", caller, name, sites, levels, a.sites, a.levels, first)
	}
	return err
}

// single returns m as an Affine of one part.
func single(m Model) *Affine {
	a := &Affine{parts: []Model{m}, weight: []float64{1}, factor: 1, own: 1}
	a.sites, a.levels = m.Shape()
	return a
}

// around returns a copy of m if m is an Affine that never changes, and otherwise an Affine whose
// single part is m.
func around(m Model) *Affine {
	if a, ok := m.(*Affine); ok && !a.varies {
		c := *a
		return &c
	}
	return single(m)
}

// add makes m the last part of a sum that has no factor yet: its parts, if m is a sum
// and comes first, and its fixed sites unless they contradict those of others.
func (a *Affine) add(m Model) {
	if b, ok := m.(*Affine); ok && !b.varies && a.hold(b.fixed) {
		m = b.unclamped()
	}
	if b, ok := m.(*Affine); ok && !b.varies && b.fixed == nil && b.factor == 1 && b.own == len(b.parts) && len(a.parts) == 0 {
		a.parts, a.weight, a.offset = slices.Clone(b.parts), slices.Clone(b.weight), b.offset
		return
	}
	a.parts, a.weight = append(a.parts, m), append(a.weight, 1)
}

// hold fixes sites (nil: none) in addition to those that are fixed already. It returns
// false, and fixes none, if a site would have two levels.
func (a *Affine) hold(fixed []int32) bool {
	if fixed == nil {
		return true
	}
	all := slices.Clone(fixed)
	for i, l := range a.fixed {
		if l != free && all[i] != free && all[i] != l {
			return false
		}
		if l != free {
			all[i] = l
		}
	}
	a.fixed, a.which = all, nil
	for i, l := range all {
		if l != free {
			a.which = append(a.which, i)
		}
	}
	return true
}

// unclamped returns a model that never changes without its fixed sites.
func (a *Affine) unclamped() Model {
	c := *a
	c.fixed, c.which = nil, nil
	return c.finish().least()
}

// least returns the single part of a, if a adds nothing to that part.
func (a *Affine) least() Model {
	if len(a.parts) == 1 && a.weight[0] == 1 && a.factor == 1 && a.offset == 0 && a.fixed == nil {
		return a.parts[0]
	}
	return a
}

// finish computes what depends on the parts.
func (a *Affine) finish() *Affine {
	a.values, a.graph = nil, new(once)
	for _, m := range a.parts[:a.own] {
		if o, ok := As[Ordinal](m); ok && a.values == nil {
			a.values = o.Values()
		}
	}
	a.hidden = a.layered()
	return a
}

// Shape returns the shape of the parts.
func (a *Affine) Shape() (sites, levels int) { return a.sites, a.levels }

// Energy implements [Model].
func (a *Affine) Energy(e []float64, x []int32) {
	a.add64(e, a.offset, func(k int, e []float64) { a.parts[k].Energy(e, x) })
	a.energies(e, x)
}

// add64 stores in d what fill stores for the parts, added up.
func (a *Affine) add64(d []float64, offset float64, fill func(k int, d []float64)) {
	fill(0, d)
	a.begin(d, offset)
	if len(a.parts) > 1 {
		b := scratch.Float64s.Get(len(d))
		defer scratch.Float64s.Put(b)
		for k := 1; k < len(a.parts); k++ {
			if w := a.weight[k]; w != 0 {
				fill(k, *b)
				weighted.Add(d, *b, w)
			}
		}
	}
	weighted.Scale(d, a.factor)
}

// begin makes what the first part stored the beginning of a sum.
func (a *Affine) begin(d []float64, offset float64) {
	weighted.Scale(d, a.weight[0])
	if offset != 0 {
		for i := range d {
			d[i] += offset
		}
	}
}

// addTables is add64 for energies e and tables g.
func (a *Affine) addTables(e []float64, g []float32, fill func(k int, e []float64, g []float32)) {
	fill(0, e, g)
	a.begin(e, a.offset)
	weighted.Scale(g, a.weight[0])
	if len(a.parts) > 1 {
		be, bg := scratch.Float64s.Get(len(e)), scratch.Float32s.Get(len(g))
		defer scratch.Float64s.Put(be)
		defer scratch.Float32s.Put(bg)
		for k := 1; k < len(a.parts); k++ {
			if w := a.weight[k]; w != 0 {
				fill(k, *be, *bg)
				weighted.Add(e, *be, w)
				weighted.Add(g, *bg, w)
			}
		}
	}
	weighted.Scale(e, a.factor)
	weighted.Scale(g, a.factor)
}

// energies makes the energy of states outside the support +Inf.
func (a *Affine) energies(e []float64, x []int32) {
	for s := range e {
		for _, i := range a.which {
			if x[s*a.sites+i] != a.fixed[i] {
				e[s] = math.Inf(1)
				break
			}
		}
	}
}

// rows corrects the rows of the fixed sites in a table of differences: center returns the
// column of the level that the site of an entry has.
func (a *Affine) rows(g []float32, columns int, center func(at int) int) {
	for s := 0; s < len(g)/columns && len(a.which) > 0; s += a.sites {
		for _, i := range a.which {
			block(g[(s+i)*columns:(s+i+1)*columns], center(s+i))
		}
	}
}

// block makes every entry of a row +Inf but one, which becomes 0.
func block[T float32 | float64](row []T, but int) {
	for l := range row {
		row[l] = T(math.Inf(1))
	}
	row[but] = 0
}

// fields makes the entry of every fixed site +Inf, times sign, where it is
// fixed at 0 and −Inf where it is fixed at 1.
func (a *Affine) fields(h []float32, sign int) {
	for s := 0; s < len(h) && len(a.which) > 0; s += a.sites {
		for _, i := range a.which {
			h[s+i] = float32(math.Inf(sign * int(1-2*a.fixed[i])))
		}
	}
}

// coefficient returns the factor of the energy of part k.
func (a *Affine) coefficient(k int) float64 { return a.factor * a.weight[k] }

// once holds the graph of an Affine, made on first use.
type once struct {
	sync.Once
	graph
}

// graph is a list of neighbours in compressed rows, see [Graphical].
type graph struct{ start, adj []int32 }

func (g graph) equal(o graph) bool {
	return slices.Equal(g.start, o.start) && slices.Equal(g.adj, o.adj)
}

// unite returns the union of graphs with the same sites: one of the graphs if it has the edges of
// all.
func unite(graphs []graph) graph {
	u := graphs[0]
	for _, g := range graphs[1:] {
		if len(g.adj) == 0 || u.equal(g) {
			continue
		}
		if len(u.adj) == 0 {
			u = g
			continue
		}
		both := graph{start: make([]int32, len(u.start))}
		for i := range len(u.start) - 1 {
			from := len(both.adj)
			both.adj = append(append(both.adj, u.adj[u.start[i]:u.start[i+1]]...), g.adj[g.start[i]:g.start[i+1]]...)
			slices.Sort(both.adj[from:])
			both.adj = append(both.adj[:from], slices.Compact(both.adj[from:])...)
			both.start[i+1] = int32(len(both.adj))
		}
		u = both
	}
	return u
}
