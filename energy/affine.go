package energy

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/weighted"
)

// Affine is a weighted sum of models, called its parts, in which some sites can be held fixed:
//
//	E(x) = c·(Σ_k w_k E_k(x) + b)  if every fixed site has its fixed level, and +Inf otherwise,
//
// where part k has the energy E_k and the weight w_k, b is an offset and c a factor. [Sum], [Scale]
// and [Clamp] return an Affine. Terms are added in the order of the parts. A state that has
// probability zero in one part has probability zero in the Affine.
//
// The optional interfaces of an Affine depend on its parts; see [Affine.As]. An Affine is safe for
// concurrent use, except while its weights are being set ([NewAffine]).
type Affine struct {
	sites, levels int
	parts         []Model
	// Weight w_k of each part; a part of weight 0 is not evaluated unless it is the first.
	weight []float64
	offset float64 // constant b, added to the sum of the parts
	factor float64 // factor c of the whole sum
	fixed  []int32 // level of each fixed site and free (−1) for all others; nil without a Clamp
	which  []int   // indices of the fixed sites, ascending
	// Number of leading parts that define values and support; the other parts are statistics.
	own     int
	varies  bool   // whether weights can change, see NewAffine
	version uint64 // number of times that the weights have changed

	values []float32 // values of the levels; nil if no part is Ordinal
	graph  *once
	hidden *hidden // hidden units of the one bipartite part; nil if the model is not Bipartite
}

// free marks a site that is not fixed, in Affine.fixed.
const free = -1

// Sum returns the model with the energy E(x) = Σ_k E_k(x), where E_k are the energies of the given
// models, added in order. The density of the sum is proportional to the product of the densities of
// the models. The sum of one model is that model itself. [Affine.As] lists the interfaces that the
// result supports.
//
// Sum returns an error if there is no model, a model is nil, shapes differ, or two [Ordinal] models
// have different values.
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

// Scale returns the model with the energy β·E(x), where E is the energy of m. The result is the
// distribution of m at the inverse temperature β. States of probability zero keep probability zero,
// even at β = 0. With β = 1, Scale returns m itself. The caller must ensure that β·E does not
// overflow. [Affine.As] lists the interfaces that the result supports.
//
// Scale returns an error if m is nil, or if β is negative, infinite or NaN.
func Scale(m Model, beta float64) (Model, error) {
	_, _, err := check.Model("energy", "Scale", "m", m)
	if err = cmp.Or(err, check.If(!(beta >= 0 && check.Finite(beta)), "energy: Scale: beta = %v, want 0 ≤ beta < ∞", beta)); err != nil {
		return nil, err
	}
	if beta == 1 {
		return m, nil
	}
	a := around(m)
	if a.factor != 1 { // (E·c)·β is rounded differently from E·(c·β)
		a = single(m)
	}
	a.factor = beta
	return a.finish(), nil
}

// Clamp returns the distribution of m given that x_i = fixed[i] for every site i in the map fixed.
// The result has the shape of m. A state with another level at a fixed site has energy +Inf. In a
// table of energy differences ([Differentiable]), every level of a fixed site other than the
// current one has the entry +Inf. In a field ([Binary]), the entry of a fixed site is ±Inf.
//
// The result is [Supported]. Its method Repair calls the Repair of m, if there is one, and then
// sets the fixed sites, which may undo the repair. [Affine.As] lists the other interfaces. Clamp
// keeps no reference to fixed.
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

// NewAffine returns the model Σ_k w_k E_k(x) + b, whose weights w_k and offset b can change. Part 0
// is the model base. Parts 1, 2, … are the statistics, which must have the shape of base. Initially
// the model equals base bit for bit: the weights are 1, 0, 0, … and b is 0.
//
// The result setWeights is a function that copies its arguments to w and b. It panics unless there
// is one weight per part. No method of the model may run at the same time. After a call of
// setWeights, every sampling kernel (package mcmc) on the model must be Reset. The model is
// [Varying].
//
// The model has the same support as base (the same states of positive probability). It also has the
// parameters of base and the numeric values of the levels. Statistics must be finite on the
// support. NewAffine returns an error if a model is nil or shapes differ.
func NewAffine(base Model, statistics ...Model) (a *Affine, setWeights func(weight []float64, offset float64), err error) {
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

// fit returns an error if m is nil or differs in shape from the first model that fit was called
// with. name, first and caller are used in the message.
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

// single returns an Affine whose only part is m, with weight 1.
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

// add appends m to a sum that has no factor yet. If m is an Affine, its fixed sites move to a,
// unless they contradict sites fixed already. If m is a plain sum and the first model, its parts
// are added instead of m.
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

// hold fixes sites in addition to those that are fixed already; nil fixes none. It returns false,
// and changes nothing, if a site would have two different levels.
func (a *Affine) hold(fixed []int32) bool {
	if fixed == nil {
		return true
	}
	all := slices.Clone(fixed)
	for i, l := range a.fixed {
		if l == free {
			continue
		}
		if all[i] != free && all[i] != l {
			return false
		}
		all[i] = l
	}
	a.fixed, a.which = all, nil
	for i, l := range all {
		if l != free {
			a.which = append(a.which, i)
		}
	}
	return true
}

// unclamped returns a copy of a without fixed sites. a must not be one whose weights change.
func (a *Affine) unclamped() Model {
	c := *a
	c.fixed, c.which = nil, nil
	return c.finish().least()
}

// least returns the only part of a if it has the same energy as a, and otherwise a itself.
func (a *Affine) least() Model {
	if len(a.parts) == 1 && a.weight[0] == 1 && a.factor == 1 && a.offset == 0 && a.fixed == nil {
		return a.parts[0]
	}
	return a
}

// finish computes the fields that depend on the parts: values, hidden and an empty graph cache.
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

// Shape returns the numbers of sites and levels. All summed models have this shape.
func (a *Affine) Shape() (sites, levels int) { return a.sites, a.levels }

// Energy stores in e the energies of the states x; it implements [Model].
func (a *Affine) Energy(e []float64, x []int32) {
	a.add64(e, a.offset, func(k int, e []float64) { a.parts[k].Energy(e, x) })
	a.energies(e, x)
}

// add64 sets d to c·(Σ_k w_k d_k + offset), where fill stores the values d_k of part k.
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

// begin turns the values of part 0 in d into the first summand: it multiplies them by their weight
// and adds offset.
func (a *Affine) begin(d []float64, offset float64) {
	weighted.Scale(d, a.weight[0])
	if offset != 0 {
		for i := range d {
			d[i] += offset
		}
	}
}

// addTables stores the weighted sums of the parts' energies in e and of their tables in g. fill
// stores the energies and the table of part k.
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
				simd.AddFinite(g, w, *bg)
			}
		}
	}
	weighted.Scale(e, a.factor)
	weighted.Scale(g, a.factor)
}

