package energy

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/weighted"
)

// As implements [Capable]. An Affine supports each of [Binary], [Conditional], [Local],
// [Graphical] and [Windowed] if all of its parts do. In addition,
//
//   - it is [Differentiable] if its parts are; if there are several, any of them may have fields
//     or windows instead of tables;
//   - [Ordinal] if one part is; [Supported] if one part is or sites are fixed. Repair calls the
//     Repair of each such part in turn, twice, and sets fixed sites last; conflicting demands may
//     leave a state of probability zero;
//   - [Stochastic] if one is and the others have tables;
//   - [Incremental] if one is and the others are Binary;
//   - [Parametric] if one is: θ holds the parameters of all such parts, one part after the other;
//     [Learnable] if one is; the other parts are then kept as they are.
//
// A sum over sites is a model with conditionals and a graph without edges. Without fixed sites an
// Affine is also
//
//   - [Toroidal] if each part is Toroidal on the same lattice or is a sum over sites that are all
//     alike;
//   - [Matching] if each part is Matching on the same graph or is a sum over sites that are all
//     alike;
//   - [Pairwise] if each part is Pairwise, is Matching with two levels, or is a sum over sites
//     with two levels;
//   - [Bipartite] and [IncrementalBipartite] if one part is, with weight 1, and the others
//     are sums over sites with two levels; this also holds with fixed sites. A scaled free
//     energy is not that of binary hidden units.
//
// It is [Factored] if each part is Factored or is a sum over sites; a part with hidden units must
// have weight 1. A fixed site has a table that forbids its other levels.
//
// With fixed sites it is [Clamped], and [Clamped.Unclamped] returns the model without them. With
// weights that change it is [Varying].
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

// all returns every model as a T, or nil if one of them is not.
func all[T any](models []Model) []T {
	if ts := some[T](models); len(ts) == len(models) {
		return ts
	}
	return nil
}

// some returns the models that are Ts.
func some[T any](models []Model) (ts []T) {
	for _, m := range models {
		if t, ok := As[T](m); ok {
			ts = append(ts, t)
		}
	}
	return ts
}

// join stores in p what wrap makes of the parts if all of them are Ts.
func join[T any](a *Affine, p *T, wrap func([]T) T) bool {
	parts := all[T](a.parts)
	if parts != nil {
		*p = wrap(parts)
	}
	return parts != nil
}

// tables returns the tables of all parts, those made of fields and windows of several
// parts included, or nil if one has none.
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

// affineTable is an Affine as [Differentiable].
type affineTable struct {
	*Affine
	m []Differentiable
}

// Gradient implements [Differentiable]: tables add up.
func (a affineTable) Gradient(e []float64, g []float32, x []int32) {
	a.addTables(e, g, func(k int, e []float64, g []float32) { a.m[k].Gradient(e, g, x) })
	a.energies(e, x)
	a.rows(g, a.levels, func(at int) int { return int(x[at]) })
}

// affineField is an Affine as [Binary].
type affineField struct {
	*Affine
	m []Binary
}

// Field implements [Binary]: fields add up.
func (a affineField) Field(e []float64, h []float32, x []int32) {
	a.addTables(e, h, func(k int, e []float64, h []float32) { a.m[k].Field(e, h, x) })
	a.energies(e, x)
	a.fields(h, 1)
}

// affineChanges is an Affine as [Incremental].
type affineChanges struct {
	affineField
	from  changes // of the incremental part
	at    int     // of the parts
	cache int     // its CacheLen
}

// changes is FieldFrom of an [Incremental] model, or ProposalFrom of a proposing one.
type changes = func(e []float64, h []float32, next []float64, y []int32, cache []float64, x []int32)

// proposing is mcmc.Proposing.
type proposing = interface {
	Incremental
	ProposalFrom(e []float64, h []float32, next []float64, y []int32, cache []float64, x []int32)
}

// changing wants one part that is a T among fields.
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

// CacheLen implements [Incremental].
func (a affineChanges) CacheLen() int { return a.cache }

// FieldFrom implements [Incremental].
func (a affineChanges) FieldFrom(e []float64, h []float32, next []float64, y []int32, cache []float64, x []int32) {
	if a.at > 0 && a.weight[a.at] == 0 { // not evaluated below
		a.from(e, h, next, y, cache, x)
	}
	a.addTables(e, h, func(k int, e []float64, h []float32) {
		if k == a.at {
			a.from(e, h, next, y, cache, x)
			return
		}
		a.m[k].Field(e, h, y)
	})
	a.energies(e, y)
	a.fields(h, 1)
}

// affineProposals is an Affine with a cheaper field to propose by.
type affineProposals struct {
	affineChanges
	cheap affineChanges
}

// ProposalFrom implements mcmc.Proposing.
func (a affineProposals) ProposalFrom(e []float64, h []float32, next []float64, y []int32, cache []float64, x []int32) {
	a.cheap.FieldFrom(e, h, next, y, cache, x)
}

// affineConditional is an Affine as [Conditional].
type affineConditional[T Conditional] struct {
	*Affine
	m []T
}

