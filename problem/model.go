package problem

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Model returns the energy
//
//	E(x) + penalty·Σ_k violation_k(x)
//
// of the problem, where the sum is over the required conditions, for use with any sampler. The
// penalty must be ≥ 0; a penalty of +Inf makes infeasible states impossible. Site i is variable i
// of [Problem.Names]. Its levels are the values of the variable in ascending order, or the labels
// in the order of their list. Levels that a variable does not have are impossible.
//
// The model is a model.Quadratic if all variables have two values, no product has more than two
// factors, and no conditions enter the energy. Otherwise it is energy.Conditional,
// energy.Graphical and, with a finite penalty, energy.Supported. With penalty +Inf, start chains
// from a feasible state, such as one returned by Minimise.
func (p *Problem) Model(penalty float64) (energy.Model, error) {
	switch {
	case p.err != nil:
		return nil, p.err
	case len(p.vars) == 0:
		return nil, fmt.Errorf("problem: Model: there are no variables")
	case !(penalty >= 0):
		return nil, fmt.Errorf("problem: Model: penalty = %v, want ≥ 0", penalty)
	}
	if penalty == 0 && len(p.preferred) == 0 || len(p.required)+len(p.preferred) == 0 {
		if m, ok, err := p.quadratic(); ok {
			return m, err
		}
	}
	m := p.target(penalty)
	if math.IsInf(penalty, 1) {
		return m, nil
	}
	return penalised{m}, nil
}

// quadratic returns the objective as a quadratic function of binary variables. ok is false if a
// variable does not have two values or a product has more than two factors.
func (p *Problem) quadratic() (m *model.Quadratic, ok bool, err error) {
	for _, v := range p.vars {
		if len(v.values) != 2 {
			return nil, false, nil
		}
	}
	var q []model.Edge
	b := model.Polynomial{Linear: make([]float64, len(p.vars))}
	for _, t := range p.objective {
		switch len(t.f) {
		case 0:
			b.Constant += t.c
		case 1:
			u := t.f[0].u
			b.Constant += float64(t.c * u[0])
			b.Linear[t.f[0].v] += float64(t.c * (u[1] - u[0]))
		case 2:
			f, g := t.f[0], t.f[1]
			df, dg := f.u[1]-f.u[0], g.u[1]-g.u[0]
			b.Constant += float64(t.c * f.u[0] * g.u[0])
			b.Linear[f.v] += float64(t.c * df * g.u[0])
			b.Linear[g.v] += float64(t.c * f.u[0] * dg)
			q = append(q, model.Edge{I: f.v, J: g.v, W: t.c * df * dg})
		default:
			return nil, false, nil
		}
	}
	m, err = model.NewQuadratic(len(p.vars), q, b)
	return m, true, err
}

// target is the model returned by [Problem.Model] for problems that are not quadratic. Its energy
// includes a penalty for violated required conditions.
type target struct {
	p       *Problem
	levels  int
	penalty float64

	terms [][]int32 // for each variable, indices of the terms of the objective that contain it
	// For each variable, its conditions: first the required ones, then the preferred ones.
	conditions [][]int32
	start, adj []int32
	scratch    sync.Pool // pool of states (*[]int32)
}

func (p *Problem) target(penalty float64) *target {
	n := len(p.vars)
	m := &target{p: p, levels: 1, penalty: penalty, terms: make([][]int32, n), conditions: make([][]int32, n)}
	m.scratch.New = func() any { x := make([]int32, n); return &x }
	near := make([]map[int32]bool, n)
	for i := range near {
		m.levels = max(m.levels, len(p.vars[i].values))
		near[i] = map[int32]bool{}
	}
	join := func(scope []int) {
		for _, v := range scope {
			for _, w := range scope {
				if v != w {
					near[v][int32(w)] = true
				}
			}
		}
	}
	for i, t := range p.objective {
		for _, f := range t.f {
			m.terms[f.v] = append(m.terms[f.v], int32(i))
		}
		join(scope(p.objective[i : i+1]))
	}
	for k := range len(p.required) + len(p.preferred) {
		s := m.statement(int32(k))
		for _, v := range s.c.scope {
			m.conditions[v] = append(m.conditions[v], int32(k))
		}
		join(s.c.scope)
	}
	m.start = make([]int32, 1, n+1)
	for i := range n {
		m.adj = append(m.adj, slices.Sorted(maps.Keys(near[i]))...)
		m.start = append(m.start, int32(len(m.adj)))
	}
	return m
}