// energies sets e[s] to +Inf for every state s in which a fixed site has another level.
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

// rows sets the rows of the fixed sites in a table of differences to 0 at the current level and
// +Inf elsewhere. center returns the column of the current level of the site in row at.
func (a *Affine) rows(g []float32, columns int, center func(at int) int) {
	for s := 0; s < len(g)/columns && len(a.which) > 0; s += a.sites {
		for _, i := range a.which {
			block(g[(s+i)*columns:(s+i+1)*columns], center(s+i))
		}
	}
}

// block sets every entry of a row to +Inf, except the entry at index but, which becomes 0.
func block[T float32 | float64](row []T, but int) {
	for l := range row {
		row[l] = T(math.Inf(1))
	}
	row[but] = 0
}

// fields sets the field of every fixed site to sign·Inf if the site is fixed at 0, and to −sign·Inf
// if it is fixed at 1.
func (a *Affine) fields(h []float32, sign int) {
	for s := 0; s < len(h) && len(a.which) > 0; s += a.sites {
		for _, i := range a.which {
			h[s+i] = float32(math.Inf(sign * int(1-2*a.fixed[i])))
		}
	}
}

// coefficient returns c·w_k, by which the energy of part k is multiplied.
func (a *Affine) coefficient(k int) float64 { return a.factor * a.weight[k] }

// once caches the graph of an Affine, which is computed on first use.
type once struct {
	sync.Once
	graph
}

// graph is a list of the neighbours of each site in compressed rows, as in [Graphical].
type graph struct{ start, adj []int32 }

func (g graph) equal(o graph) bool {
	return slices.Equal(g.start, o.start) && slices.Equal(g.adj, o.adj)
}

// unite returns the union of graphs with the same sites. If one graph has all edges, the result
// shares its slices.
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

// As implements [Capable]: it finds the optional interfaces that an Affine supports. An Affine
// supports each of [Binary], [Conditional], [Local], [Graphical] and [Windowed] if all of its parts
// (the models that it sums) do. It is also
//
//   - [Differentiable] if all parts are. In a sum of several parts, a Binary or Windowed part
//     counts as Differentiable;
//   - [Ordinal] if at least one part is;
//   - [Supported] if at least one part is or sites are fixed. Repair calls the Repair of each such
//     part and then sets the fixed sites. If these changes conflict, a state may still have
//     probability zero;
//   - [Stochastic] if at least one part is and all others have tables;
//   - [Incremental] if exactly one part is and all parts are Binary;
//   - [Parametric] if at least one part is. The parameters of all such parts are concatenated;
//   - [Learnable] if at least one part is. The other parts do not change;
//   - [Varying] if its weights can change ([NewAffine]) or at least one part is Varying.
//
// A single-site model is one whose energy is a sum of terms that depend on one site each. Without
// fixed sites an Affine is also
//
//   - [Toroidal] if each part is Toroidal on the same lattice or is a single-site model with the
//     same term at every site;
//   - [Matching] if each part is Matching on the same graph or is a single-site model with the same
//     term at every site;
//   - [Pairwise] if each part is Pairwise, is Matching with two levels, or is a single-site model
//     with two levels.
//
// In any case, an Affine is
//
//   - [Bipartite] or [IncrementalBipartite] if exactly one part is, with weight 1, and the others
//     are single-site models with two levels;
//   - [Factored] if each part is Factored or is a single-site model. A part with hidden units must
//     have weight 1. Each fixed site adds a table that forbids its other levels.
//
// With fixed sites an Affine is [Clamped]. Its method Unclamped returns the model without them.
func (a *Affine) As(target any) bool {
	switch p := target.(type) {
	case *Differentiable:
		tables := a.tables()
		return tables != nil && Give(p, Differentiable(affineTable{a, tables}))
	case *Binary:
		return a.levels == 2 && join(a, p, func(m []Binary) Binary { return affineField{a, m} })
	case *Incremental:
		c, ok := changing(a, func(m Incremental) changes { return m.FieldFrom })
		return ok && Give(p, Incremental(c))
	case *proposing:
		cheap, ok := changing(a, func(m proposing) changes { return m.ProposalFrom })
		c, _ := changing(a, func(m Incremental) changes { return m.FieldFrom })
		return ok && Give(p, proposing(affineProposals{c, cheap}))
	case *Conditional:
		return join(a, p, func(m []Conditional) Conditional { return affineConditional[Conditional]{a, m} })
	case *Local:
		return join(a, p, func(m []Local) Local { return newAffineLocal(a, m) })
	case *Graphical:
		return join(a, p, func(m []Graphical) Graphical { return affineGraph{a, m} })
	case *Ordinal:
		return a.values != nil && Give(p, Ordinal(affineOrdinal{a}))
	case *Windowed:
		return a.values != nil && join(a, p, func(m []Windowed) Windowed { return affineWindow{affineOrdinal{a}, m} })
	case *Stochastic:
		return a.asStochastic(p)
	case *Supported:
		parts := some[Supported](a.parts[:a.own])
		return (parts != nil || a.fixed != nil) && Give(p, Supported(affineSupport{a, parts}))
	case *Parametric:
		return a.asParametric(p)
	case *Learnable:
		return some[Learnable](a.parts[:a.own]) != nil && Give(p, Learnable(affineLearn{a}))
	case *teller:
		return join(a, p, func(m []teller) teller { return affineCost(m) })
	case *Varying:
		changing := some[Varying](a.parts)
		return (a.varies || changing != nil) && Give(p, Varying(affineVarying{a, changing}))
	}
	return a.asStructure(target)
}

