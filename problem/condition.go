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

// Condition is a statement about variables that holds in some states and not in others. It compares
// an expression with numbers or combines other conditions. It is immutable.
type Condition struct {
	p      *Problem
	op     op
	terms  []term // simplified terms of a comparison
	lo, hi float64
	// Tolerance of a comparison: a sum that misses a bound by at most tol satisfies the condition.
	tol   float64
	parts []Condition
	scope []int
	err   error
}

// Between returns the condition lo ≤ e ≤ hi; lo may be −Inf and hi may be +Inf. If coefficients and
// bounds are integers, the comparison is exact. Otherwise it allows for rounding: e may miss a
// bound by r times the sum of the magnitudes of all terms and bounds, where
//
//	r = min(2⁻⁴⁹·(n + 4), 2⁻⁴⁰),
//
// and n counts the terms and their factors.
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
		// sixteen times the rounding error of n + 4 operations, because the index of counters
		// distinguishes sums that differ by a sixteenth of tol
		c.tol = scale * min(float64(c.work()+4)*0x1p-49, 0x1p-40)
	}
	return c
}

// magnitude returns scale, a bound on the absolute value of the sum of terms and of every partial
// sum. whole reports whether all numbers are integers.
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

// Equal returns the condition a = b, for expressions a and b.
func Equal(a, b Expr) Condition { return a.Minus(b).Exactly(0) }

// NotEqual returns the condition a ≠ b, for expressions a and b.
func NotEqual(a, b Expr) Condition { return Not(Equal(a, b)) }

// AllDifferent returns the condition that no two of the expressions have equal values. The
// violation of this condition (see [Problem.Prefer]) is the number of equal pairs.
func AllDifferent(e ...Expr) Condition {
	var c []Condition
	for i := range e {
		for j := range i {
			c = append(c, NotEqual(e[j], e[i]))
		}
	}
	return All(c...)
}

// All returns the condition that every condition in c holds.
func All(c ...Condition) Condition { return combine(all, c) }

// Any returns the condition that at least one condition in c holds.
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

// Indicator returns the expression that is 1 in states in which c holds and 0 in all others. If c
// has a single variable, the expression has one term. Otherwise it has one term for each joint
// state of c's variables in which c holds. The variables may have at most 2¹⁶ joint states.
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
	if len(c.scope) == 1 { // one term with a function of one variable
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
	c.p.states(c.scope, func(x []int32) (more bool) {
		if c.violation(x) > 0 {
			return true
		}
		t := term{c: 1}
		for _, v := range c.scope {
			u := make([]float64, len(c.p.vars[v].values))
			u[x[v]] = 1
			t.f = append(t.f, factor{v, u})
		}
		e.terms = append(e.terms, t)
		return true
	})
	return e
}

// size returns the number of joint states of the variables in scope.
func (p *Problem) size(scope []int) float64 {
	n := 1.0
	for _, v := range scope {
		n *= float64(len(p.vars[v].values))
	}
	return n
}

// states calls f with every joint state of the variables in scope, the last one varying fastest,
// until f returns false. All other variables are at level 0. f must not keep x.
func (p *Problem) states(scope []int, f func(x []int32) (more bool)) {
	x := make([]int32, len(p.vars))
	for f(x) {
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

// violation returns the amount by which the state x violates c, or 0 if c holds. For a comparison
// it is the distance of the sum from its bounds. For All it is the sum of the parts' violations,
// for Any the smallest of them, and for Not it is 1.
func (c *Condition) violation(x []int32) float64 {
	return c.given(x, nil)
}

// given returns the violation of c in the state x. If known is not nil, it may supply the
// violations of comparisons within c.
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
		least := 1.0 // violation of an Any without parts
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

// work returns the number of operations that [Condition.violation] takes.
func (c *Condition) work() int {
	n := 1
	for _, t := range c.terms {
		n += len(t.f) + 1
	}
	for i := range c.parts {
		n += c.parts[i].work()
	}
	return n
}

// distance returns the violation of a comparison whose sum is s.
func (c *Condition) distance(s float64) float64 {
	if d := max(c.lo-s, s-c.hi, 0); d > c.tol {
		return d
	}
	return 0
}

// separable writes the sum of a comparison as a constant plus one function u of each variable of
// the scope. ok is false if the sum has products of variables or c is not a comparison.
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
