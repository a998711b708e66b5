package energy

import (
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/weighted"
)

// asStructure is the part of As for interfaces from which a kernel may take numbers once
// and for all. Only an Affine whose weights do not change supports them.
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

// uniform holds the numbers of a [Toroidal] or a [Matching] model, which are the same
// everywhere.
type uniform struct {
	edges graph // between which sites; of a torus its columns alone
	v     []float64
}

// uniform adds up the numbers of the parts. ok is false unless edges are the same and the
// other parts are sums over sites, all alike: site turns what their levels cost into
// numbers.
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
	return sum, !slices.ContainsFunc(sum.v, func(v float64) bool { return !check.Finite(v) })
}

// affineTorus is an Affine as [Toroidal].
type affineTorus struct{ *Affine }

// Torus implements [Toroidal].
func (a affineTorus) Torus() (cols int, d [5]float64, ok bool) {
	u, ok := a.uniform(torus, func(row []float64) []float64 { return slices.Repeat([]float64{row[1] - row[0]}, len(d)) })
	if !ok || len(u.edges.adj) == 0 {
		return 0, d, false
	}
	return int(u.edges.adj[0]), [5]float64(u.v), true
}

// torus returns the numbers of a [Toroidal] model.
func torus(m Model) (u uniform, ok bool) {
	if t, is := As[Toroidal](m); is {
		var cols int
		var d [5]float64
		cols, d, ok = t.Torus()
		u = uniform{graph{adj: []int32{int32(cols)}}, d[:]}
	}
	return u, ok
}

// affineMatching is an Affine as [Matching].
type affineMatching struct{ affineGraph }

// Matching implements [Matching].
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

// matching returns the numbers of a [Matching] model: the coupling, 0 without edges,
// and the field.
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

// pairs are the numbers of a [Pairwise] model.
type pairs struct {
	graph
	weight, field []float64
}

// pairsOf returns the numbers of a model of pairs and whether it is one.
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

// PairsOf returns m as a model of pairs: the result of Pairs if m is [Pairwise], otherwise the
// same arrays computed from a [Matching] model with two levels or from a sum over sites. ok is
// false for other models and for nil. The slices must not be modified.
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

// HiddenField implements [Bipartite]: other parts and fixed sites do not involve hidden
// units.
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

// affineFactors is an Affine as [Factored].
type affineFactors struct {
	*Affine
	m []Factored // nil for a sum over sites
}

// factored returns the parts as Factored, nil for sums over sites; ok is false if one is
// neither.
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

// Factors implements [Factored].
func (a affineFactors) Factors() (cards []int32, scopes [][]int32, tables [][]float64, ok bool) {
	cards = slices.Repeat([]int32{int32(a.levels)}, a.sites)
	own := make([][]int32, len(a.parts)) // cards of the factors, by part
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

// siteFactors returns a sum over sites as factors.
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

// narrowed returns the part of a table in which every variable v of the scope has levels
// below now instead of before, both by v: the table itself if that is all of it.
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
