package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Independent is the model of independent sites with log-weights w_i[l],
//
//	E(x) = −Σ_i w_i[x_i].
//
// A log-weight of −Inf forbids the level.
//
// Independent is [energy.Differentiable] with exact differences (rounded to float32),
// [energy.Conditional], [energy.Graphical] (without edges), [energy.Factored], [energy.Learnable]
// and [energy.Supported]. Through [energy.As] it is also [energy.Binary] if it has two levels, and
// [energy.Local] if no site forbids level 0. An Independent is immutable and safe for concurrent
// use. Its methods allocate nothing.
type Independent struct {
	levels int
	costs  []float64 // negative log-weights −w, sites × levels
	start  []int32   // row starts of the graph without edges
}

// NewIndependent returns the model with the given log-weights. The slice logw is a row-major array
// of sites × levels and is copied. NewIndependent returns an error if levels < 1 or len(logw) is
// not a positive multiple of levels. It also returns an error if a log-weight is NaN or +Inf, or if
// a site forbids every level.
func NewIndependent(logw []float64, levels int) (*Independent, error) {
	if levels < 1 {
		return nil, fmt.Errorf("model: NewIndependent: levels = %d, want ≥ 1", levels)
	}
	if len(logw) == 0 || len(logw)%levels != 0 {
		return nil, fmt.Errorf("model: NewIndependent: len(logw) = %d, want a positive multiple of %d", len(logw), levels)
	}
	m := &Independent{levels: levels, costs: make([]float64, len(logw)), start: make([]int32, len(logw)/levels+1)}
	largest := make([]float64, len(logw)/levels)
	for i := range largest {
		allowed := false
		for l, w := range logw[i*levels : (i+1)*levels] {
			switch {
			case math.IsNaN(w) || math.IsInf(w, 1):
				return nil, fmt.Errorf("model: NewIndependent: logw[%d] = %v, want a number < +Inf", i*levels+l, w)
			case w > math.Inf(-1):
				allowed = true
				largest[i] = max(largest[i], math.Abs(w))
			}
			m.costs[i*levels+l] = 0 - w
		}
		if !allowed {
			return nil, fmt.Errorf("model: NewIndependent: site %d forbids every level", i)
		}
	}
	sum := 0.0
	for _, w := range largest {
		sum += w
	}
	if !check.Finite(2 * sum) {
		return nil, fmt.Errorf("model: NewIndependent: the log-weights add up to more than %v, energies would overflow", math.MaxFloat64/2)
	}
	return m, nil
}

// NewBernoulli returns the two-level model in which site i has level 1 with probability
// 1/(1+e^{−z_i}), where z_i are the given logits. A logit of ±Inf fixes its site. NewBernoulli
// returns an error if there are no logits or one is NaN.
func NewBernoulli(logits []float64) (*Independent, error) {
	if len(logits) == 0 {
		return nil, fmt.Errorf("model: NewBernoulli: len(logits) = 0, want ≥ 1")
	}
	logw := make([]float64, 2*len(logits))
	for i, z := range logits {
		switch {
		case math.IsNaN(z):
			return nil, fmt.Errorf("model: NewBernoulli: logits[%d] = NaN, want a number", i)
		case math.IsInf(z, 1):
			logw[2*i] = math.Inf(-1)
		default:
			logw[2*i+1] = z
		}
	}
	return NewIndependent(logw, 2)
}

// Shape returns the number of sites and the number of levels.
func (m *Independent) Shape() (sites, levels int) { return len(m.costs) / m.levels, m.levels }

// LogWeights returns a copy of the log-weights w as a row-major array of sites × levels.
func (m *Independent) LogWeights() []float64 {
	w := make([]float64, len(m.costs))
	for i, c := range m.costs {
		w[i] = 0 - c
	}
	return w
}

// Energy stores in e the energy of every state. This is the negative sum of the log-weights of the
// state's levels. It implements [energy.Model].
func (m *Independent) Energy(e []float64, x []int32) {
	defer check.States("model", x, m.levels)
	n := len(m.costs) / m.levels
	check.Len("model", "e", len(e), check.Rows("model", "x", len(x), n))
	// Eight independent sums at a time, then four, for instruction-level parallelism.
	for ; len(e) >= 8; e, x = e[8:], x[8*n:] {
		var a, b, c, d, f, g, h, k float64
		x1, x2, x3, x4, x5, x6, x7 := x[n:2*n], x[2*n:3*n], x[3*n:4*n], x[4*n:5*n], x[5*n:6*n], x[6*n:7*n], x[7*n:8*n]
		for i, l := range x[:n] {
			row := m.row(i)
			a += row[l]
			b += row[x1[i]]
			c += row[x2[i]]
			d += row[x3[i]]
			f += row[x4[i]]
			g += row[x5[i]]
			h += row[x6[i]]
			k += row[x7[i]]
		}
		e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7] = a, b, c, d, f, g, h, k
	}
	if len(e) >= 4 {
		var a, b, c, d float64
		x1, x2, x3 := x[n:2*n], x[2*n:3*n], x[3*n:4*n]
		for i, l := range x[:n] {
			row := m.row(i)
			a += row[l]
			b += row[x1[i]]
			c += row[x2[i]]
			d += row[x3[i]]
		}
		e[0], e[1], e[2], e[3] = a, b, c, d
		e, x = e[4:], x[4*n:]
	}
	for s := range e {
		sum := 0.0
		for i, l := range x[s*n : (s+1)*n] {
			sum += m.row(i)[l]
		}
		e[s] = sum
	}
}