// all returns the models as Ts, or nil if one of them does not support T.
func all[T any](models []Model) []T {
	if ts := some[T](models); len(ts) == len(models) {
		return ts
	}
	return nil
}

// some returns those models that support T, as Ts.
func some[T any](models []Model) (ts []T) {
	for _, m := range models {
		if t, ok := As[T](m); ok {
			ts = append(ts, t)
		}
	}
	return ts
}

// join sets *p to wrap(parts) and returns true if all parts of a support T. Otherwise it returns
// false.
func join[T any](a *Affine, p *T, wrap func([]T) T) bool {
	parts := all[T](a.parts)
	if parts != nil {
		*p = wrap(parts)
	}
	return parts != nil
}

// tables returns all parts as [Differentiable], or nil if one has no table. If there are several
// parts, tables made from fields and windows count, too.
func (a *Affine) tables() []Differentiable {
	if len(a.parts) == 1 {
		return all[Differentiable](a.parts)
	}
	tables := make([]Differentiable, len(a.parts))
	for k, m := range a.parts {
		var ok bool
		if tables[k], ok = tableOf(m); !ok {
			return nil
		}
	}
	return tables
}

// affineTable implements [Differentiable] for an Affine.
type affineTable struct {
	*Affine
	m []Differentiable
}

// Gradient stores the energies in e. Each summed model has a table of energy differences; Gradient
// stores their weighted sum in g. It implements [Differentiable].
func (a affineTable) Gradient(e []float64, g []float32, x []int32) {
	a.addTables(e, g, func(k int, e []float64, g []float32) { a.m[k].Gradient(e, g, x) })
	a.energies(e, x)
	a.rows(g, a.levels, func(at int) int { return int(x[at]) })
}

// affineField implements [Binary] for an Affine.
type affineField struct {
	*Affine
	m []Binary
}

// Field stores the energies in e. In h it stores the field, as a weighted sum over the summed
// models. It implements [Binary].
func (a affineField) Field(e []float64, h []float32, x []int32) {
	a.addTables(e, h, func(k int, e []float64, h []float32) { a.m[k].Field(e, h, x) })
	a.energies(e, x)
	a.fields(h, 1)
}

// affineChanges implements [Incremental] for an Affine with one incremental part.
type affineChanges struct {
	affineField
	from  changes // method FieldFrom (or ProposalFrom) of the incremental part
	at    int     // index of the incremental part
	cache int     // CacheLen of the incremental part
}

// changes is the type of the methods FieldFrom of an [Incremental] model and ProposalFrom of a
// proposing one.
type changes = func(e []float64, h []float32, newCache []float64, y []int32, cache []float64, x []int32)

// proposing is the interface mcmc.Proposing, repeated here because energy cannot import mcmc.
type proposing = interface {
	Incremental
	ProposalFrom(e []float64, h []float32, newCache []float64, y []int32, cache []float64, x []int32)
}

// changing returns a as an incremental model if exactly one part supports T, all parts are
// [Binary], and there are two levels. from selects the method of that part to call.
func changing[T Incremental](a *Affine, from func(T) changes) (c affineChanges, ok bool) {
	fields := all[Binary](a.parts)
	for k, m := range a.parts {
		if i, is := As[T](m); is {
			if ok {
				return c, false
			}
			c, ok = affineChanges{affineField{a, fields}, from(i), k, i.CacheLen()}, true
		}
	}
	return c, ok && a.levels == 2 && fields != nil
}

// CacheLen returns the number of cached values per state. Exactly one of the summed models is
// [Incremental], and the values are the cache of this model.
func (a affineChanges) CacheLen() int { return a.cache }

// FieldFrom stores the energies of the states y in e and the fields of y in h. Exactly one of the
// summed models is Incremental. FieldFrom evaluates this model with the cache of the earlier states
// x, and all other models from scratch. It implements [Incremental].
func (a affineChanges) FieldFrom(e []float64, h []float32, newCache []float64, y []int32, cache []float64, x []int32) {
	if a.at > 0 && a.weight[a.at] == 0 { // addTables skips a part of weight 0
		a.from(e, h, newCache, y, cache, x)
	}
	a.addTables(e, h, func(k int, e []float64, h []float32) {
		if k == a.at {
			a.from(e, h, newCache, y, cache, x)
			return
		}
		a.m[k].Field(e, h, y)
	})
	a.energies(e, y)
	a.fields(h, 1)
}

// affineProposals implements mcmc.Proposing for an Affine: it also has a cheaper field for
// proposals.
type affineProposals struct {
	affineChanges
	cheap affineChanges
}

// ProposalFrom does the same as FieldFrom, except that the [Incremental] model in the sum
// contributes a cheaper, approximate field. Samplers use this field only to propose moves, which
// they then accept or reject by the exact energy. It implements mcmc.Proposing.
func (a affineProposals) ProposalFrom(e []float64, h []float32, newCache []float64, y []int32, cache []float64, x []int32) {
	a.cheap.FieldFrom(e, h, newCache, y, cache, x)
}

// affineConditional implements [Conditional] for an Affine whose parts support T.
type affineConditional[T Conditional] struct {
	*Affine
	m []T
}

// Conditional stores in d, for every level of one site, the energy at that level minus the energy
// of the state x. The result is a weighted sum over the summed models. It implements the interface
// [Conditional].
func (a affineConditional[T]) Conditional(d []float64, site int, x []int32) {
	a.add64(d, 0, func(k int, d []float64) { a.m[k].Conditional(d, site, x) })
	if a.fixed != nil && a.fixed[site] != free {
		block(d, int(x[site]))
	}
}

