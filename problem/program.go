package problem

import (
	"errors"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy/read"
)

// Read converts a program, for example one that [read.NewProgram] has read from a file, to a
// problem.
func Read(r *read.Program) (*Problem, error) {
	if r == nil {
		return nil, errors.New("problem: Read: r = nil")
	}
	if err := r.Check(); err != nil {
		return nil, fmt.Errorf("problem: Read: %w", err)
	}
	p := New()
	x := make([]Expr, len(r.Variables))
	for i, v := range r.Variables {
		switch {
		case v.Spin:
			x[i] = p.Spin(v.Name)
		case v.Lower == 0 && v.Upper == 1:
			x[i] = p.Binary(v.Name)
		default:
			x[i] = p.Integer(v.Name, v.Lower, v.Upper)
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	polynomial := func(sum []read.Monomial) Expr {
		e := Expr{p: p}
		for _, m := range sum {
			e.terms = append(e.terms, term{m.W, product(x, m.Of)})
		}
		return e
	}
	p.Objective(polynomial(r.Objective))
	for _, c := range r.Constraints {
		condition := polynomial(c.Sum).Between(c.Lower, c.Upper)
		if c.Weight == 0 {
			p.Require(c.Name, condition)
		} else {
			p.prefer(statement{name: c.Name, c: condition, weight: c.Weight, squared: c.Squared})
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	return p, nil
}

// product returns the factors of the product of the variables x[i] for the indices i in of, which
// may repeat.
func product(x []Expr, of []int) []factor {
	switch len(of) {
	case 0:
		return nil
	case 1:
		return x[of[0]].terms[0].f
	}
	return times(product(x, of[:len(of)/2]), product(x, of[len(of)/2:]))
}

// Program converts the problem to a program that can be written to a file. A category becomes one
// bit "name=label" for each label, with a constraint that exactly one of these bits is 1. A
// condition that is not a comparison becomes the comparison [Condition.Indicator] ≥ 1.
//
// Program returns an error if such a condition was added by [Problem.Prefer] and its violation is
// not always 0 or 1. It also returns an error for any function, except a power, of an integer
// variable with more than two values.
func (p *Problem) Program() (*read.Program, error) {
	if p.err != nil {
		return nil, p.err
	}
	r := &read.Program{}
	// Index in r of the variable or, for a category, of its first label's variable.
	first := make([]int, len(p.vars))
	for i, v := range p.vars {
		first[i] = len(r.Variables)
		lo, hi := v.values[0], v.values[len(v.values)-1]
		switch v.kind {
		case category:
			one := read.Constraint{Name: "one " + v.name, Lower: 1, Upper: 1}
			for _, l := range v.labels {
				one.Sum = append(one.Sum, read.Monomial{W: 1, Of: []int{len(r.Variables)}})
				r.Variables = append(r.Variables, read.Variable{Name: v.name + "=" + l, Upper: 1})
			}
			r.Constraints = append(r.Constraints, one)
		case spin:
			r.Variables = append(r.Variables, read.Variable{Name: v.name, Spin: true})
		default:
			r.Variables = append(r.Variables, read.Variable{Name: v.name, Lower: int(lo), Upper: int(hi)})
		}
	}
	var err error
	if r.Objective, err = p.monomials(p.objective, first); err != nil {
		return nil, fmt.Errorf("problem: Program: objective: %w", err)
	}
	for _, list := range [][]statement{p.required, p.preferred} {
		for _, s := range list {
			c := read.Constraint{Name: s.name, Weight: s.weight, Squared: s.squared}
			terms := s.c.terms
			c.Lower, c.Upper = s.c.lo, s.c.hi
			if s.c.op != between {
				terms, c.Lower, c.Upper = s.c.Indicator().terms, 1, math.Inf(1)
				if s.weight > 0 && !s.c.logical() {
					return nil, fmt.Errorf("problem: Program: condition %q has a weight and violations other than 0 and 1, which no comparison has", s.name)
				}
				if e := s.c.Indicator(); e.err != nil {
					return nil, fmt.Errorf("problem: Program: condition %q: %w", s.name, e.err)
				}
			}
			if c.Sum, err = p.monomials(terms, first); err != nil {
				return nil, fmt.Errorf("problem: Program: condition %q: %w", s.name, err)
			}
			r.Constraints = append(r.Constraints, c)
		}
	}
	return r, nil
}

// logical reports whether the violation of c is always 0 or 1.
func (c *Condition) logical() bool {
	switch c.op {
	case not:
		return true
	case anyOf:
		for i := range c.parts {
			if !c.parts[i].logical() {
				return false
			}
		}
		return true
	}
	return false
}

// monomials expands a sum of products into monomials in the variables of a program. first holds,
// for each variable of p, the index of its first program variable.
func (p *Problem) monomials(terms []term, first []int) ([]read.Monomial, error) {
	var sum []read.Monomial
	for _, t := range terms {
		products := []read.Monomial{{W: t.c}}
		for _, f := range t.f {
			parts, err := p.powers(f, first[f.v])
			if err != nil {
				return nil, err
			}
			var next []read.Monomial
			for _, m := range products {
				for _, part := range parts {
					next = append(next, read.Monomial{W: m.W * part.W, Of: append(append([]int{}, m.Of...), part.Of...)})
				}
			}
			products = next
		}
		sum = append(sum, products...)
	}
	return sum, nil
}

// maxPower is the largest power of an integer that powers recognises.
const maxPower = 8

// powers returns a function of one variable as a sum of powers of the program variable i. For a
// category, i is the program variable of its first label, and the result is a sum over its labels.
func (p *Problem) powers(f factor, i int) (sum []read.Monomial, err error) {
	v := &p.vars[f.v]
	switch {
	case v.kind == category:
		for l, u := range f.u {
			if u != 0 {
				sum = append(sum, read.Monomial{W: u, Of: []int{i + l}})
			}
		}
		return sum, nil
	case len(f.u) == 1:
		return []read.Monomial{{W: f.u[0]}}, nil
	case len(f.u) == 2:
		slope := (f.u[1] - f.u[0]) / (v.values[1] - v.values[0])
		if c := f.u[0] - float64(slope*v.values[0]); c != 0 {
			sum = append(sum, read.Monomial{W: c})
		}
		if slope != 0 {
			sum = append(sum, read.Monomial{W: slope, Of: []int{i}})
		}
		return sum, nil
	}
	power := read.Monomial{W: 1}
	for range maxPower {
		power.Of = append(power.Of, i)
		same := true
		for l, u := range f.u {
			same = same && u == math.Pow(v.values[l], float64(len(power.Of)))
		}
		if same {
			return []read.Monomial{power}, nil
		}
	}
	return nil, fmt.Errorf("a function of the integer %q is not a power of it, want one of at most %d: write it as a sum of powers, or declare %q as a category", v.name, maxPower, v.name)
}
