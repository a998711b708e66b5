package energy

import (
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// As implements [Capable].
func (s *scaled) As(target any) bool {
	switch p := target.(type) {
	case *Differentiable:
		return around(s.m, p, func(m Differentiable) Differentiable { return scaledTable{s, m} })
	case *Binary:
		return around(s.m, p, func(m Binary) Binary { return scaledField{s, m} })
	case *Incremental:
		return around(s.m, p, func(m Incremental) Incremental { return scaledChanges{scaledField{s, m}, m} })
	case *Conditional:
		return around(s.m, p, func(m Conditional) Conditional { return scaledConditional{s, m} })
	case *Local:
		return around(s.m, p, func(m Local) Local { return newScaledLocal(s, m) })
	case *Graphical:
		return around(s.m, p, func(m Graphical) Graphical { return scaledGraph{s, m} })
	case *Ordinal:
		return around(s.m, p, func(m Ordinal) Ordinal { return scaledOrdinal{s, m} })
	case *Windowed:
		return around(s.m, p, func(m Windowed) Windowed { return scaledWindow{scaledOrdinal{s, m}, m} })
	case *Stochastic:
		return around(s.m, p, func(m Stochastic) Stochastic { return scaledEstimate{s, m} })
	case *Toroidal:
		return around(s.m, p, func(m Toroidal) Toroidal { return scaledTorus{s, m} })
	case *Matching:
		return around(s.m, p, func(m Matching) Matching { return scaledMatching{scaledGraph{s, m}, m} })
	case *pairwise:
		return around(s.m, p, func(m pairwise) pairwise { return scaledPairs{s, m} })
	case *Supported:
		return around(s.m, p, func(m Supported) Supported { return scaledSupport{s, m} })
	case *Parametric:
		return around(s.m, p, func(m Parametric) Parametric { return scaledParams{s, m} })
	case *teller:
		return around(s.m, p, func(m teller) teller { return m })
	case *Learnable:
		return around(s.m, p, func(m Learnable) Learnable { return scaledLearn{s, m} })
	}
	return false
}

// around stores in p what wrap makes of m if m is a T.
func around[T any](m Model, p *T, wrap func(T) T) bool {
	t, ok := As[T](m)
	if ok {
		*p = wrap(t)
	}
	return ok
}

// scaledTable is a scaled model as [Differentiable].
type scaledTable struct {
	*scaled
	m Differentiable
}

// Gradient implements [Differentiable].
func (s scaledTable) Gradient(e []float64, g []float32, x []int32) {
	s.m.Gradient(e, g, x)
	scaleAll(e, s.beta)
	scaleAll(g, s.beta)
}

// scaledField is a scaled model as [Binary].
type scaledField struct {
	*scaled
	m Binary
}

// Field implements [Binary].
func (s scaledField) Field(e []float64, h []float32, x []int32) {
	s.m.Field(e, h, x)
	scaleAll(e, s.beta)
	scaleAll(h, s.beta)
}

// scaledConditional is a scaled model as [Conditional].
type scaledConditional struct {
	*scaled
	m Conditional
}

// Conditional implements [Conditional].
func (s scaledConditional) Conditional(d []float64, site int, x []int32) {
	s.m.Conditional(d, site, x)
	scaleAll(d, s.beta)
}

// scaledLocal is a scaled model as [Local].
type scaledLocal struct {
	scaledConditional
	m          Local
	start, adj []int32 // nil if the graph is not known
}

func newScaledLocal(s *scaled, m Local) scaledLocal {
	l := scaledLocal{scaledConditional: scaledConditional{s, m}, m: m}
	if g, ok := As[Graphical](s.m); ok {
		l.start, l.adj = g.Graph()
	}
	return l
}

// Locals implements [Local].
func (s scaledLocal) Locals(d []float64, x []int32) {
	s.m.Locals(d, x)
	scaleAll(d, s.beta)
}

// Move implements [Local]: the model inside adds its change to zeros, which is
// added times β. Without a graph every row may have changed.
func (s scaledLocal) Move(d []float64, site int, to int32, x []int32) {
	b := scratch.Float64s.Get(len(d))
	defer scratch.Float64s.Put(b)
	change := *b
	if s.start == nil {
		clear(change)
		s.m.Move(change, site, to, x)
		for k, v := range change {
			d[k] += float64(s.beta * v)
		}
		return
	}
	row := func(v []float64, j int32) []float64 { return v[int(j)*s.levels : (int(j)+1)*s.levels] }
	neighbours := s.adj[s.start[site]:s.start[site+1]]
	for _, j := range neighbours {
		clear(row(change, j))
	}
	s.m.Move(change, site, to, x)
	for _, j := range neighbours {
		c, r := row(change, j), row(d, j)
		for l, v := range c {
			r[l] += float64(s.beta * v)
		}
	}
}

// scaledChanges is a scaled model as [Incremental].
type scaledChanges struct {
	scaledField
	m Incremental
}

// CacheLen implements [Incremental].
func (s scaledChanges) CacheLen() int { return s.m.CacheLen() }

// FieldFrom implements [Incremental].
func (s scaledChanges) FieldFrom(e []float64, h []float32, next []float64, y []int32, cache []float64, x []int32) {
	s.m.FieldFrom(e, h, next, y, cache, x)
	scaleAll(e, s.beta)
	scaleAll(h, s.beta)
}

// scaledGraph is a scaled model as [Graphical].
type scaledGraph struct {
	*scaled
	m Graphical
}

// Graph implements [Graphical].
func (s scaledGraph) Graph() (start, adj []int32) { return s.m.Graph() }

// scaledOrdinal is a scaled model as [Ordinal].
type scaledOrdinal struct {
	*scaled
	m Ordinal
}

// Values implements [Ordinal].
func (s scaledOrdinal) Values() []float32 { return s.m.Values() }

// scaledWindow is a scaled model as [Windowed].
type scaledWindow struct {
	scaledOrdinal
	m Windowed
}

// Window implements [Windowed].
func (s scaledWindow) Window(e []float64, g []float32, x []int32, w int) {
	s.m.Window(e, g, x, w)
	scaleAll(e, s.beta)
	scaleAll(g, s.beta)
}

// scaledEstimate is a scaled model as [Stochastic].
type scaledEstimate struct {
	*scaled
	m Stochastic
}

// Estimate implements [Stochastic].
func (s scaledEstimate) Estimate(g []float32, x []int32, src []rand.Source) {
	s.m.Estimate(g, x, src)
	scaleAll(g, s.beta)
}

// scaledSupport is a scaled model as [Supported].
type scaledSupport struct {
	*scaled
	m Supported
}

// Repair implements [Supported].
func (s scaledSupport) Repair(x []int32) { s.m.Repair(x) }

// scaledTorus is the [Toroidal] view.
type scaledTorus struct {
	*scaled
	m Toroidal
}

func (s scaledTorus) Torus() (cols int, d [5]float64, ok bool) {
	cols, d, ok = s.m.Torus()
	for k := range d {
		d[k] *= s.beta
	}
	return cols, d, ok
}

// scaledMatching is the [Matching] view.
type scaledMatching struct {
	scaledGraph
	m Matching
}

func (s scaledMatching) Matching() (coupling float64, field []float64, ok bool) {
	coupling, h, ok := s.m.Matching()
	field = slices.Clone(h)
	scaleAll(field, s.beta)
	return s.beta * coupling, field, ok
}

// pairwise is ground.Pairwise, which no model of this package is but what wraps one.
type pairwise = interface {
	Model
	Pairs() (start, adj []int32, weight, field []float64, ok bool)
}

// scaledPairs is the view of pairs.
type scaledPairs struct {
	*scaled
	m pairwise
}

func (s scaledPairs) Pairs() (start, adj []int32, weight, field []float64, ok bool) {
	start, adj, w, f, ok := s.m.Pairs()
	weight, field = slices.Clone(w), slices.Clone(f)
	scaleAll(weight, s.beta)
	scaleAll(field, s.beta)
	return start, adj, weight, field, ok
}

// scaledParams is a scaled model as [Parametric]: θ is that of the model.
type scaledParams struct {
	*scaled
	m Parametric
}

// Params implements [Parametric].
func (s scaledParams) Params() []float64 { return s.m.Params() }

// ParamGradient implements [Parametric].
func (s scaledParams) ParamGradient(g []float64, x []int32, w []float64) {
	b := scratch.Float64s.Get(len(g))
	defer scratch.Float64s.Put(b)
	clear(*b)
	s.m.ParamGradient(*b, x, w)
	for k, v := range *b {
		g[k] += float64(s.beta * v)
	}
}

// SetParams implements [Parametric].
func (s scaledParams) SetParams(theta []float64) error { return s.m.SetParams(theta) }

// scaledLearn is a scaled model as [Learnable].
type scaledLearn struct {
	*scaled
	m Learnable
}

// Learn implements [Learnable].
func (s scaledLearn) Learn() (Parametric, error) {
	return relearned(s.m, func(m Model) (Model, error) { return Scale(m, s.beta) })
}
