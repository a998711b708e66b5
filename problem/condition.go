package problem

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

type op int

const (
	between op = iota
	all
	anyOf
	not
)

// Condition is a statement about variables that holds in some states. It compares an
// expression with numbers or combines other conditions. It is immutable.
type Condition struct {
	p      *Problem
	op     op
	terms  []term // of a comparison, simplified
	lo, hi float64
	tol    float64 // sums this close to a bound satisfy it
	parts  []Condition
	scope  []int
	err    error
}

// Between returns the condition lo ≤ e ≤ hi; either may be infinite. If coefficients and
// bounds are integers, the comparison is exact. Otherwise sums within 2⁻⁴⁰ of the sum of
// their magnitudes count as equal to a bound.
func (e Expr) Between(lo, hi float64) Condition {
	c := Condition{p: e.p, lo: lo, hi: hi, err: e.err}
	if c.err != nil {
		return c
	}
	if math.IsNaN(lo) || math.IsNaN(hi) || math.IsInf(lo, 1) || math.IsInf(hi, -1) {
		c.err = fmt.Errorf("a sum between %v and %v, want bounds", lo, hi)
		return c
	}
	c.terms = simplify(e.terms)
	c.scope = scope(c.terms)
	whole, scale := magnitude(c.terms)
	whole = whole && integral(lo) && integral(hi)
	scale += finite(lo) + finite(hi)
	if math.IsInf(scale, 1) || math.IsNaN(scale) {
		c.err = fmt.Errorf("a sum between %v and %v: the sum of magnitudes overflows", lo, hi)
	}
	if !whole || scale >= 1<<53 {
		c.tol = scale * (1.0 / (1 << 40))
	}
	return c
}

// magnitude returns a bound on the absolute value of the sum of terms and of every part of
// it, and whether all numbers are integers.
func magnitude(terms []term) (whole bool, scale float64) {
	whole = true
	for _, t := range terms {
		m := math.Abs(t.c)
		whole = whole && integral(t.c)
		for _, f := range t.f {
			most := 0.0
			for _, u := range f.u {
				most, whole = max(most, math.Abs(u)), whole && integral(u)
			}
			m *= most
		}
		scale += m
	}
	return whole, scale
}

func integral(v float64) bool { return v == math.Trunc(v) }

func finite(v float64) float64 {
	if math.IsInf(v, 0) {
		return 0
	}
	return math.Abs(v)
}

// Equal returns the condition a = b.
func Equal(a, b Expr) Condition { return a.Minus(b).Exactly(0) }

// NotEqual returns the condition a ≠ b.
func NotEqual(a, b Expr) Condition { return Not(Equal(a, b)) }

// AllDifferent returns the condition that no two expressions are equal. Its violation is
// the number of equal pairs.
func AllDifferent(e ...Expr) Condition {
	var c []Condition
	for i := range e {
		for j := range i {
			c = append(c, NotEqual(e[j], e[i]))
		}
	}
	return All(c...)
}

// All returns the condition that every one of c holds.
func All(c ...Condition) Condition { return combine(all, c) }

// Any returns the condition that at least one of c holds.
func Any(c ...Condition) Condition { return combine(anyOf, c) }

// Not returns the condition that c does not hold.
func Not(c Condition) Condition { return combine(not, []Condition{c}) }

// Implies returns the condition that b holds whenever a holds.
func Implies(a, b Condition) Condition { return Any(Not(a), b) }

func combine(o op, parts []Condition) Condition {
	c := Condition{op: o, parts: slices.Clone(parts)}
	for _, part := range parts {
		c.p, c.err = joined(c.p, part.p, c.err, part.err)
		c.scope = append(c.scope, part.scope...)
	}
	slices.Sort(c.scope)
	c.scope = slices.Compact(c.scope)
	return c
}