// affineLocal implements [Local] for an Affine.
type affineLocal struct {
	affineConditional[Local]
	graphs []Graphical // graph of each part; nil for a part that is not Graphical
	whole  Graphical   // graph of the Affine; nil if it is not Graphical
	every  []int32     // indices of all sites if whole is nil; otherwise nil
}

func newAffineLocal(a *Affine, m []Local) affineLocal {
	l := affineLocal{affineConditional: affineConditional[Local]{a, m}, graphs: make([]Graphical, len(m))}
	for k, part := range a.parts {
		l.graphs[k], _ = As[Graphical](part)
	}
	l.whole, _ = As[Graphical](a)
	for i := 0; l.whole == nil && i < a.sites; i++ {
		l.every = append(l.every, int32(i))
	}
	return l
}

// Locals stores in d the single-site energies of the state x. They are weighted sums over the
// summed models. Locals implements [Local].
func (a affineLocal) Locals(d []float64, x []int32) {
	a.add64(d, 0, func(k int, d []float64) { a.m[k].Locals(d, x) })
	for _, i := range a.which {
		block(d[i*a.levels:(i+1)*a.levels], int(a.fixed[i]))
	}
}

// Move updates the table d that Locals stored, for a change of one site to the given level. Move
// adds the weighted sum of the updates of the summed models. It implements [Local]. The row of a
// fixed site has only one finite entry, so any constant that Move adds to the row is harmless.
func (a affineLocal) Move(d []float64, site int, level int32, x []int32) {
	if a.factor == 1 {
		a.move(d, site, level, x)
		return
	}
	a.times(a.factor, a.whole, d, site, func(d []float64) { a.move(d, site, level, x) })
}

// move adds the weighted updates of all parts to d, without the factor c.
func (a affineLocal) move(d []float64, site int, to int32, x []int32) {
	for k, w := range a.weight {
		switch w {
		case 0:
		case 1:
			a.m[k].Move(d, site, to, x)
		default:
			a.times(w, a.graphs[k], d, site, func(d []float64) { a.m[k].Move(d, site, to, x) })
		}
	}
}

// times adds c times the update that move makes to d. g gives the rows that can change: those of
// the neighbours of site. If g is nil, all rows can change.
func (a affineLocal) times(c float64, g Graphical, d []float64, site int, move func(d []float64)) {
	rows := a.every
	if g != nil {
		start, adj := g.Graph()
		rows = adj[start[site]:start[site+1]]
	}
	if len(rows) == 0 {
		return
	}
	b := scratch.Float64s.Get(len(d))
	defer scratch.Float64s.Put(b)
	v := *b
	if 2*len(rows) >= a.sites { // most rows: one update of all rows is faster
		clear(v)
		move(v)
		simd.Axpy64(c, v, d)
		return
	}
	for _, i := range rows {
		clear(v[int(i)*a.levels : (int(i)+1)*a.levels])
	}
	move(v)
	for _, i := range rows {
		r := d[int(i)*a.levels : (int(i)+1)*a.levels]
		for l, change := range v[int(i)*a.levels : (int(i)+1)*a.levels] {
			r[l] += float64(c * change)
		}
	}
}

// affineGraph implements [Graphical] for an Affine.
type affineGraph struct {
	*Affine
	m []Graphical
}

// Graph returns the neighbours of each site. Two sites are neighbours if they are in at least one
// of the summed models, whatever its current weight. The graph is computed on the first call. Graph
// implements [Graphical].
func (a affineGraph) Graph() (start, adj []int32) {
	g := a.graph
	g.Do(func() {
		all := make([]graph, len(a.m))
		for k, m := range a.m {
			all[k].start, all[k].adj = m.Graph()
		}
		g.graph = unite(all)
	})
	return g.start, g.adj
}

// affineOrdinal implements [Ordinal] for an Affine.
type affineOrdinal struct{ *Affine }

// Values returns the numeric values of the levels. All summed models that are [Ordinal] have the
// same values. It implements [Ordinal].
func (a affineOrdinal) Values() []float32 { return a.values }

// affineWindow implements [Windowed] for an Affine.
type affineWindow struct {
	affineOrdinal
	m []Windowed
}

// Window stores the energies in e. In g it stores the energy differences for the levels at most w
// steps above or below the current level. The differences are weighted sums over the summed models.
// It implements [Windowed].
func (a affineWindow) Window(e []float64, g []float32, x []int32, w int) {
	a.addTables(e, g, func(k int, e []float64, g []float32) { a.m[k].Window(e, g, x, w) })
	a.energies(e, x)
	a.rows(g, 2*w+1, func(int) int { return w })
}

// affineEstimate implements [Stochastic] for an Affine.
type affineEstimate struct {
	*Affine
	m  []Stochastic // the stochastic parts, followed by the exact parts as estimates without noise
	at []int        // index in Affine.parts of each entry of m
}

// asStochastic stores a in p as [Stochastic] if at least one part is Stochastic and the others have
// tables. A table counts as an estimate without noise.
func (a *Affine) asStochastic(p *Stochastic) bool {
	s, sure := affineEstimate{Affine: a}, affineEstimate{}
	for k, m := range a.parts {
		if t, ok := As[Stochastic](m); ok {
			s.m, s.at = append(s.m, t), append(s.at, k)
		} else if t, ok := tableOf(m); ok {
			sure.m, sure.at = append(sure.m, certain{t}), append(sure.at, k)
		} else {
			return false
		}
	}
	known := s.m != nil
	s.m, s.at = append(s.m, sure.m...), append(s.at, sure.at...)
	return known && Give(p, Stochastic(s))
}

// Estimate stores in g an estimate of the table of energy differences. It is the weighted sum of
// the estimates of the summed models. These models draw from src one after the other, so their
// estimates are independent. The rows of fixed sites are exact. It implements [Stochastic].
func (a affineEstimate) Estimate(g []float32, x []int32, src []rand.Source) {
	b := scratch.Float32s.Get(len(g))
	defer scratch.Float32s.Put(b)
	first := true
	for n, m := range a.m {
		k := a.at[n]
		w := a.weight[k]
		if k > 0 && w == 0 {
			continue
		}
		m.Estimate(*b, x, src)
		if first {
			copy(g, *b)
			weighted.Scale(g, w)
		} else {
			simd.AddFinite(g, w, *b)
		}
		first = false
	}
	weighted.Scale(g, a.factor)
	if a.levels == 2 && len(g) == len(x) {
		a.fields(g, 1)
		return
	}
	a.rows(g, a.levels, func(at int) int { return int(x[at]) })
}