// Gradient stores the energies in e. The slice g receives the exact energy differences of all
// single-site changes. It implements [energy.Differentiable].
func (m *Independent) Gradient(e []float64, g []float32, x []int32) {
	defer check.States("model", x, m.levels)
	m.Energy(e, x)
	check.Len("model", "g", len(g), len(x)*m.levels)
	n := len(m.costs) / m.levels
	for at, from := range x {
		row, costs := g[at*m.levels:(at+1)*m.levels], m.row(at%n)
		for to := range row {
			row[to] = float32(step(costs, int(from), to))
		}
	}
}

// Conditional stores in d the exact energy at each level of one site, minus the energy of the state
// x. It implements [energy.Conditional].
func (m *Independent) Conditional(d []float64, site int, x []int32) {
	check.Index("model", "site", site, len(x))
	defer check.States("model", x, m.levels)
	check.Len("model", "d", len(d), m.levels)
	check.Len("model", "x", len(x), len(m.costs)/m.levels)
	for to := range d {
		d[to] = step(m.row(site), int(x[site]), to)
	}
}

// Graph returns a graph without edges; it implements [energy.Graphical].
func (m *Independent) Graph() (start, adj []int32) { return m.start, nil }

// Factors returns the energy as a sum of tables, one for each site; it implements
// [energy.Factored].
func (m *Independent) Factors() (cards []int32, scopes [][]int32, tables [][]float64, ok bool) {
	n := len(m.start) - 1
	for i := range n {
		scopes, tables = append(scopes, []int32{int32(i)}), append(tables, m.row(i))
	}
	return slices.Repeat([]int32{int32(m.levels)}, n), scopes, tables, true
}

// Repair replaces every forbidden level by the most probable level of its site. Ties are broken in
// favour of the lowest level. It implements [energy.Supported].
func (m *Independent) Repair(x []int32) {
	defer check.States("model", x, m.levels)
	n := len(m.costs) / m.levels
	check.Rows("model", "x", len(x), n)
	for at, l := range x {
		check.Index("model", "level", int(l), m.levels)
		costs := m.row(at % n)
		if !math.IsInf(costs[l], 1) {
			continue
		}
		best := 0
		for k, c := range costs {
			if c < costs[best] {
				best = k
			}
		}
		x[at] = int32(best)
	}
}

// As implements energy.Capable. The model is also [energy.Binary] if there are two levels, and
// [energy.Local] if level 0 is allowed at every site.
func (m *Independent) As(target any) bool {
	return m.levels == 2 && energy.Give[energy.Binary](target, binaryIndependent{m}) ||
		m.allowsZero() && energy.Give[energy.Local](target, localIndependent{m})
}

// allowsZero reports whether level 0 is allowed at every site.
func (m *Independent) allowsZero() bool {
	for i := 0; i < len(m.costs); i += m.levels {
		if math.IsInf(m.costs[i], 1) {
			return false
		}
	}
	return true
}

// row returns the costs of the levels of site i.
func (m *Independent) row(i int) []float64 { return m.costs[i*m.levels : (i+1)*m.levels] }

// step returns the cost of level to minus the cost of level from. The difference is 0 if the levels
// are equal, even if the level is forbidden, and +Inf for any other forbidden level to.
func step(costs []float64, from, to int) float64 {
	switch {
	case from == to:
		return 0
	case math.IsInf(costs[to], 1):
		return costs[to]
	}
	return costs[to] - costs[from]
}

// binaryIndependent implements [energy.Binary] for an Independent with two levels.
type binaryIndependent struct{ *Independent }

// Field stores the energies in e and the exact energy differences between levels 1 and 0 in h,
// rounded to float32. It implements [energy.Binary].
func (m binaryIndependent) Field(e []float64, h []float32, x []int32) {
	m.Energy(e, x)
	check.Len("model", "h", len(h), len(x))
	n := len(m.costs) / 2
	for i := range h[:min(n, len(h))] {
		h[i] = float32(m.costs[2*i+1] - m.costs[2*i])
	}
	for at := n; at < len(h); at += n { // all states have the same field
		copy(h[at:], h[:n])
	}
}

// localIndependent implements [energy.Local] for an Independent whose level 0 is allowed at every
// site.
type localIndependent struct{ *Independent }

// Locals stores in d the energy of every level relative to level 0 of its site. It implements
// [energy.Local].
func (m localIndependent) Locals(d []float64, x []int32) {
	check.Len("model", "x", len(x), len(m.start)-1)
	check.Len("model", "d", len(d), len(m.costs))
	for i := range x {
		for to := range m.levels {
			d[i*m.levels+to] = step(m.row(i), 0, to)
		}
	}
}

// Move changes nothing, because no site depends on another. It implements [energy.Local].
func (m localIndependent) Move(d []float64, site int, level int32, x []int32) {
	check.Len("model", "x", len(x), len(m.start)-1)
	check.Len("model", "d", len(d), len(m.costs))
}
