package problem

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// maxTerms is the largest number of terms of a product of sums.
const maxTerms = 1 << 22

// Expr is an expression in the variables of a problem. It is a sum of products, whose factors are
// functions of a single variable. It is immutable. The zero value is the number 0.
type Expr struct {
	p     *Problem // problem of the variables; nil for a constant
	terms []term
	err   error
}

// term is a product c·Π f of a constant and functions of different variables, in ascending order of
// the variables.
type term struct {
	c float64
	f []factor
}

// factor is a function of one variable, given by its value at each level.
type factor struct {
	v int
	u []float64
}

// Number returns the constant expression w.
func Number(w float64) Expr {
	if !check.Finite(w) {
		return Expr{err: fmt.Errorf("the number %v is not finite", w)}
	}
	return Expr{terms: []term{{c: w}}}
}

// Sum returns the sum of the given expressions, or 0 if there are none.
func Sum(e ...Expr) Expr {
	var s Expr
	for _, t := range e {
		s = s.join(t)
		s.terms = append(s.terms, t.terms...)
	}
	return s
}

// join returns e with the problem and the error that a combination of e and o has.
func (e Expr) join(o Expr) Expr {
	e.p, e.err = joined(e.p, o.p, e.err, o.err)
	return e
}

func joined(p, q *Problem, errs ...error) (*Problem, error) {
	if p != nil && q != nil && p != q {
		errs = append(errs, errors.New("variables of two problems are combined"))
	}
	if p == nil {
		p = q
	}
	for _, err := range errs {
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

// Plus returns the sum of e and all expressions in o.
func (e Expr) Plus(o ...Expr) Expr {
	e.terms = slices.Clip(e.terms)
	for _, t := range o {
		e = e.join(t)
		e.terms = append(e.terms, t.terms...)
	}
	return e
}

// Minus returns the expression e − o.
func (e Expr) Minus(o Expr) Expr { return e.Plus(o.Scale(-1)) }

// Scale returns the expression w·e, for a number w.
func (e Expr) Scale(w float64) Expr {
	if !check.Finite(w) {
		return Expr{p: e.p, err: fmt.Errorf("Scale: w = %v, want a finite number", w)}
	}
	terms := make([]term, len(e.terms))
	for i, t := range e.terms {
		terms[i] = term{t.c * w, t.f}
	}
	e.terms = terms
	return e
}

// Times returns the product e·o. If both are sums, the product has a term for every pair of terms.
// There may be at most 2²² terms.
func (e Expr) Times(o Expr) Expr {
	r := Expr{}.join(e).join(o)
	if r.err != nil {
		return r
	}
	if float64(len(e.terms))*float64(len(o.terms)) > maxTerms {
		r.err = fmt.Errorf("Times: a product of %d by %d terms, want ≤ %d in all", len(e.terms), len(o.terms), maxTerms)
		return r
	}
	for _, a := range e.terms {
		for _, b := range o.terms {
			r.terms = append(r.terms, term{a.c * b.c, times(a.f, b.f)})
		}
	}
	r.terms = simplify(r.terms)
	return r
}

// times returns the product of two lists of factors. It merges factors of the same variable.
func times(a, b []factor) []factor {
	f := make([]factor, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].v < b[0].v:
			f, a = append(f, a[0]), a[1:]
		case a[0].v > b[0].v:
			f, b = append(f, b[0]), b[1:]
		default:
			u := make([]float64, len(a[0].u))
			for l := range u {
				u[l] = a[0].u[l] * b[0].u[l]
			}
			f, a, b = append(f, factor{a[0].v, u}), a[1:], b[1:]
		}
	}
	return append(append(f, a...), b...)
}

// simplify merges terms that have the same factors by adding their constants. The merged terms keep
// the order in which their factors first appear.
func simplify(terms []term) []term {
	index := make(map[string]int, len(terms))
	out := make([]term, 0, len(terms))
	var key []byte
	for _, t := range terms {
		key = key[:0]
		for _, f := range t.f {
			key = appendBits(key, uint64(f.v))
			for _, u := range f.u {
				key = appendBits(key, math.Float64bits(u))
			}
		}
		if k, met := index[string(key)]; met {
			out[k].c += t.c
			continue
		}
		index[string(key)] = len(out)
		out = append(out, t)
	}
	return slices.DeleteFunc(out, func(t term) bool { return t.c == 0 })
}

func appendBits(b []byte, v uint64) []byte {
	for range 8 {
		b, v = append(b, byte(v)), v>>8
	}
	return b
}

// at returns the value of the term in the state x.
func (t *term) at(x []int32) float64 {
	w := t.c
	for _, f := range t.f {
		w *= f.u[x[f.v]]
	}
	return w
}

func sum(terms []term, x []int32) float64 {
	s := 0.0
	for i := range terms {
		s += terms[i].at(x)
	}
	return s
}

// AtMost returns the condition e ≤ w, for a number w.
func (e Expr) AtMost(w float64) Condition { return e.Between(math.Inf(-1), w) }

// AtLeast returns the condition e ≥ w, for a number w.
func (e Expr) AtLeast(w float64) Condition { return e.Between(w, math.Inf(1)) }

// Exactly returns the condition e = w, for a number w.
func (e Expr) Exactly(w float64) Condition { return e.Between(w, w) }

// Is returns the condition that e, a variable made by [Problem.Category], has the given label.
func (e Expr) Is(label string) Condition {
	if e.p != nil && e.err == nil && len(e.terms) == 1 && len(e.terms[0].f) == 1 {
		v := &e.p.vars[e.terms[0].f[0].v]
		if l := slices.Index(v.labels, label); l >= 0 {
			return e.Exactly(float64(l))
		}
		if v.labels != nil {
			return Condition{p: e.p, err: fmt.Errorf("Is: %s has no label %s", check.Quote(v.name), check.Quote(label))}
		}
	}
	_, err := joined(e.p, nil, e.err, errors.New("Is: the expression is no category"))
	return Condition{p: e.p, err: err}
}

// scope returns the variables that occur in terms, in ascending order.
func scope(terms []term) []int {
	var s []int
	for i := range terms {
		for _, f := range terms[i].f {
			s = append(s, f.v)
		}
	}
	slices.Sort(s)
	return slices.Compact(s)
}