// certain implements [Stochastic] for a model with a table, by returning that table without noise.
type certain struct{ Differentiable }

// Estimate stores the exact table of energy differences in g, or the exact field if there are two
// levels and len(g) = len(x). It draws nothing from src. An [Affine] uses it for a summed model
// that is not Stochastic itself. It implements [Stochastic].
func (m certain) Estimate(g []float32, x []int32, src []rand.Source) {
	_, levels := m.Shape()
	e, t := scratch.Float64s.Get(len(src)), scratch.Float32s.Get(len(x)*levels)
	defer scratch.Float64s.Put(e)
	defer scratch.Float32s.Put(t)
	m.Gradient(*e, *t, x)
	if levels != 2 || len(g) != len(x) {
		copy(g, *t)
		return
	}
	for i := range g {
		g[i] = (*t)[2*i+1] - (*t)[2*i]
	}
}

// affineSupport implements [Supported] for an Affine.
type affineSupport struct {
	*Affine
	m []Supported
}

// Repair calls the method Repair of each summed model that is [Supported] and then sets the fixed
// sites. If several models are summed, it does this twice, because a later model may undo the
// repair of an earlier one. It implements [Supported].
func (a affineSupport) Repair(x []int32) {
	check.Rows("energy", "x", len(x), a.sites)
	rounds := 1
	if a.own > 1 {
		rounds = 2 // a later part may undo the repair of an earlier one
	}
	for range rounds {
		for _, m := range a.m {
			m.Repair(x)
		}
		for s := 0; s < len(x); s += a.sites {
			for _, i := range a.which {
				x[s+i] = a.fixed[i]
			}
		}
	}
}

// affineCost implements Cost for an Affine from the costs of its parts.
type affineCost []teller

// Cost returns two estimated times in nanoseconds: for the energy of a state, and for its table of
// energy differences. Each time is the total over all models in the sum.
func (c affineCost) Cost() (energy, table float64) {
	for _, m := range c {
		e, t := m.Cost()
		energy, table = energy+e, table+t
	}
	return energy, table
}

// affineParams implements [Parametric] for an Affine. Its θ holds the parameters of all parametric
// parts, one part after the other. In a state outside the support, the gradient is that of the
// model without fixed sites.
type affineParams struct {
	*Affine
	m  []Parametric
	at []int // index in Affine.parts of each entry of m
}

// asParametric stores a in p as [Parametric] if at least one part has parameters.
func (a *Affine) asParametric(p *Parametric) bool {
	own := affineParams{Affine: a}
	for k, m := range a.parts[:a.own] {
		if t, ok := As[Parametric](m); ok {
			own.m, own.at = append(own.m, t), append(own.at, k)
		}
	}
	return own.m != nil && Give(p, Parametric(own))
}

// Params returns the concatenated parameters θ of all [Parametric] models in the sum.
func (a affineParams) Params() (theta []float64) {
	for _, m := range a.m {
		theta = append(theta, m.Params()...)
	}
	return theta
}

// ParamGradient adds to g the gradients of the summed models with respect to their parameters, each
// multiplied by the weight of its model. It implements [Parametric].
func (a affineParams) ParamGradient(g []float64, x []int32, w []float64) {
	n := 0
	for i, m := range a.m {
		own := g[n : n+len(m.Params())]
		n += len(own)
		c := a.coefficient(a.at[i])
		if c == 1 {
			m.ParamGradient(own, x, w)
			continue
		}
		b := scratch.Float64s.Get(len(own))
		defer scratch.Float64s.Put(b)
		clear(*b)
		m.ParamGradient(*b, x, w)
		for k, v := range *b {
			own[k] += float64(c * v)
		}
	}
	check.Len("energy", "g", len(g), n)
}

// SetParams sets the parameters of all [Parametric] models in the sum. If one of these models
// returns an error, all of them keep their previous parameters.
func (a affineParams) SetParams(theta []float64) error {
	before := a.Params()
	check.Len("energy", "theta", len(theta), len(before))
	if err := a.set(theta); err != nil {
		if back := a.set(before); back != nil {
			return back
		}
		return err
	}
	a.hidden = a.layered()
	return nil
}

func (a affineParams) set(theta []float64) error {
	for _, m := range a.m {
		n := len(m.Params())
		if err := m.SetParams(theta[:n]); err != nil {
			return err
		}
		theta = theta[n:]
	}
	return nil
}

// affineLearn implements [Learnable] for an Affine.
type affineLearn struct{ *Affine }

// Learn returns a copy of the Affine whose parameters can change. In the copy, every summed model
// that is [Learnable] is replaced by the result of its Learn method. The copy shares the other
// models with the original.
func (a affineLearn) Learn() (Parametric, error) {
	c := *a.Affine
	c.parts, c.weight, c.varies = slices.Clone(a.parts), slices.Clone(a.weight), false
	for k, m := range c.parts[:a.own] {
		if l, ok := As[Learnable](m); ok {
			p, err := l.Learn()
			if err != nil {
				return nil, err
			}
			c.parts[k] = p
		}
	}
	p, ok := As[Parametric](c.finish())
	if !ok {
		return nil, fmt.Errorf("energy: Learn: %T is no energy.Parametric", c.parts[0])
	}
	return p, nil
}

// affineVarying implements [Varying] for an Affine.
type affineVarying struct {
	*Affine
	changing []Varying // parts that are Varying themselves
}

// Version returns a number that changes whenever the weights or a [Varying] model in the sum
// change. It implements [Varying].
func (a affineVarying) Version() uint64 {
	v := a.version
	for _, m := range a.changing {
		v += m.Version()
	}
	return v
}

