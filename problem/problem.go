package problem

import (
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// maxLevels is the largest number of values of a variable.
const maxLevels = 1 << 16

// Problem holds variables, an objective, and required and preferred conditions. Methods that add
// something to a Problem return no errors: the first error is stored, and every method that solves
// the problem returns it. Several goroutines may solve a Problem concurrently, but not while
// another goroutine is still building it.
type Problem struct {
	vars  []variable
	named map[string]int

	objective []term
	required  []statement
	preferred []statement
	err       error
}

// New returns a problem without variables.
func New() *Problem { return &Problem{named: map[string]int{}} }

type kind int

const (
	binary kind = iota
	spin
	integer
	category
)

type variable struct {
	name   string
	kind   kind
	values []float64 // value of each level
	labels []string  // labels of a category; nil for other kinds
}

// statement is a named condition. It is required if weight is 0, and preferred otherwise.
type statement struct {
	name    string
	c       Condition
	weight  float64
	squared bool // whether the cost is weight times the squared violation
}

func (p *Problem) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("problem: "+format, args...)
	}
}

// Err returns the first error that occurred while the problem was built, or nil if there was none.
func (p *Problem) Err() error { return p.err }

func (p *Problem) variable(v variable) Expr {
	if v.name == "" {
		p.fail("a variable has no name")
	}
	if _, twice := p.named[v.name]; twice {
		p.fail("two variables have the name %s", check.Quote(v.name))
	}
	p.named[v.name] = len(p.vars)
	p.vars = append(p.vars, v)
	return p.at(len(p.vars) - 1)
}

// at returns variable v as an expression.
func (p *Problem) at(v int) Expr {
	return Expr{p: p, terms: []term{{1, []factor{{v, p.vars[v].values}}}}}
}

// Binary adds a variable with the values 0 and 1, and returns it.
func (p *Problem) Binary(name string) Expr {
	return p.variable(variable{name: name, kind: binary, values: []float64{0, 1}})
}

// Spin adds a variable with the values −1 and 1, and returns it.
func (p *Problem) Spin(name string) Expr {
	return p.variable(variable{name: name, kind: spin, values: []float64{-1, 1}})
}

// Integer adds a variable with the values lo, lo+1, …, hi, and returns it. There may be at most
// 65,536 values.
func (p *Problem) Integer(name string, lo, hi int) Expr {
	if hi < lo || hi-lo < 0 || hi-lo >= maxLevels || int64(max(-lo, hi)) > 1<<53 {
		p.fail("Integer: %s: range %d … %d, want lo ≤ hi, at most %d values, within ±2^53", check.Quote(name), lo, hi, maxLevels)
		lo, hi = 0, 0
	}
	v := make([]float64, hi-lo+1)
	for i := range v {
		v[i] = float64(lo + i)
	}
	return p.variable(variable{name: name, kind: integer, values: v})
}

// Category adds a variable that takes one of the given labels, and returns it. In expressions, its
// value is the index of the label in the list, from 0.
func (p *Problem) Category(name string, labels ...string) Expr {
	if len(labels) == 0 || len(labels) > maxLevels {
		p.fail("Category: %s: %d labels, want 1 … %d", check.Quote(name), len(labels), maxLevels)
		labels = []string{""}
	}
	seen := map[string]bool{}
	v := make([]float64, len(labels))
	for i, l := range labels {
		if seen[l] {
			p.fail("Category: %s: label %s occurs twice", check.Quote(name), check.Quote(l))
		}
		seen[l], v[i] = true, float64(i)
	}
	return p.variable(variable{name: name, kind: category, values: v, labels: slices.Clone(labels)})
}

// Variable returns the variable with the given name. If the name is unknown, Variable stores an
// error in the problem (see [Problem.Err]).
func (p *Problem) Variable(name string) Expr {
	v, ok := p.named[name]
	if !ok {
		p.fail("Variable: no variable has the name %s", check.Quote(name))
		return Expr{p: p}
	}
	return p.at(v)
}

// Names returns the names of the variables in the order in which they were added.
func (p *Problem) Names() []string {
	names := make([]string, len(p.vars))
	for i, v := range p.vars {
		names[i] = v.name
	}
	return names
}

// Objective adds e to the energy, which is minimised. To maximise e, add e.Scale(−1) instead.
func (p *Problem) Objective(e Expr) {
	if !p.own("Objective", e.p, e.err) {
		return
	}
	p.objective = simplify(append(p.objective, e.terms...))
	if _, scale := magnitude(p.objective); !check.Finite(scale) {
		p.fail("Objective: the sum of magnitudes overflows")
	}
}

// own reports whether an expression or condition of the problem q with the error err can be used in
// p. If not, it stores in p the error.
func (p *Problem) own(caller string, q *Problem, err error) bool {
	switch {
	case err != nil:
		p.fail("%s: %w", caller, err)
	case q != nil && q != p:
		p.fail("%s: a variable belongs to another problem", caller)
	case q != nil && q.err != nil:
		return false
	default:
		return true
	}
	return false
}

// Require adds the condition c, which every feasible state must satisfy. Results and errors refer
// to the condition by the given name, which several conditions may share.
func (p *Problem) Require(name string, c Condition) {
	if !p.own("Require: "+check.Quote(name), c.p, c.err) {
		return
	}
	if c.op == all {
		for _, part := range c.parts {
			p.Require(name, part)
		}
		return
	}
	p.required = append(p.required, statement{name: name, c: c})
}

// Prefer adds weight times the violation of the condition c to the energy. The weight must be
// positive and finite. The violation is 0 if c holds. Otherwise it is
//
//   - for a comparison, the distance of the compared expression from its bounds;
//   - for [All], the sum of the violations of the parts;
//   - for [Any], the smallest violation of a part;
//   - for [Not] and [NotEqual], 1.
func (p *Problem) Prefer(name string, c Condition, weight float64) {
	p.prefer(statement{name: name, c: c, weight: weight})
}

func (p *Problem) prefer(s statement) {
	if !(s.weight > 0) || math.IsInf(s.weight, 1) {
		p.fail("Prefer: %s: weight = %v, want > 0 and finite", check.Quote(s.name), s.weight)
		return
	}
	if p.own("Prefer: "+check.Quote(s.name), s.c.p, s.c.err) {
		p.preferred = append(p.preferred, s)
	}
}

// energy returns E(x): the objective and the cost of the preferred conditions.
func (p *Problem) energy(x []int32) float64 {
	e := sum(p.objective, x)
	for i := range p.preferred {
		e += p.preferred[i].cost(x)
	}
	return e
}

// cost returns the contribution of a preferred condition to the energy of x.
func (s *statement) cost(x []int32) float64 {
	v := s.c.violation(x)
	if s.squared {
		v *= v
	}
	return float64(s.weight * v)
}

// violated returns the names of the conditions that x violates, first of the required and then of
// the preferred ones, without duplicates.
func (p *Problem) violated(x []int32) (names []string) {
	for _, list := range [][]statement{p.required, p.preferred} {
		for i := range list {
			if s := &list[i]; s.c.violation(x) > 0 && !slices.Contains(names, s.name) {
				names = append(names, s.name)
			}
		}
	}
	return names
}

func (p *Problem) feasible(x []int32) bool {
	for i := range p.required {
		if p.required[i].c.violation(x) > 0 {
			return false
		}
	}
	return true
}