// Indicator returns the expression that is 1 where c holds and 0 elsewhere. It has one term
// for each state of the variables of c in which c holds, at most 2¹⁶ terms.
func (c Condition) Indicator() Expr {
	e := Expr{p: c.p, err: c.err}
	if e.err == nil && c.p == nil {
		e.err = errors.New("Indicator: the condition has no variable")
	}
	if e.err != nil {
		return e
	}
	if size := c.p.size(c.scope); size > 1<<16 {
		e.err = fmt.Errorf("Indicator: the condition has %.3g states, want ≤ 2^16", size)
		return e
	}
	if len(c.scope) == 1 { // one function
		v, x := c.scope[0], make([]int32, len(c.p.vars))
		u := make([]float64, len(c.p.vars[v].values))
		for l := range u {
			if x[v] = int32(l); c.violation(x) == 0 {
				u[l] = 1
			}
		}
		e.terms = []term{{1, []factor{{v, u}}}}
		return e
	}
	c.p.states(c.scope, func(x []int32) {
		if c.violation(x) > 0 {
			return
		}
		t := term{c: 1}
		for _, v := range c.scope {
			u := make([]float64, len(c.p.vars[v].values))
			u[x[v]] = 1
			t.f = append(t.f, factor{v, u})
		}
		e.terms = append(e.terms, t)
	})
	return e
}

// size returns the number of states of some variables.
func (p *Problem) size(scope []int) float64 {
	n := 1.0
	for _, v := range scope {
		n *= float64(len(p.vars[v].values))
	}
	return n
}

// states calls f with every state of some variables, the last one varying fastest. Others
// are at level 0. f must not keep the slice.
func (p *Problem) states(scope []int, f func(x []int32)) {
	x := make([]int32, len(p.vars))
	for {
		f(x)
		i := len(scope) - 1
		for ; i >= 0; i-- {
			v := scope[i]
			if x[v]++; int(x[v]) < len(p.vars[v].values) {
				break
			}
			x[v] = 0
		}
		if i < 0 {
			return
		}
	}
}

// violation returns by how much a state violates c, or 0 if c holds: for a comparison the
// distance of the sum from its bounds, for All the sum of the parts' violations, for Any
// the least of them, and 1 for Not.
func (c *Condition) violation(x []int32) float64 {
	return c.given(x, nil)
}

// given returns the violation of c. Unless it is nil, known supplies the violations of some
// comparisons within c.
func (c *Condition) given(x []int32, known func(*Condition) (violation float64, ok bool)) float64 {
	switch c.op {
	case between:
		if known != nil {
			if v, ok := known(c); ok {
				return v
			}
		}
		return c.distance(sum(c.terms, x))
	case all:
		v := 0.0
		for i := range c.parts {
			v += c.parts[i].given(x, known)
		}
		return v
	case anyOf:
		least := 1.0 // without alternatives
		for i := range c.parts {
			if v := c.parts[i].given(x, known); i == 0 || v < least {
				least = v
			}
		}
		return least
	}
	if c.parts[0].given(x, known) == 0 {
		return 1
	}
	return 0
}

// distance is the violation of a comparison whose sum is s.
func (c *Condition) distance(s float64) float64 {
	if d := max(c.lo-s, s-c.hi, 0); d > c.tol {
		return d
	}
	return 0
}

// separable returns the sum of a comparison as a constant and a function of each variable
// of the scope; ok is false for other conditions.
func (c *Condition) separable() (constant float64, u [][]float64, ok bool) {
	if c.op != between {
		return 0, nil, false
	}
	u = make([][]float64, len(c.scope))
	for _, t := range c.terms {
		switch len(t.f) {
		case 0:
			constant += t.c
		case 1:
			i, _ := slices.BinarySearch(c.scope, t.f[0].v)
			if u[i] == nil {
				u[i] = make([]float64, len(t.f[0].u))
			}
			for l, w := range t.f[0].u {
				u[i][l] += float64(t.c * w)
			}
		default:
			return 0, nil, false
		}
	}
	return constant, u, true
}