// Now returns an immutable copy of the model with its current weights. Summed models of weight 0
// are omitted.
func (a affineVarying) Now() Model {
	c := *a.Affine
	c.parts, c.weight, c.own, c.varies = nil, nil, 0, false
	for k, m := range a.parts {
		if k > 0 && a.weight[k] == 0 {
			continue
		}
		if v, ok := As[Varying](m); ok {
			m = v.Now()
		}
		if c.parts, c.weight = append(c.parts, m), append(c.weight, a.weight[k]); k < a.own {
			c.own++
		}
	}
	return c.finish().least()
}

// asStructure handles the interfaces in As whose numbers a kernel may read once and keep, such as
// [Pairwise]. It returns false if the weights can change.
func (a *Affine) asStructure(target any) bool {
	if a.varies {
		return false
	}
	switch p := target.(type) {
	case *Bipartite:
		return a.hidden != nil && Give(p, Bipartite(affineLayers{a}))
	case *IncrementalBipartite:
		if a.hidden == nil {
			return false
		}
		m, ok := As[IncrementalBipartite](a.hidden.m)
		return ok && Give(p, IncrementalBipartite(affineLayerChanges{affineLayers{a}, m}))
	case *Factored:
		parts, ok := a.factored()
		return ok && Give(p, Factored(affineFactors{a, parts}))
	case *Clamped:
		return len(a.which) > 0 && Give(p, Clamped(affineClamp{a}))
	}
	if len(a.which) > 0 {
		return false
	}
	matches := some[Matching](a.parts)
	switch p := target.(type) {
	case *Toroidal:
		return a.levels == 2 && some[Toroidal](a.parts) != nil && Give(p, Toroidal(affineTorus{a}))
	case *Matching:
		graphs := all[Graphical](a.parts)
		return matches != nil && graphs != nil && Give(p, Matching(affineMatching{affineGraph{a, graphs}}))
	case *Pairwise:
		return a.levels == 2 && (matches != nil || some[Pairwise](a.parts) != nil) && Give(p, Pairwise(affinePairs{a}))
	}
	return false
}

// sitewise returns the cost of every level at every site, sites × levels, if the energy of m is a
// sum of finite single-site terms that do not change. Costs are relative to level 0.
func sitewise(m Model) (costs []float64, ok bool) {
	g, graphical := As[Graphical](m)
	c, conditional := As[Conditional](m)
	_, varies := As[Varying](m)
	if _, clamped := As[Clamped](m); !graphical || !conditional || varies || clamped {
		return nil, false
	}
	if _, adj := g.Graph(); len(adj) > 0 {
		return nil, false
	}
	sites, levels := m.Shape()
	costs, x := make([]float64, sites*levels), make([]int32, sites)
	for i := range x {
		c.Conditional(costs[i*levels:(i+1)*levels], i, x)
	}
	return costs, check.AllFinite(costs)
}

// alike returns the cost of every level if the energy of m is a sum of single-site terms that are
// finite, equal at all sites, and do not change.
func alike(m Model) (costs []float64, ok bool) {
	if _, learns := As[Parametric](m); learns {
		return nil, false
	}
	costs, ok = sitewise(m)
	if !ok {
		return nil, false
	}
	_, levels := m.Shape()
	return costs[:levels], slices.Equal(costs[levels:], costs[:len(costs)-levels])
}

// uniform holds the numbers of a [Toroidal] or [Matching] model, which are the same at every site.
type uniform struct {
	edges graph // graph of the interactions; for a torus only adj[0], the number of columns
	v     []float64
}

// uniform returns the weighted sum of the parts' numbers, where of returns the numbers of a part. A
// part for which of fails must be a sum of equal single-site terms; site then converts the costs of
// its levels to numbers. ok is false if a part is of neither kind or edges differ.
func (a *Affine) uniform(of func(m Model) (uniform, bool), site func(row []float64) []float64) (sum uniform, ok bool) {
	for k, m := range a.parts {
		u, known := of(m)
		if !known {
			row, same := alike(m)
			if !same {
				return sum, false
			}
			u.v = site(row)
		}
		if k == 0 {
			sum.v = make([]float64, len(u.v))
		}
		if len(u.edges.adj) > 0 {
			if len(sum.edges.adj) > 0 && !sum.edges.equal(u.edges) {
				return sum, false
			}
			sum.edges = u.edges
		}
		for i, v := range u.v {
			sum.v[i] += float64(a.weight[k] * v)
		}
	}
	for i := range sum.v {
		sum.v[i] *= a.factor
	}
	return sum, check.AllFinite(sum.v)
}

// affineTorus implements [Toroidal] for an Affine.
type affineTorus struct{ *Affine }

// Torus returns the number of columns of the lattice. It also returns the energy differences d[k] =
// E(x_i=1) − E(x_i=0) of a site i with k neighbours at level 1, k = 0, …, 4. They are weighted sums
// over the summed models. It implements [Toroidal].
func (a affineTorus) Torus() (cols int, d [5]float64, ok bool) {
	u, ok := a.uniform(torus, func(row []float64) []float64 { return slices.Repeat([]float64{row[1] - row[0]}, len(d)) })
	if !ok || len(u.edges.adj) == 0 {
		return 0, d, false
	}
	return int(u.edges.adj[0]), [5]float64(u.v), true
}

// torus returns the number of columns and the energy differences of a [Toroidal] model as a
// uniform.
func torus(m Model) (u uniform, ok bool) {
	if t, is := As[Toroidal](m); is {
		var cols int
		var d [5]float64
		cols, d, ok = t.Torus()
		u = uniform{graph{adj: []int32{int32(cols)}}, d[:]}
	}
	return u, ok
}

// affineMatching implements [Matching] for an Affine.
type affineMatching struct{ affineGraph }

// Matching returns the coupling, which all edges share, and the field of each level, as weighted
// sums over the summed models. It implements the interface [Matching].
func (a affineMatching) Matching() (coupling float64, field []float64, ok bool) {
	u, ok := a.uniform(matching, func(row []float64) []float64 {
		v := make([]float64, 1+len(row))
		for l := range row {
			v[1+l] = row[0] - row[l]
		}
		return v
	})
	if !ok {
		return 0, nil, false
	}
	return u.v[0], u.v[1:], true
}

