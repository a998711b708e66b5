package energy

import (
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// asStructure answers As for what a kernel may take numbers from once and for all, which
// an Affine gives whose weights do not change.
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

// sitewise returns what the levels of the sites cost, sites × levels, if m is a sum over
// sites of finite numbers that do not change.
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
	return costs, !slices.ContainsFunc(costs, func(v float64) bool { return !check.Finite(v) })
}

// alike returns what the levels of a site cost, if m is a sum over sites of numbers that
// are the same everywhere and do not change.
func alike(m Model) (costs []float64, ok bool) {
	if _, learns := As[Parametric](m); learns {
		return nil, false
	}
	costs, ok = sitewise(m)
	if !ok {
		return nil, false
	}
	_, levels := m.Shape()
	row := costs[:levels]
	for rest := costs; len(rest) > 0; rest = rest[levels:] {
		if !slices.Equal(rest[:levels], row) {
			return nil, false
		}
	}
	return row, true
}

// affineTorus is an Affine as [Toroidal].
type affineTorus struct{ *Affine }

// Torus implements [Toroidal].
func (a affineTorus) Torus() (cols int, d [5]float64, ok bool) {
	for k, m := range a.parts {
		n, own, known := torus(m)
		switch {
		case known && (cols == 0 || cols == n):
			cols = n
		case known:
			return 0, d, false
		default:
			row, same := alike(m)
			if !same {
				return 0, d, false
			}
			for i := range own {
				own[i] = row[1] - row[0]
			}
		}
		for i, v := range own {
			d[i] += float64(a.weight[k] * v)
		}
	}
	for i := range d {
		d[i] *= a.factor
	}
	return cols, d, cols > 0
}

// torus returns what a [Toroidal] model says.
func torus(m Model) (cols int, d [5]float64, ok bool) {
	t, ok := As[Toroidal](m)
	if !ok {
		return 0, d, false
	}
	return t.Torus()
}

// affineMatching is an Affine as [Matching].
type affineMatching struct{ affineGraph }

// Matching implements [Matching].
func (a affineMatching) Matching() (coupling float64, field []float64, ok bool) {
	var first pairs
	field = make([]float64, a.levels)
	for k, m := range a.parts {
		w := a.weight[k]
		j, h, edges, is := matching(m)
		if !is {
			row, same := alike(m)
			if !same {
				return 0, nil, false
			}
			h = make([]float64, a.levels)
			for l := range h {
				h[l] = row[0] - row[l]
			}
		}
		if len(edges.adj) > 0 {
			if first.adj != nil && !(slices.Equal(edges.start, first.start) && slices.Equal(edges.adj, first.adj)) {
				return 0, nil, false
			}
			first = edges
			coupling += float64(w * j)
		}
		for l, v := range h {
			field[l] += float64(w * v)
		}
	}
	coupling *= a.factor
	for l := range field {
		if field[l] *= a.factor; !check.Finite(field[l]) {
			return 0, nil, false
		}
	}
	return coupling, field, check.Finite(coupling)
}

// matching returns what a [Matching] model says, and its graph.
func matching(m Model) (coupling float64, field []float64, edges pairs, ok bool) {
	t, ok := As[Matching](m)
	if !ok {
		return 0, nil, edges, false
	}
	if coupling, field, ok = t.Matching(); ok {
		edges.start, edges.adj = t.Graph()
	}
	return coupling, field, edges, ok
}

// pairs are the numbers of a [Pairwise] model.
type pairs struct {
	start, adj    []int32
	weight, field []float64
}

