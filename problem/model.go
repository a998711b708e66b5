package problem

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Model returns a model for any sampler. Its energy is the energy of the problem plus a penalty for
// violations,
//
//	E(x) + penalty·Σ_k violation_k(x),
//
// where the sum is over the required conditions. The penalty must be ≥ 0; a penalty of +Inf makes
// infeasible states impossible. Site i is variable i of [Problem.Names]. Its levels are the values
// of the variable in ascending order, or the labels in the order of their list. All sites have the
// same number of levels; levels that stand for no value are impossible.
//
// The model is a model.Quadratic if all variables have two values, no product has more than two
// factors, and no conditions enter the energy. Otherwise it is energy.Conditional and, with a
// finite penalty, energy.Supported. It is also energy.Graphical if at most 2²⁴ ordered pairs of
// variables share a term or condition. With penalty +Inf, start chains from a feasible state, such
// as one returned by Minimise.
func (p *Problem) Model(penalty float64) (energy.Model, error) {
	return p.model(context.Background(), penalty)
}

func (p *Problem) model(ctx context.Context, penalty float64) (energy.Model, error) {
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
	m, err := p.target(ctx, penalty)
	if err != nil {
		return nil, err
	}
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
	start, adj []int32   // graph, as in energy.Graphical; nil if it would be too large
	scratch    sync.Pool // pool of states (*[]int32)
}

// maxPairs is the largest number of entries of a graph.
const maxPairs = 1 << 24

func (p *Problem) target(ctx context.Context, penalty float64) (*target, error) {
	n := len(p.vars)
	m := &target{p: p, levels: 1, penalty: penalty, terms: make([][]int32, n), conditions: make([][]int32, n)}
	m.scratch.New = func() any { x := make([]int32, n); return &x }
	var meter poll.Meter
	meter.Watch(ctx)
	for i := range p.vars {
		m.levels = max(m.levels, len(p.vars[i].values))
	}
	for i, t := range p.objective {
		for _, f := range t.f {
			m.terms[f.v] = append(m.terms[f.v], int32(i))
		}
		if meter.Done(len(t.f)) {
			return nil, meter.Err()
		}
	}
	for k := range len(p.required) + len(p.preferred) {
		s := m.statement(int32(k))
		for _, v := range s.c.scope {
			m.conditions[v] = append(m.conditions[v], int32(k))
		}
		if meter.Done(len(s.c.scope)) {
			return nil, meter.Err()
		}
	}
	return m, m.connect(&meter)
}

// connect makes the graph, unless it would be too large.
func (m *target) connect(meter *poll.Meter) error {
	n := len(m.p.vars)
	m.start = make([]int32, 1, n+1)
	met := make([]int, n) // met[w] is v+1 if w is a neighbour of v
	for v := range n {
		met[v] = v + 1 // not its own neighbour
		from := len(m.adj)
		join := func(w int) {
			if met[w] <= v {
				met[w] = v + 1
				m.adj = append(m.adj, int32(w))
			}
		}
		for _, k := range m.terms[v] {
			for _, f := range m.p.objective[k].f {
				join(f.v)
			}
			meter.Done(len(m.p.objective[k].f))
		}
		for _, k := range m.conditions[v] {
			scope := m.statement(k).c.scope
			for _, w := range scope {
				join(w)
			}
			meter.Done(len(scope))
		}
		switch {
		case meter.Err() != nil:
			return meter.Err()
		case len(m.adj) > maxPairs:
			m.start, m.adj = nil, nil
			return nil
		}
		slices.Sort(m.adj[from:])
		m.start = append(m.start, int32(len(m.adj)))
	}
	return nil
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

// Conditional stores in d, for every level of the given site, the energy with this level relative
// to the energy of the state x. It implements [energy.Conditional].
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

// valid reports whether every neighbour of the site, or every site if there is no graph, has a
// level that its variable allows.
func (m *target) valid(site int, x []int32) bool {
	if m.start == nil {
		for j, l := range x {
			if int(l) >= len(m.p.vars[j].values) && j != site {
				return false
			}
		}
		return true
	}
	for _, j := range m.adj[m.start[site]:m.start[site+1]] {
		if int(x[j]) >= len(m.p.vars[j].values) {
			return false
		}
	}
	return true
}

// As implements [energy.Capable]: the model is also [energy.Graphical] unless its graph is too
// large.
func (m *target) As(target any) bool {
	return m.start != nil && energy.Give[energy.Graphical](target, connected{m})
}

// connected is a target with a graph.
type connected struct{ *target }

// Graph returns, for each site, the sites that share a term or condition with it, in compressed
// rows. It implements [energy.Graphical].
func (m connected) Graph() (start, adj []int32) { return m.start, m.adj }

// penalised is a target with a finite penalty, so that every level of a variable is possible.
type penalised struct{ *target }

// Repair replaces each level of x that stands for no value of its variable by a level that stands
// for one. It implements [energy.Supported].
func (m penalised) Repair(x []int32) {
	n := len(m.p.vars)
	check.Rows("problem", "x", len(x), n)
	for i := range x {
		x[i] %= int32(len(m.p.vars[i%n].values))
	}
}