// matching returns the graph of a [Matching] model, and its coupling (0 without edges) followed by
// its field.
func matching(m Model) (u uniform, ok bool) {
	if t, is := As[Matching](m); is {
		var coupling float64
		var field []float64
		if coupling, field, ok = t.Matching(); !ok {
			return u, false
		}
		u.v = append([]float64{0}, field...)
		if u.edges.start, u.edges.adj = t.Graph(); len(u.edges.adj) > 0 {
			u.v[0] = coupling
		}
	}
	return u, ok
}

// pairs holds the graph, weights and fields of a [Pairwise] model.
type pairs struct {
	graph
	weight, field []float64
}

// pairsOf returns the graph, weights and fields of a model with pair interactions. ok is false for
// any other model.
func pairsOf(m Model) (p pairs, ok bool) {
	if t, is := As[Pairwise](m); is {
		if p.start, p.adj, p.weight, p.field, ok = t.Pairs(); ok {
			return p, true
		}
	}
	if u, is := matching(m); is && len(u.v) == 3 {
		p.graph = u.edges
		p.weight, p.field = slices.Repeat([]float64{-2 * u.v[0]}, len(p.adj)), make([]float64, len(p.start)-1)
		for i := range p.field { // J[x_i = x_j] is J(1 − x_i − x_j + 2x_i x_j)
			p.field[i] = float64(u.v[0]*float64(p.start[i+1]-p.start[i])) + (u.v[1] - u.v[2])
		}
		return p, true
	}
	if _, learns := As[Parametric](m); learns {
		return p, false
	}
	costs, ok := sitewise(m)
	if !ok {
		return p, false
	}
	for i := 0; i < len(costs); i += 2 {
		p.field = append(p.field, costs[i+1]-costs[i])
	}
	p.start = make([]int32, len(p.field)+1)
	return p, true
}

// PairsOf returns the pair weights and fields of m in the form of [Pairwise]. Do not modify the
// slices. The result ok is true if m has two levels and one of these conditions holds:
//
//   - m is Pairwise;
//   - m is [Matching];
//   - the energy of m is a sum of single-site terms, and m is not [Parametric].
func PairsOf(m Model) (start, adj []int32, weight, field []float64, ok bool) {
	if check.Nil(m) || !two(m) {
		return nil, nil, nil, nil, false
	}
	p, ok := pairsOf(m)
	return p.start, p.adj, p.weight, p.field, ok
}

// affinePairs implements [Pairwise] for an Affine.
type affinePairs struct{ *Affine }

// Pairs returns the weight of every pair of sites that interact and the field of every site, as
// weighted sums over the summed models. It implements [Pairwise].
func (a affinePairs) Pairs() (start, adj []int32, weight, field []float64, ok bool) {
	parts := make([]pairs, len(a.parts))
	graphs := make([]graph, len(a.parts))
	for k, m := range a.parts {
		if parts[k], ok = pairsOf(m); !ok {
			return nil, nil, nil, nil, false
		}
		graphs[k] = parts[k].graph
	}
	all := unite(graphs)
	weight, field = make([]float64, len(all.adj)), make([]float64, a.sites)
	for k, p := range parts {
		for i, f := range p.field {
			field[i] += float64(a.weight[k] * f)
			at := all.start[i]
			for n := p.start[i]; n < p.start[i+1]; n++ {
				for all.adj[at] != p.adj[n] {
					at++
				}
				weight[at] += float64(a.weight[k] * p.weight[n])
			}
		}
	}
	weighted.Scale(weight, a.factor)
	weighted.Scale(field, a.factor)
	return all.start, all.adj, weight, field, true
}

// hidden describes the one bipartite part of an Affine and the effect of the other parts on it.
type hidden struct {
	m  Bipartite
	at int // index of the bipartite part
	// Log-odds that the other parts add at each visible site; nil if there are none.
	offset []float32
}

// layered returns the hidden units of the one bipartite part. It returns nil if there is not
// exactly one, if its coefficient is not 1, or if the energy of another part is not a sum of
// single-site terms.
func (a *Affine) layered() *hidden {
	var units *hidden
	for k, m := range a.parts {
		if b, ok := As[Bipartite](m); ok {
			if units != nil || a.varies || a.levels != 2 || a.coefficient(k) != 1 {
				return nil
			}
			units = &hidden{m: b, at: k}
		}
	}
	if units == nil || len(a.parts) == 1 {
		return units
	}
	offset := make([]float64, a.sites)
	for k, m := range a.parts {
		if k == units.at {
			continue
		}
		costs, ok := sitewise(m)
		if !ok {
			return nil
		}
		for i := range offset {
			offset[i] -= float64(a.coefficient(k) * (costs[2*i+1] - costs[2*i]))
		}
	}
	for _, v := range offset {
		units.offset = append(units.offset, float32(v))
	}
	return units
}

// affineLayers implements [Bipartite] for an Affine.
type affineLayers struct{ *Affine }

// Hidden returns the number of hidden units. Exactly one of the summed models is [Bipartite]. The
// hidden units are those of that model.
func (a affineLayers) Hidden() int { return a.hidden.m.Hidden() }

// HiddenField stores in f the log-odds of the hidden units. Only the Bipartite model in the sum
// contributes to them. HiddenField implements [Bipartite].
func (a affineLayers) HiddenField(f []float32, x []int32) { a.hidden.m.HiddenField(f, x) }

// VisibleField stores in f the log-odds of the visible sites given the hidden units. It includes
// the terms of the summed models that have no hidden units. The log-odds of a fixed site are ±Inf.
// It implements [Bipartite].
func (a affineLayers) VisibleField(f []float32, h []int32) {
	a.hidden.m.VisibleField(f, h)
	if a.hidden.offset != nil {
		for s := 0; s < len(f); s += a.sites {
			for i, v := range a.hidden.offset {
				f[s+i] += v
			}
		}
	}
	a.fields(f, -1)
}

