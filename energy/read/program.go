package read

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Program is an optimisation problem as read from a file. It has variables with names, a polynomial
// to be minimised, and constraints on polynomials. Package problem solves it.
type Program struct {
	Variables   []Variable
	Objective   []Monomial
	Constraints []Constraint
}

// Variable is an integer variable with values in Lower … Upper or, if Spin is true, a spin with the
// values −1 and 1.
type Variable struct {
	Name         string
	Spin         bool
	Lower, Upper int
}

// Monomial is the product of the variables in Of, multiplied by the coefficient W. A variable that
// occurs twice in Of is squared.
type Monomial struct {
	W  float64
	Of []int
}

// Constraint requires Lower ≤ Sum ≤ Upper, where Sum is a sum of monomials; either bound may be
// infinite. If Weight is 0, the constraint must hold. If Weight > 0, it may be violated at a cost,
// which is added to the objective. The cost is Weight times the distance from the bounds, or its
// square if Squared is true.
type Constraint struct {
	Name         string
	Sum          []Monomial
	Lower, Upper float64
	Weight       float64
	Squared      bool
}

// Value returns the value of a sum of monomials, where x holds the values of the variables. It
// panics if a monomial has a variable that is not in x.
func Value(sum []Monomial, x []float64) float64 {
	s := 0.0
	for _, m := range sum {
		w := m.W
		for _, i := range m.Of {
			check.Index("read: Value", "variable", i, len(x))
			w *= x[i]
		}
		s += w
	}
	return s
}

// programFormat describes a file format of [NewProgram].
type programFormat struct {
	extensions []string
	read       func(r io.Reader) (*Program, error)
	// Function that writes a program; nil if the format is read-only.
	write func(w *bufio.Writer, p *Program) error
}

// programs returns the formats of [NewProgram]. It is a function rather than a variable, so that a
// binary that calls only other readers is linked without the code for these formats.
func programs() map[string]programFormat {
	return map[string]programFormat{
		"lp":    {[]string{".lp"}, readLP, writeLP},
		"mps":   {[]string{".mps", ".qps"}, readMPS, writeMPS},
		"qplib": {[]string{".qplib"}, readQPLIB, writeQPLIB},
		"mqlib": {[]string{".mqlib"}, readMQLib, writeMQLib},
		"cnf":   {[]string{".cnf"}, func(r io.Reader) (*Program, error) { return readSAT(r, "cnf") }, writeCNF},
		"wcnf":  {[]string{".wcnf"}, func(r io.Reader) (*Program, error) { return readSAT(r, "wcnf") }, writeWCNF},
		"cqm":   {[]string{".cqm"}, readCQM, writeCQM},
		"bqm":   {[]string{".bqm"}, readBQM, writeBQM},
		"json":  {[]string{".json"}, quadratics(readJSON), writeJSON},
		"coo":   {[]string{".coo"}, quadratics(func(r io.Reader) (*quadratic, error) { return coo(r, COOConfig{}) }), writeCOO},
		"qubo":  {[]string{".qubo"}, quadratics(qbsolv), writeQBSolv},
		"csv":   {[]string{".csv"}, quadratics(func(r io.Reader) (*quadratic, error) { return readCSV(r, CSVConfig{}) }), nil},
		"rudy":  {[]string{".rudy", ".txt", ".mc"}, readCut, writeRudy},
	}
}