// pairsOf returns the numbers of a model of pairs and whether it is one.
func pairsOf(m Model) (p pairs, ok bool) {
	if t, is := As[Pairwise](m); is {
		if p.start, p.adj, p.weight, p.field, ok = t.Pairs(); ok {
			return p, true
		}
	}
	if j, h, edges, is := matching(m); is && len(h) == 2 {
		p = edges
		p.weight, p.field = make([]float64, len(p.adj)), make([]float64, len(p.start)-1)
		for i := range p.field { // J[x_i = x_j] is J(1 − x_i − x_j + 2x_i x_j)
			p.field[i] = float64(j*float64(p.start[i+1]-p.start[i])) + (h[0] - h[1])
		}
		for n := range p.weight {
			p.weight[n] = -2 * j
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

// PairsOf returns m as a model of pairs: what m says if it is [Pairwise], else the numbers of
// a [Matching] model of two levels, or of a sum over sites. ok is false for another model, and for none.
// The slices are not to be modified.
func PairsOf(m Model) (start, adj []int32, weight, field []float64, ok bool) {
	if check.Nil(m) || !two(m) {
		return nil, nil, nil, nil, false
	}
	p, ok := pairsOf(m)
	return p.start, p.adj, p.weight, p.field, ok
}

// affinePairs is an Affine as [Pairwise].
type affinePairs struct{ *Affine }

// Pairs implements [Pairwise].
func (a affinePairs) Pairs() (start, adj []int32, weight, field []float64, ok bool) {
	var all pairs
	for k, m := range a.parts {
		p, ok := pairsOf(m)
		if !ok {
			return nil, nil, nil, nil, false
		}
		if k == 0 {
			all = pairs{p.start, p.adj, slices.Clone(p.weight), slices.Clone(p.field)}
			times(all.weight, a.weight[0])
			times(all.field, a.weight[0])
			continue
		}
		all.add(&p, a.weight[k])
	}
	times(all.weight, a.factor)
	times(all.field, a.factor)
	return all.start, all.adj, all.weight, all.field, true
}

// times multiplies v by c.
func times(v []float64, c float64) {
	for i := range v {
		v[i] *= c
	}
}

// add adds c·q.
func (p *pairs) add(q *pairs, c float64) {
	for i, f := range q.field {
		p.field[i] += float64(c * f)
	}
	if slices.Equal(p.start, q.start) && slices.Equal(p.adj, q.adj) {
		for n, w := range q.weight {
			p.weight[n] += float64(c * w)
		}
		return
	}
	sum := pairs{start: make([]int32, len(p.start)), field: p.field}
	for i := range p.field {
		m, n := p.start[i], q.start[i]
		for m < p.start[i+1] || n < q.start[i+1] {
			next := func(r *pairs, at int32) int32 {
				if at < r.start[i+1] {
					return r.adj[at]
				}
				return math.MaxInt32
			}
			left, right, w := next(p, m), next(q, n), 0.0
			if left <= right {
				w += p.weight[m]
				m++
			}
			if right <= left {
				w += float64(c * q.weight[n])
				n++
			}
			sum.adj, sum.weight = append(sum.adj, min(left, right)), append(sum.weight, w)
		}
		sum.start[i+1] = int32(len(sum.adj))
	}
	*p = sum
}

// hidden are the units of the one part of an Affine that has some.
type hidden struct {
	m      Bipartite
	at     int       // of the parts
	offset []float32 // what the other parts add to the log-odds of its visible sites
}

// layered returns the hidden units of the one bipartite part, nil if there is none,
// several, or one whose weight is not 1, or if other parts are not sums over sites.
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

// affineLayers is an Affine as [Bipartite].
type affineLayers struct{ *Affine }

// Hidden implements [Bipartite].
func (a affineLayers) Hidden() int { return a.hidden.m.Hidden() }

// HiddenField implements [Bipartite]: other parts and fixed sites know no hidden units.
func (a affineLayers) HiddenField(f []float32, x []int32) { a.hidden.m.HiddenField(f, x) }

// VisibleField implements [Bipartite]: a fixed site is certain.
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

// affineLayerChanges is an Affine as [IncrementalBipartite].
type affineLayerChanges struct {
	affineLayers
	m IncrementalBipartite
}

// CacheLen implements [IncrementalBipartite].
func (a affineLayerChanges) CacheLen() int { return a.m.CacheLen() }

// HiddenFieldFrom implements [IncrementalBipartite].
func (a affineLayerChanges) HiddenFieldFrom(e []float64, f []float32, next []float64, y []int32, cache []float64, x []int32) {
	a.add64(e, a.offset, func(k int, e []float64) {
		if k == a.hidden.at {
			a.m.HiddenFieldFrom(e, f, next, y, cache, x)
			return
		}
		a.parts[k].Energy(e, y)
	})
	a.energies(e, y)
}

// affineClamp is an Affine as [Clamped].
type affineClamp struct{ *Affine }

// Unclamped implements [Clamped].
func (a affineClamp) Unclamped() (m Model, fixed []int32) { return a.unclamped(), a.fixed }
