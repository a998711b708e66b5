package read

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// readSAT reads clauses in the format "cnf" or "wcnf". A clause is a list of literals that ends
// with 0; in "wcnf" a weight precedes it. A clause with the variables x and the negated variables y
// becomes the constraint Σ x − Σ y ≥ 1 − |y|, where |y| is the number of negated variables.
func readSAT(r io.Reader, format string) (*Program, error) {
	w := newWords("DIMACS "+format, r)
	w.comment = "c#"
	weighted := format == "wcnf"
	p := &Program{}
	n, m, top := 0, -1, math.Inf(1)
	header := false
	word, err := w.optional()
	if err != nil {
		return nil, err
	}
	if word == "p" {
		header = true
		kind, err := w.next("the kind of problem")
		if err != nil {
			return nil, err
		}
		if kind != format {
			return nil, w.errorf("p %s, want p %s", brief(kind), format)
		}
		if n, err = w.integer("the number of variables", 0, freeSites); err != nil {
			return nil, err
		}
		if m, err = w.integer("the number of clauses", 0, math.MaxInt32); err != nil {
			return nil, err
		}
		if weighted && w.at < len(w.columns) {
			if top, err = w.real("top"); err != nil {
				return nil, err
			}
		}
		if word, err = w.optional(); err != nil {
			return nil, err
		}
	} else if !weighted {
		if word == "" {
			return nil, w.failf("no words, want p cnf")
		}
		return nil, w.errorf("%s, want p cnf", brief(word))
	}
	for ; word != ""; word, err = w.optional() {
		if err != nil {
			return nil, err
		}
		if word == "%" && format == "cnf" { // ends the clauses in files of SATLIB
			break
		}
		c := Constraint{Name: fmt.Sprintf("clause %d", len(p.Constraints)+1), Lower: 1, Upper: math.Inf(1)}
		if weighted {
			if word != "h" {
				if c.Weight, err = strconv.ParseFloat(word, 64); err != nil || !check.Finite(c.Weight) || c.Weight < 0 {
					return nil, w.errorf("weight = %s, want h or a finite number ≥ 0", brief(word))
				}
				if c.Weight >= top {
					c.Weight = 0 // required clause
				} else if c.Weight == 0 {
					c.Weight = -1 // clause of weight 0, which has no effect
				}
			} else if header {
				return nil, w.errorf("h in a file with a line p, want a weight")
			}
			if word, err = w.next("a literal"); err != nil {
				return nil, err
			}
		}
		for ; word != "0"; word, err = w.next("a literal or 0") {
			if err != nil {
				return nil, err
			}
			l, err := strconv.Atoi(word)
			most := freeSites
			if header {
				most = n
			}
			if err != nil || l == 0 || l > most || -l > most {
				return nil, w.errorf("literal = %s, want −%d … %d", brief(word), most, most)
			}
			if l > 0 {
				c.Sum = append(c.Sum, Monomial{1, []int{l - 1}})
			} else {
				l = -l
				c.Sum = append(c.Sum, Monomial{-1, []int{l - 1}})
				c.Lower--
			}
			if !header {
				n = max(n, l)
			}
		}
		if c.Weight >= 0 {
			p.Constraints = append(p.Constraints, clause(c))
		} else {
			m--
		}
	}
	if err != nil {
		return nil, err
	}
	if header && m >= 0 && len(p.Constraints) != m {
		return nil, w.failf("%d clauses, but the header states %d", len(p.Constraints), m)
	}
	if n == 0 {
		return nil, w.failf("no variables, want ≥ 1")
	}
	p.Variables = numbered(n, 1, false)
	return p, nil
}

// clause removes repeated literals, so that the violation of a clause is 0 or 1. A clause with a
// variable and its negation becomes an empty sum that always holds.
func clause(c Constraint) Constraint {
	sign := map[int]float64{}
	out := c.Sum[:0]
	for _, m := range c.Sum {
		switch s, met := sign[m.Of[0]]; {
		case !met:
			sign[m.Of[0]] = m.W
			out = append(out, m)
		case s == m.W: // the same literal again
			if m.W < 0 {
				c.Lower++
			}
		default: // x ∨ ¬x is always true
			c.Sum, c.Lower = nil, 0
			return c
		}
	}
	c.Sum = out
	return c
}

// optional returns the next word, or "" at the end of the text.
func (w *words) optional() (string, error) {
	for w.at >= len(w.columns) {
		ok, err := w.lines.next()
		if err != nil || !ok {
			return "", err
		}
		w.at = 0
	}
	return w.next("")
}

// literals returns the literals of the clause that a constraint expresses. It returns an error if
// the constraint is not a clause.
func (p *Program) literals(c *Constraint) (literals []int, err error) {
	lower := 1.0
	for _, m := range p.collect(c.Sum) {
		if len(m.Of) != 1 || m.W != 1 && m.W != -1 {
			return nil, fmt.Errorf("constraint %s is no clause, want Σ x − Σ y ≥ 1 − the number of y", check.Quote(c.Name))
		}
		l := m.Of[0] + 1
		if m.W < 0 {
			lower, l = lower-1, -l
		}
		literals = append(literals, l)
	}
	switch {
	case c.Lower == lower && c.Upper >= float64(len(literals)):
	case len(literals) == 0 && c.Lower <= 0 && c.Upper >= 0: // always true
		literals = []int{1, -1}
	default:
		return nil, fmt.Errorf("constraint %s is no clause, want Σ x − Σ y ≥ 1 − the number of y", check.Quote(c.Name))
	}
	return literals, nil
}

func (p *Program) satisfiable() error {
	if len(p.collect(p.Objective)) > 0 {
		return fmt.Errorf("an objective, which the format does not have")
	}
	for i, v := range p.Variables {
		if v.Spin || v.Lower != 0 || v.Upper != 1 || v.Name != fmt.Sprint(i+1) {
			return fmt.Errorf("variable %s, want bits named 1, 2, …", check.Quote(v.Name))
		}
	}
	return nil
}

func writeCNF(w *bufio.Writer, p *Program) error {
	if err := p.satisfiable(); err != nil {
		return err
	}
	fmt.Fprintf(w, "p cnf %d %d\n", len(p.Variables), len(p.Constraints))
	for i := range p.Constraints {
		c := &p.Constraints[i]
		if c.Weight > 0 {
			return fmt.Errorf("constraint %s has a weight, want wcnf", check.Quote(c.Name))
		}
		if err := writeClause(w, p, c); err != nil {
			return err
		}
	}
	return nil
}

func writeClause(w *bufio.Writer, p *Program, c *Constraint) error {
	literals, err := p.literals(c)
	if err != nil {
		return err
	}
	for _, l := range literals {
		fmt.Fprint(w, l, " ")
	}
	fmt.Fprintln(w, 0)
	return nil
}

func writeWCNF(w *bufio.Writer, p *Program) error {
	if err := p.satisfiable(); err != nil {
		return err
	}
	top := 1.0
	for _, c := range p.Constraints {
		top += c.Weight
	}
	fmt.Fprintf(w, "p wcnf %d %d %s\n", len(p.Variables), len(p.Constraints), digits(top))
	for i := range p.Constraints {
		c := &p.Constraints[i]
		weight := c.Weight
		if weight == 0 {
			weight = top
		}
		fmt.Fprint(w, digits(weight), " ")
		if err := writeClause(w, p, c); err != nil {
			return err
		}
	}
	return nil
}