// Conditional implements [Conditional]: differences add up.
func (a affineConditional[T]) Conditional(d []float64, site int, x []int32) {
	a.add64(d, 0, func(k int, d []float64) { a.m[k].Conditional(d, site, x) })
	if a.fixed != nil && a.fixed[site] != free {
		block(d, int(x[site]))
	}
}

// affineLocal is an Affine as [Local].
type affineLocal struct {
	affineConditional[Local]
	graphs []Graphical // one per part, nil where it is not known
	whole  Graphical   // nil if it is not known
	every  []int32     // all sites, in that case
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

// Locals implements [Local]: tables add up.
func (a affineLocal) Locals(d []float64, x []int32) {
	a.add64(d, 0, func(k int, d []float64) { a.m[k].Locals(d, x) })
	for _, i := range a.which {
		block(d[i*a.levels:(i+1)*a.levels], int(a.fixed[i]))
	}
}

// Move implements [Local]: every part adds its change, which to the row of a fixed site
// is a constant to its one finite entry.
func (a affineLocal) Move(d []float64, site int, to int32, x []int32) {
	if a.factor == 1 {
		a.move(d, site, to, x)
		return
	}
	a.times(a.factor, a.whole, d, site, func(d []float64) { a.move(d, site, to, x) })
}

// move is Move without the factor.
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

// times adds to d what move adds to zeros, c times: to the rows of the neighbours of the
// site, or to all rows if these are not known.
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
	if 2*len(rows) >= a.sites { // nearly all of them: in one go
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

// affineGraph is an Affine as [Graphical].
type affineGraph struct {
	*Affine
	m []Graphical
}

// Graph implements [Graphical]: sites interact if they do in some part, whatever its
// weight is now. It is made on first use.
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

// affineOrdinal is an Affine as [Ordinal].
type affineOrdinal struct{ *Affine }

// Values implements [Ordinal].
func (a affineOrdinal) Values() []float32 { return a.values }

// affineWindow is an Affine as [Windowed].
type affineWindow struct {
	affineOrdinal
	m []Windowed
}

// Window implements [Windowed]: windows add up.
func (a affineWindow) Window(e []float64, g []float32, x []int32, w int) {
	a.addTables(e, g, func(k int, e []float64, g []float32) { a.m[k].Window(e, g, x, w) })
	a.energies(e, x)
	a.rows(g, 2*w+1, func(int) int { return w })
}

// affineEstimate is an Affine as [Stochastic].
type affineEstimate struct {
	*Affine
	m  []Stochastic // parts that draw, then those that do not
	at []int        // of the parts
}

// asStochastic requires at least one estimate; the table of a part without one
// is an estimate without noise.
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

// Estimate implements [Stochastic]. The parts draw in turn, independently; the rows of
// fixed sites are certain.
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
			weighted.Add(g, *b, w)
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

// certain is a table as an estimate.
type certain struct{ Differentiable }

// Estimate implements [Stochastic].
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

// affineSupport is an Affine as [Supported].
type affineSupport struct {
	*Affine
	m []Supported
}

// Repair implements [Supported].
func (a affineSupport) Repair(x []int32) {
	check.Rows("energy", "x", len(x), a.sites)
	rounds := 1
	if a.own > 1 {
		rounds = 2 // what a later part changed an earlier one may want back
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

// affineCost is what the parts of an Affine cost.
type affineCost []teller

// Cost adds up.
func (c affineCost) Cost() (energy, table float64) {
	for _, m := range c {
		e, t := m.Cost()
		energy, table = energy+e, table+t
	}
	return energy, table
}

// affineParams is an Affine as [Parametric]: θ is that of the parts that have some, one
// after the other. States outside the support have the gradient of the model inside.
type affineParams struct {
	*Affine
	m  []Parametric
	at []int // of the parts
}

// asParametric wants one part with parameters.
func (a *Affine) asParametric(p *Parametric) bool {
	own := affineParams{Affine: a}
	for k, m := range a.parts[:a.own] {
		if t, ok := As[Parametric](m); ok {
			own.m, own.at = append(own.m, t), append(own.at, k)
		}
	}
	return own.m != nil && Give(p, Parametric(own))
}

// Params implements [Parametric].
func (a affineParams) Params() (theta []float64) {
	for _, m := range a.m {
		theta = append(theta, m.Params()...)
	}
	return theta
}

// ParamGradient implements [Parametric].
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

// SetParams implements [Parametric]; a part that refuses leaves all as they were.
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

// affineLearn is an Affine as [Learnable]: parts that are not are kept as they are.
type affineLearn struct{ *Affine }

// Learn implements [Learnable].
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

// affineVarying is an Affine as [Varying].
type affineVarying struct {
	*Affine
	changing []Varying // among its parts
}

// Version implements [Varying].
func (a affineVarying) Version() uint64 {
	v := a.version
	for _, m := range a.changing {
		v += m.Version()
	}
	return v
}

// Now implements [Varying]: without the parts of weight 0.
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