// affineLayerChanges implements [IncrementalBipartite] for an Affine.
type affineLayerChanges struct {
	affineLayers
	m IncrementalBipartite
}

// CacheLen returns the number of cached values per state. Exactly one of the summed models is
// [Bipartite], and the values are the cache of this model.
func (a affineLayerChanges) CacheLen() int { return a.m.CacheLen() }

// HiddenFieldFrom stores in e the energies of the states y, and in f the log-odds of the hidden
// units given y. Exactly one of the summed models is [Bipartite]. HiddenFieldFrom evaluates this
// model with the cache of the earlier states x, and all other models from scratch. It implements
// [IncrementalBipartite].
func (a affineLayerChanges) HiddenFieldFrom(e []float64, f []float32, newCache []float64, y []int32, cache []float64, x []int32) {
	a.add64(e, a.offset, func(k int, e []float64) {
		if k == a.hidden.at {
			a.m.HiddenFieldFrom(e, f, newCache, y, cache, x)
			return
		}
		a.parts[k].Energy(e, y)
	})
	a.energies(e, y)
}

// affineClamp implements [Clamped] for an Affine.
type affineClamp struct{ *Affine }

// Unclamped returns the model without fixed sites, and the fixed level of each site (−1 for a free
// site). It implements [Clamped].
func (a affineClamp) Unclamped() (m Model, fixed []int32) { return a.unclamped(), a.fixed }

// affineFactors implements [Factored] for an Affine.
type affineFactors struct {
	*Affine
	m []Factored // factored parts; nil for a part whose energy is a sum of single-site terms
}

// factored returns the parts as [Factored], with nil for a part whose energy is a sum of
// single-site terms. ok is false if a part is of neither kind.
func (a *Affine) factored() (parts []Factored, ok bool) {
	parts = make([]Factored, len(a.parts))
	for k, m := range a.parts {
		if parts[k], ok = As[Factored](m); ok {
			continue
		}
		_, learns := As[Parametric](m)
		if _, ok = sitewise(m); !ok || learns {
			return nil, false
		}
	}
	return parts, true
}

// Factors returns the tables of all summed models, multiplied by the weights of the models. It adds
// a table with the offset and, for every fixed site, a table that forbids the site's other levels.
// It implements [Factored].
func (a affineFactors) Factors() (cards []int32, scopes [][]int32, tables [][]float64, ok bool) {
	cards = slices.Repeat([]int32{int32(a.levels)}, a.sites)
	own := make([][]int32, len(a.parts)) // numbers of levels of the factors of each part
	type entry struct {
		first *float64
		part  int
	}
	scaled := map[entry][]float64{}
	from := make([]int, len(a.parts)+1)
	for k, m := range a.m {
		from[k] = len(scopes)
		if k > 0 && a.weight[k] == 0 {
			continue
		}
		var s [][]int32
		var t [][]float64
		if m == nil {
			s, t = siteFactors(a.parts[k])
		} else if own[k], s, t, ok = m.Factors(); !ok {
			return nil, nil, nil, false
		}
		shift := int32(0)
		if hidden := own[k]; len(hidden) > a.sites {
			if a.coefficient(k) != 1 {
				return nil, nil, nil, false
			}
			shift = int32(len(cards) - a.sites)
			cards = append(cards, hidden[a.sites:]...)
		}
		for i, c := range own[k][:min(len(own[k]), a.sites)] {
			cards[i] = min(cards[i], c)
		}
		for j, scope := range s {
			if shift > 0 {
				scope = slices.Clone(scope)
				for n, v := range scope {
					if int(v) >= a.sites {
						scope[n] = v + shift
					}
				}
			}
			key := entry{&t[j][0], k}
			if scaled[key] == nil {
				scaled[key] = slices.Clone(t[j])
				weighted.Scale(scaled[key], a.weight[k])
				weighted.Scale(scaled[key], a.factor)
			}
			scopes, tables = append(scopes, scope), append(tables, scaled[key])
		}
	}
	from[len(a.parts)] = len(scopes)
	for k := range a.parts {
		for j := from[k]; j < from[k+1]; j++ {
			tables[j] = narrowed(tables[j], scopes[j], func(v int32) (before, now int) {
				before, now = a.levels, int(cards[v])
				if int(v) >= a.sites {
					before = now
				} else if own[k] != nil {
					before = int(own[k][v])
				}
				return before, now
			})
		}
	}
	for _, i := range a.which {
		t := slices.Repeat([]float64{math.Inf(1)}, int(cards[i]))
		if int(a.fixed[i]) < len(t) {
			t[a.fixed[i]] = 0
		}
		scopes, tables = append(scopes, []int32{int32(i)}), append(tables, t)
	}
	if a.offset != 0 {
		scopes, tables = append(scopes, nil), append(tables, []float64{a.factor * a.offset})
	}
	return cards, scopes, tables, true
}

// siteFactors returns a model whose energy is a sum of single-site terms as factors: a constant and
// one table per site.
func siteFactors(m Model) (scopes [][]int32, tables [][]float64) {
	sites, levels := m.Shape()
	e := make([]float64, 1)
	m.Energy(e, make([]int32, sites))
	scopes, tables = [][]int32{nil}, [][]float64{e}
	costs, _ := sitewise(m)
	for i := range sites {
		scopes, tables = append(scopes, []int32{int32(i)}), append(tables, costs[i*levels:(i+1)*levels])
	}
	return scopes, tables
}

// narrowed returns the part of a table in which each variable of the scope has a level below now.
// levels returns, for a variable v, its numbers of levels before and now. If they are all equal,
// the result is the table itself.
func narrowed(table []float64, scope []int32, levels func(v int32) (before, now int)) []float64 {
	inner := 1
	for k := len(scope) - 1; k >= 0; k-- {
		before, now := levels(scope[k])
		if before != now {
			var less []float64
			for at := 0; at < len(table); at += before * inner {
				less = append(less, table[at:at+now*inner]...)
			}
			table = less
		}
		inner *= now
	}
	return table
}
