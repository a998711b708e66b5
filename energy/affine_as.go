package energy

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/weighted"
)

// As implements [Capable]. An Affine supports what all of its parts support of [Binary],
// [Conditional], [Local], [Graphical] and [Windowed]; and
//
//   - it is [Differentiable] if its parts are, several ones also by fields or windows;
//   - [Ordinal] and [Supported] if one of them is (Repair asks several in turn, twice, so
//     that conflicting demands may leave a state of probability zero), and Supported with
//     fixed sites, which are set last;
//   - [Stochastic] if one is and the others have tables;
//   - [Incremental] if one is and the others are Binary;
//   - [Parametric] if one is: θ are those of all such parts, one after the other;
//     [Learnable] if one is, the others being kept as they are.
//
// Without fixed sites it is, by sums over sites meaning models with conditionals and a
// graph without edges,
//
//   - [Toroidal] if its parts are, on one lattice, or are sums over sites, all alike;
//   - [Matching] if its parts are, on one graph, or are sums over sites, all alike;
//   - [Pairwise] if its parts are, or are Matching with two levels,
//     or are sums over sites with two levels;
//   - [Bipartite] and [IncrementalBipartite] if one part is, of which the weight is 1, and the
//     others are sums over sites with two levels; with fixed sites, too. A scaled free
//     energy is not that of binary hidden units.
//
// With fixed sites it is [Clamped], with weights that change [Varying], and the model
// inside is what is said last.
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
		parts := a.parametric()
		return parts != nil && Give(p, Parametric(affineParams{a, parts}))
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
	a.rows(g, x)
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
}

func newAffineLocal(a *Affine, m []Local) affineLocal {
	l := affineLocal{affineConditional: affineConditional[Local]{a, m}, graphs: make([]Graphical, len(m))}
	for k, part := range a.parts {
		l.graphs[k], _ = As[Graphical](part)
	}
	l.whole, _ = As[Graphical](a)
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
	var near []int32
	if g != nil {
		start, adj := g.Graph()
		if near = adj[start[site]:start[site+1]]; len(near) == 0 {
			return
		}
	}
	b := scratch.Float64s.Get(len(d))
	defer scratch.Float64s.Put(b)
	change := *b
	if g == nil {
		clear(change)
		move(change)
		for i, v := range change {
			d[i] += float64(c * v)
		}
		return
	}
	row := func(v []float64, j int32) []float64 { return v[int(j)*a.levels : (int(j)+1)*a.levels] }
	for _, j := range near {
		clear(row(change, j))
	}
	move(change)
	for _, j := range near {
		from, r := row(change, j), row(d, j)
		for l, v := range from {
			r[l] += float64(c * v)
		}
	}
}

// affineGraph is an Affine as [Graphical].
type affineGraph struct {
	*Affine
	m []Graphical
}

// Graph implements [Graphical]: sites interact if they do in some part, whatever its
// weight is now. It is made when it is asked for the first time.
func (a affineGraph) Graph() (start, adj []int32) { return a.graph.of(a.m) }

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
	columns := 2*w + 1
	for s := 0; s < len(x) && len(a.which) > 0; s += a.sites {
		for _, i := range a.which {
			block(g[(s+i)*columns:(s+i+1)*columns], w)
		}
	}
}

// affineEstimate is an Affine as [Stochastic].
type affineEstimate struct {
	*Affine
	random []Stochastic     // one per part, nil where there is none
	tables []Differentiable // of the other parts
}

// asStochastic wants at least one estimate; the table of a part without one is
// an estimate without noise.
func (a *Affine) asStochastic(p *Stochastic) bool {
	s := affineEstimate{a, make([]Stochastic, len(a.parts)), make([]Differentiable, len(a.parts))}
	known := false
	for k, m := range a.parts {
		ok := false
		if s.random[k], ok = As[Stochastic](m); ok {
			known = true
		} else if s.tables[k], ok = tableOf(m); !ok {
			return false
		}
	}
	if known {
		*p = s
	}
	return known
}

// Estimate implements [Stochastic]. The parts draw in turn, independently, and then come
// those that do not draw; the rows of fixed sites are certain.
func (a affineEstimate) Estimate(g []float32, x []int32, src []rand.Source) {
	compact := a.levels == 2 && len(g) == len(x)
	b := scratch.Float32s.Get(len(g))
	e, t := scratch.Float64s.Get(len(src)), scratch.Float32s.Get(len(x)*a.levels)
	defer scratch.Float32s.Put(b)
	defer scratch.Float64s.Put(e)
	defer scratch.Float32s.Put(t)
	first := true
	take := func(own []float32, w float64) {
		if first {
			copy(g, own)
			weighted.Scale(g, w)
		} else {
			weighted.Add(g, own, w)
		}
		first = false
	}
	for k, r := range a.random {
		if r != nil && (k == 0 || a.weight[k] != 0) {
			r.Estimate(*b, x, src)
			take(*b, a.weight[k])
		}
	}
	for k, d := range a.tables {
		if d == nil || k > 0 && a.weight[k] == 0 {
			continue
		}
		d.Gradient(*e, *t, x)
		if !compact {
			take(*t, a.weight[k])
			continue
		}
		for i := range *b {
			(*b)[i] = (*t)[2*i+1] - (*t)[2*i]
		}
		take(*b, a.weight[k])
	}
	weighted.Scale(g, a.factor)
	if compact {
		a.fields(g, 1)
		return
	}
	a.rows(g, x)
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
	m []Parametric // one per part, nil where there are no parameters
}

// parametric returns the parts with parameters in their places, nil if there are none.
func (a *Affine) parametric() (parts []Parametric) {
	for k, m := range a.parts[:a.own] {
		if t, ok := As[Parametric](m); ok {
			if parts == nil {
				parts = make([]Parametric, a.own)
			}
			parts[k] = t
		}
	}
	return parts
}

// each calls f for the parts with parameters and the numbers from … to−1 of theirs.
func (a affineParams) each(f func(k int, m Parametric, from, to int) error) (n int, err error) {
	for k, m := range a.m {
		if m == nil {
			continue
		}
		to := n + len(m.Params())
		if err := f(k, m, n, to); err != nil {
			return n, err
		}
		n = to
	}
	return n, nil
}

// Params implements [Parametric].
func (a affineParams) Params() []float64 {
	var theta []float64
	for _, m := range a.m {
		if m != nil {
			theta = append(theta, m.Params()...)
		}
	}
	return theta
}

// ParamGradient implements [Parametric].
func (a affineParams) ParamGradient(g []float64, x []int32, w []float64) {
	n, _ := a.each(func(k int, m Parametric, from, to int) error {
		c := a.coefficient(k)
		if c == 1 {
			m.ParamGradient(g[from:to], x, w)
			return nil
		}
		b := scratch.Float64s.Get(to - from)
		defer scratch.Float64s.Put(b)
		clear(*b)
		m.ParamGradient(*b, x, w)
		for k, v := range *b {
			g[from+k] += float64(c * v)
		}
		return nil
	})
	check.Len("energy", "g", len(g), n)
}

// SetParams implements [Parametric]; a part that refuses leaves all as they were.
func (a affineParams) SetParams(theta []float64) error {
	before := a.Params()
	check.Len("energy", "theta", len(theta), len(before))
	set := func(theta []float64) func(int, Parametric, int, int) error {
		return func(_ int, m Parametric, from, to int) error { return m.SetParams(theta[from:to]) }
	}
	if _, err := a.each(set(theta)); err != nil {
		if _, back := a.each(set(before)); back != nil {
			return back
		}
		return err
	}
	a.hidden = a.layered()
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