// Formats returns the names of the formats of [NewProgram], in alphabetical order.
func Formats() []string {
	var names []string
	for name := range programs() {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// FormatOf returns the format of a file, given the file's name and its first bytes. It returns ""
// if neither identifies a format.
func FormatOf(name string, head []byte) string {
	begins := func(with map[string]string) string {
		for prefix, format := range with {
			if n := len(prefix); len(head) >= n && strings.EqualFold(string(head[:n]), prefix) {
				return format
			}
		}
		return ""
	}
	if format := begins(map[string]string{bqmMagic: "bqm", cqmMagic: "cqm", "p qubo": "qubo", "p cnf": "cnf", "p wcnf": "wcnf"}); format != "" {
		return format
	}
	extension := strings.ToLower(filepath.Ext(name))
	for format, f := range programs() {
		if slices.Contains(f.extensions, extension) {
			return format
		}
	}
	return begins(map[string]string{"minimi": "lp", "maximi": "lp", "\\": "lp", "NAME": "mps", "{": "json"})
}

// NewProgram reads a problem in one of these formats:
//
//	lp     files of CPLEX and Gurobi: linear and quadratic, indicators, binaries and generals
//	mps    MPS with integer columns, QUADOBJ or QMATRIX, QCMATRIX, QSECTION
//	qplib  the format of QPLIB: integer variables, quadratic objective and constraints
//	mqlib  QUBOs of MQLib, which are maximised: the energy is −xᵀQx
//	cnf    DIMACS clauses: each is a constraint
//	wcnf   weighted clauses: with a line "p wcnf", or in the form of 2022 with h for hard clauses
//	cqm    constrained quadratic models of dimod, version 2.0
//	bqm    binary quadratic models of dimod, versions 1.0 and 2.0
//	json   BQM and BQPJSON
//	coo    COO
//	qubo   QBSolv
//	csv    CSV
//	rudy   Rudy: the energy is minus the cut
//
// If an integer has more than 65,536 values, NewProgram uses the constraints to narrow its range.
// It returns an error if an integer variable remains without bounds. It also returns an error for a
// continuous variable, unless the constraints leave a single value and that is an integer. Errors
// name the line, if the format has lines, and what was expected.
func NewProgram(r io.Reader, format string) (*Program, error) {
	f, ok := programs()[format]
	if !ok {
		return nil, fmt.Errorf("read: NewProgram: format = %s, want one of %s", check.Quote(format), strings.Join(Formats(), ", "))
	}
	p, err := f.read(r)
	if err != nil {
		return nil, err
	}
	if err := p.Check(); err != nil {
		return nil, fmt.Errorf("read: %s: %w", format, err)
	}
	return p, nil
}

// Write writes the program in one of the formats of [NewProgram] except csv. It returns an error if
// the format cannot express the program. Depending on the format, this may be because of spins (see
// [Program.Bits]), products, bounds or weights.
func (p *Program) Write(w io.Writer, format string) error {
	formats := programs()
	f, ok := formats[format]
	if !ok || f.write == nil {
		return fmt.Errorf("read: Write: format = %s, want one of %s", check.Quote(format), strings.Join(slices.DeleteFunc(Formats(), func(s string) bool { return formats[s].write == nil }), ", "))
	}
	if err := p.Check(); err != nil {
		return fmt.Errorf("read: Write: %w", err)
	}
	b := bufio.NewWriter(w)
	if err := f.write(b, p); err != nil {
		return fmt.Errorf("read: Write: %s: %w", format, err)
	}
	return b.Flush()
}

// Check returns an error unless the program is valid. The names of its variables must be
// distinct and their ranges not empty. All numbers must be finite, except that bounds of
// constraints may be infinite, and all indices must be in range.
func (p *Program) Check() error {
	if len(p.Variables) == 0 {
		return fmt.Errorf("no variables, want ≥ 1")
	}
	named := map[string]bool{}
	for _, v := range p.Variables {
		if v.Name == "" || named[v.Name] {
			return fmt.Errorf("variable name %s is empty or occurs twice", check.Quote(v.Name))
		}
		named[v.Name] = true
		if !v.Spin && v.Lower > v.Upper {
			return fmt.Errorf("variable %s: %d … %d, want Lower ≤ Upper", check.Quote(v.Name), v.Lower, v.Upper)
		}
	}
	if err := p.check(p.Objective, "objective"); err != nil {
		return err
	}
	for _, c := range p.Constraints {
		if err := p.check(c.Sum, "constraint "+check.Quote(c.Name)); err != nil {
			return err
		}
		if math.IsNaN(c.Lower) || math.IsNaN(c.Upper) || math.IsInf(c.Lower, 1) || math.IsInf(c.Upper, -1) {
			return fmt.Errorf("constraint %s: bounds %v … %v", check.Quote(c.Name), c.Lower, c.Upper)
		}
		if !(c.Weight >= 0) || math.IsInf(c.Weight, 1) {
			return fmt.Errorf("constraint %s: weight %v, want ≥ 0 and finite", check.Quote(c.Name), c.Weight)
		}
	}
	return nil
}

func (p *Program) check(sum []Monomial, what string) error {
	for _, m := range sum {
		if !check.Finite(m.W) {
			return fmt.Errorf("%s: coefficient %v, want a finite number", what, m.W)
		}
		for _, i := range m.Of {
			if i < 0 || i >= len(p.Variables) {
				return fmt.Errorf("%s: variable %d, want 0 … %d", what, i, len(p.Variables)-1)
			}
		}
	}
	return nil
}

// Bits returns the program with every spin s replaced by a bit x = (s + 1)/2 of the same name.
func (p *Program) Bits() *Program {
	q := &Program{Variables: slices.Clone(p.Variables), Constraints: slices.Clone(p.Constraints)}
	for i := range q.Variables {
		if v := &q.Variables[i]; v.Spin {
			v.Spin, v.Lower, v.Upper = false, 0, 1
		}
	}
	q.Objective = q.collect(p.bits(p.Objective))
	for i := range q.Constraints {
		q.Constraints[i].Sum = q.collect(p.bits(q.Constraints[i].Sum))
	}
	return q
}

// bits returns a sum in which every spin is replaced by 2x − 1 for a bit x.
func (p *Program) bits(sum []Monomial) []Monomial {
	var out []Monomial
	for _, m := range sum {
		terms := []Monomial{{W: m.W}}
		for _, i := range m.Of {
			if !p.Variables[i].Spin {
				for k := range terms {
					terms[k].Of = append(terms[k].Of, i)
				}
				continue
			}
			for _, t := range terms {
				terms = append(terms, Monomial{2 * t.W, append(slices.Clone(t.Of), i)})
			}
			for k := range len(terms) / 2 {
				terms[k].W = -terms[k].W
			}
		}
		out = append(out, terms...)
	}
	return out
}

// collect returns the sum with one monomial for each product of variables, in ascending order. It
// replaces powers of a bit by the bit and removes squares of spins.
func (p *Program) collect(sum []Monomial) []Monomial {
	index := map[string]int{}
	var out []Monomial
	for _, m := range sum {
		of := slices.Sorted(slices.Values(m.Of))
		kept := of[:0]
		for _, i := range of {
			n := len(kept)
			again := n > 0 && kept[n-1] == i
			switch v := p.Variables[i]; {
			case again && v.Spin:
				kept = kept[:n-1]
				continue
			case again && v.Lower == 0 && v.Upper == 1:
				continue
			}
			kept = append(kept, i)
		}
		key := fmt.Sprint(kept)
		if k, met := index[key]; met {
			out[k].W += m.W
			continue
		}
		index[key] = len(out)
		out = append(out, Monomial{m.W, kept})
	}
	return slices.DeleteFunc(out, func(m Monomial) bool { return m.W == 0 })
}

// quadratic splits a sum into a constant, linear monomials and quadratic monomials. It returns an
// error if a monomial has a higher degree.
func (p *Program) quadratic(sum []Monomial) (constant float64, linear, square []Monomial, err error) {
	for _, m := range p.collect(sum) {
		switch len(m.Of) {
		case 0:
			constant += m.W
		case 1:
			linear = append(linear, m)
		case 2:
			square = append(square, m)
		default:
			return 0, nil, nil, fmt.Errorf("a product of %d variables, want ≤ 2", len(m.Of))
		}
	}
	return constant, linear, square, nil
}

// integers returns an error if a variable is a spin.
func (p *Program) integers() error {
	for _, v := range p.Variables {
		if v.Spin {
			return fmt.Errorf("variable %s is a spin, which the format does not have; write Program.Bits()", check.Quote(v.Name))
		}
	}
	return nil
}

// unconstrained returns an error unless there are no constraints and all variables are bits or, if
// spins is true, all variables are spins.
func (p *Program) unconstrained(spins bool) error {
	if len(p.Constraints) > 0 {
		return fmt.Errorf("%d constraints, want none", len(p.Constraints))
	}
	for _, v := range p.Variables {
		if v.Spin != p.Variables[0].Spin || v.Spin && !spins || !v.Spin && (v.Lower != 0 || v.Upper != 1) {
			return fmt.Errorf("variable %s is not binary; bits%s are what the format has", check.Quote(v.Name), map[bool]string{true: " only, or spins only,"}[spins])
		}
	}
	return nil
}

// numbered returns n bits or spins named by consecutive numbers from first.
func numbered(n, first int, spins bool) []Variable {
	v := make([]Variable, n)
	for i := range v {
		v[i] = Variable{Name: fmt.Sprint(first + i), Upper: 1}
		if spins {
			v[i].Spin, v[i].Upper = true, 0
		}
	}
	return v
}
