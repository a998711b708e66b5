package energy

import (
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// As implements [Capable].
func (s *sum) As(target any) bool {
	switch p := target.(type) {
	case *Differentiable:
		tables := s.tables()
		return tables != nil && Give(target, Differentiable(sumTable{s, tables}))
	case *Binary:
		return join(s, p, func(m []Binary) Binary { return sumField{s, m} })
	case *Conditional:
		return join(s, p, func(m []Conditional) Conditional { return sumConditional[Conditional]{s, m} })
	case *Local:
		return join(s, p, func(m []Local) Local { return sumLocal{sumConditional[Local]{s, m}} })
	case *Graphical:
		return s.start != nil && Give(target, Graphical(sumGraph{s}))
	case *Ordinal:
		return s.values != nil && Give(target, Ordinal(sumOrdinal{s}))
	case *Windowed:
		return join(s, p, func(m []Windowed) Windowed { return sumWindow{sumOrdinal{s}, m} })
	case *Stochastic:
		return s.asStochastic(p)
	case *Supported:
		return s.asSupported(p)
	case *Parametric:
		return s.asParametric(p)
	case *teller:
		return join(s, p, func(m []teller) teller { return sumCost(m) })
	case *Learnable:
		return s.asLearnable(p)
	case *Bipartite:
		return s.bipartite != nil && Give(target, Bipartite(sumBipartite{s}))
	}
	return false
}

// join stores in p what wrap makes of the parts if all of them are Ts.
func join[T any](s *sum, p *T, wrap func([]T) T) bool {
	parts := all[T](s.parts)
	if parts != nil {
		*p = wrap(parts)
	}
	return parts != nil
}

// tables returns the tables of all parts, those made of fields and windows
// included, or nil if a part has none.
func (s *sum) tables() []Differentiable {
	tables := make([]Differentiable, len(s.parts))
	for k, m := range s.parts {
		var ok bool
		if tables[k], ok = tableOf(m); !ok {
			return nil
		}
	}
	return tables
}

// sumTable is a sum as [Differentiable].
type sumTable struct {
	*sum
	m []Differentiable
}

// Gradient implements [Differentiable]: tables add up.
func (s sumTable) Gradient(e []float64, g []float32, x []int32) {
	addTables(e, g, func(k int, e []float64, g []float32) { s.m[k].Gradient(e, g, x) }, len(s.m))
}

// sumField is a sum as [Binary].
type sumField struct {
	*sum
	m []Binary
}

// Field implements [Binary]: fields add up.
func (s sumField) Field(e []float64, h []float32, x []int32) {
	addTables(e, h, func(k int, e []float64, h []float32) { s.m[k].Field(e, h, x) }, len(s.m))
}

// sumOrdinal is a sum as [Ordinal].
type sumOrdinal struct{ *sum }

// Values implements [Ordinal].
func (s sumOrdinal) Values() []float32 { return s.values }

// sumWindow is a sum as [Windowed].
type sumWindow struct {
	sumOrdinal
	m []Windowed
}

// Window implements [Windowed]: windows add up.
func (s sumWindow) Window(e []float64, g []float32, x []int32, w int) {
	addTables(e, g, func(k int, e []float64, g []float32) { s.m[k].Window(e, g, x, w) }, len(s.m))
}

// addTables stores in e and g the sums over k < n of what fill stores.
func addTables(e []float64, g []float32, fill func(k int, e []float64, g []float32), n int) {
	fill(0, e, g)
	be, bg := scratch.Float64s.Get(len(e)), scratch.Float32s.Get(len(g))
	defer scratch.Float64s.Put(be)
	defer scratch.Float32s.Put(bg)
	for k := 1; k < n; k++ {
		fill(k, *be, *bg)
		accumulate(e, *be)
		accumulate(g, *bg)
	}
}

// sumConditional is a sum as [Conditional].
type sumConditional[T Conditional] struct {
	*sum
	m []T
}

// Conditional implements [Conditional]: differences add up.
func (s sumConditional[T]) Conditional(d []float64, site int, x []int32) {
	s.m[0].Conditional(d, site, x)
	b := scratch.Float64s.Get(len(d))
	defer scratch.Float64s.Put(b)
	for _, m := range s.m[1:] {
		m.Conditional(*b, site, x)
		accumulate(d, *b)
	}
}

// sumLocal is a sum as [Local].
type sumLocal struct{ sumConditional[Local] }

// Locals implements [Local]: tables add up.
func (s sumLocal) Locals(d []float64, x []int32) {
	s.m[0].Locals(d, x)
	b := scratch.Float64s.Get(len(d))
	defer scratch.Float64s.Put(b)
	for _, m := range s.m[1:] {
		m.Locals(*b, x)
		accumulate(d, *b)
	}
}

// Move implements [Local]: every part adds its change.
func (s sumLocal) Move(d []float64, site int, to int32, x []int32) {
	for _, m := range s.m {
		m.Move(d, site, to, x)
	}
}

// sumGraph is a sum as [Graphical].
type sumGraph struct{ *sum }

// Graph implements [Graphical]: sites interact if they do in some part.
func (s sumGraph) Graph() (start, adj []int32) { return s.start, s.adj }

// sumSupported is a sum as [Supported].
type sumSupported struct {
	*sum
	m []Supported
}

// Repair implements [Supported].
func (s sumSupported) Repair(x []int32) {
	for range 2 { // what a later part changed an earlier one may want back
		for _, m := range s.m {
			m.Repair(x)
		}
	}
}

// sumBipartite is a sum as [Bipartite].
type sumBipartite struct{ *sum }

// Hidden implements [Bipartite].
func (s sumBipartite) Hidden() int { return s.bipartite.Hidden() }

// HiddenField implements [Bipartite]: the other parts know no hidden units.
func (s sumBipartite) HiddenField(f []float32, x []int32) { s.bipartite.HiddenField(f, x) }

// VisibleField implements [Bipartite].
func (s sumBipartite) VisibleField(f []float32, h []int32) {
	s.bipartite.VisibleField(f, h)
	for ; len(f) > 0; f = f[s.sites:] {
		accumulate(f[:s.sites], s.offset)
	}
}

// asStochastic wants at least one estimate; the table of a part without one is
// an estimate without noise.
func (s *sum) asStochastic(p *Stochastic) bool {
	var random []Stochastic
	var tables []Differentiable
	for _, m := range s.parts {
		if r, ok := As[Stochastic](m); ok {
			random = append(random, r)
		} else if d, ok := tableOf(m); ok {
			tables = append(tables, d)
		} else {
			return false
		}
	}
	if random != nil {
		*p = sumEstimate{s, random, tables}
	}
	return random != nil
}

func (s *sum) asSupported(p *Supported) bool {
	var parts []Supported
	for _, m := range s.parts {
		if r, ok := As[Supported](m); ok {
			parts = append(parts, r)
		}
	}
	if parts != nil {
		*p = sumSupported{s, parts}
	}
	return parts != nil
}

// sumEstimate is a sum as [Stochastic].
type sumEstimate struct {
	*sum
	random []Stochastic
	tables []Differentiable
}

// Estimate implements [Stochastic]; the parts draw in turn, independently.
func (m sumEstimate) Estimate(g []float32, x []int32, src []rand.Source) {
	m.random[0].Estimate(g, x, src)
	b := scratch.Float32s.Get(len(g))
	defer scratch.Float32s.Put(b)
	for _, r := range m.random[1:] {
		r.Estimate(*b, x, src)
		accumulate(g, *b)
	}
	e, t := scratch.Float64s.Get(len(src)), scratch.Float32s.Get(len(x)*m.levels)
	defer scratch.Float64s.Put(e)
	defer scratch.Float32s.Put(t)
	for _, d := range m.tables {
		d.Gradient(*e, *t, x)
		if m.levels == 2 && len(g) == len(x) {
			for i := range g {
				g[i] += (*t)[2*i+1] - (*t)[2*i]
			}
			continue
		}
		accumulate(g, *t)
	}
}

// sumCost is what the parts of a sum cost.
type sumCost []teller

// Cost adds up.
func (c sumCost) Cost() (energy, table float64) {
	for _, m := range c {
		e, t := m.Cost()
		energy, table = energy+e, table+t
	}
	return energy, table
}

// sumParams is a sum as [Parametric]: θ is that of the parts that have some, one
// after the other.
type sumParams struct {
	*sum
	m []Parametric
}

// asParametric wants at least one part with parameters.
func (s *sum) asParametric(p *Parametric) bool {
	var parts []Parametric
	for _, m := range s.parts {
		if t, ok := As[Parametric](m); ok {
			parts = append(parts, t)
		}
	}
	if parts != nil {
		*p = sumParams{s, parts}
	}
	return parts != nil
}

// Params implements [Parametric].
func (s sumParams) Params() []float64 {
	var theta []float64
	for _, m := range s.m {
		theta = append(theta, m.Params()...)
	}
	return theta
}

// ParamGradient implements [Parametric].
func (s sumParams) ParamGradient(g []float64, x []int32, w []float64) {
	for _, m := range s.m {
		n := len(m.Params())
		m.ParamGradient(g[:n], x, w)
		g = g[n:]
	}
	check.Len("energy", "g beyond the parameters", len(g), 0)
}

// SetParams implements [Parametric]; a part that refuses leaves all as they were.
func (s sumParams) SetParams(theta []float64) error {
	before := s.Params()
	check.Len("energy", "theta", len(theta), len(before))
	for k, m := range s.m {
		n := len(m.Params())
		if err := m.SetParams(theta[:n]); err != nil {
			for _, m := range s.m[:k] {
				n := len(m.Params())
				if back := m.SetParams(before[:n]); back != nil {
					return back
				}
				before = before[n:]
			}
			return err
		}
		theta = theta[n:]
	}
	if s.bipartite != nil {
		s.offset, s.bipartite = s.visibleOffset()
	}
	return nil
}

// sumLearn is a sum as [Learnable]: parts that are not are kept as they are.
type sumLearn struct{ *sum }

func (s *sum) asLearnable(p *Learnable) bool {
	for _, m := range s.parts {
		if _, ok := As[Learnable](m); ok {
			*p = sumLearn{s}
			return true
		}
	}
	return false
}

// Learn implements [Learnable].
func (s sumLearn) Learn() (Parametric, error) {
	parts := make([]Model, len(s.parts))
	for k, m := range s.parts {
		parts[k] = m
		if l, ok := As[Learnable](m); ok {
			p, err := l.Learn()
			if err != nil {
				return nil, err
			}
			parts[k] = p
		}
	}
	m, err := Sum(parts...)
	if err != nil {
		return nil, err
	}
	return asParametric(m)
}