func (m *target) statement(k int32) *statement {
	if n := len(m.p.required); int(k) >= n {
		return &m.p.preferred[int(k)-n]
	}
	return &m.p.required[k]
}

// cost returns the contribution of a required or preferred condition to the energy of x.
func (m *target) cost(s *statement, x []int32) float64 {
	if s.weight > 0 {
		return s.cost(x)
	}
	if v := s.c.violation(x); v > 0 {
		return float64(m.penalty * v)
	}
	return 0
}

func (m *target) Shape() (sites, levels int) { return len(m.p.vars), m.levels }

func (m *target) Energy(e []float64, x []int32) {
	n := len(m.p.vars)
	check.Len("problem", "e", len(e), check.Rows("problem", "x", len(x), n))
	for s := range e {
		e[s] = m.one(x[s*n : (s+1)*n])
	}
}

func (m *target) one(x []int32) float64 {
	for i, l := range x {
		if int(l) >= len(m.p.vars[i].values) {
			return math.Inf(1)
		}
	}
	e := m.p.energy(x)
	for i := range m.p.required {
		e += m.cost(&m.p.required[i], x)
	}
	return e
}

// Conditional stores in d the energy of every level of one site relative to its current level.
// The other sites have their levels in x. It implements [energy.Conditional].
func (m *target) Conditional(d []float64, site int, x []int32) {
	check.Len("problem", "d", len(d), m.levels)
	check.Len("problem", "x", len(x), len(m.p.vars))
	card := len(m.p.vars[site].values)
	for l := range d {
		d[l] = 0
		if l >= card {
			d[l] = math.Inf(1)
		}
	}
	here := x[site]
	// The level of this site or of a neighbour is not allowed.
	if int(here) >= card || !m.valid(site, x) {
		d[here] = 0
		return
	}
	for _, k := range m.terms[site] {
		t := &m.p.objective[k]
		w, u := t.c, []float64(nil)
		for _, f := range t.f {
			if f.v == site {
				u = f.u
			} else {
				w *= f.u[x[f.v]]
			}
		}
		for l := range card {
			d[l] += float64(w * u[l])
		}
	}
	if len(m.conditions[site]) > 0 {
		y := m.scratch.Get().(*[]int32)
		copy(*y, x)
		for l := range card {
			(*y)[site] = int32(l)
			for _, k := range m.conditions[site] {
				d[l] += m.cost(m.statement(k), *y)
			}
		}
		m.scratch.Put(y)
	}
	base := d[here]
	for l := range d {
		d[l] -= base
	}
	d[here] = 0 // even if the difference was Inf − Inf = NaN
}

// valid reports whether every neighbour of the site has a level that its variable allows.
func (m *target) valid(site int, x []int32) bool {
	for _, j := range m.adj[m.start[site]:m.start[site+1]] {
		if int(x[j]) >= len(m.p.vars[j].values) {
			return false
		}
	}
	return true
}

// Graph returns, for each site, the sites that share a term or condition with it, in compressed
// rows. It implements [energy.Graphical].
func (m *target) Graph() (start, adj []int32) { return m.start, m.adj }

// penalised is a target with a finite penalty, so that every level of a variable is possible.
type penalised struct{ *target }

// Repair replaces each level that a variable does not have by one that it has. It implements
// [energy.Supported].
func (m penalised) Repair(x []int32) {
	n := len(m.p.vars)
	check.Rows("problem", "x", len(x), n)
	for i := range x {
		x[i] %= int32(len(m.p.vars[i%n].values))
	}
}
