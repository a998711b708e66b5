package read

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// qplib parses a QPLIB file line by line. Anything after the values of a line is a comment.
type qplib struct {
	lines
	p        *Program
	infinity float64
}

// line reads the next line, which must have at least the given number of values. what describes
// them in the error message.
func (q *qplib) line(values int, what string) error {
	ok, err := q.next()
	if err != nil {
		return err
	}
	if !ok {
		return q.failf("ends after line %d, want %s", q.number, what)
	}
	if len(q.columns) < values {
		return q.errorf("%d columns, want %s", len(q.columns), what)
	}
	return nil
}

func (q *qplib) count(what string, most int) (int, error) {
	if err := q.line(1, what); err != nil {
		return 0, err
	}
	return q.integer(0, what, 0, most)
}

func (q *qplib) value(what string) (float64, error) {
	if err := q.line(1, what); err != nil {
		return 0, err
	}
	return q.real(0, what)
}

// entries reads a number of lines and calls f with each. A line holds one index for each entry of
// sizes, from 1 to that size, and a value.
func (q *qplib) entries(what string, sizes []int, f func(index []int, w float64) error) error {
	n, err := q.count("the number of "+what, math.MaxInt32)
	if err != nil {
		return err
	}
	index := make([]int, len(sizes))
	for range n {
		if err := q.line(len(sizes)+1, what); err != nil {
			return err
		}
		for k, size := range sizes {
			i, err := q.integer(k, "an index", 1, size)
			if err != nil {
				return err
			}
			index[k] = i - 1
		}
		w, err := q.real(len(sizes), "a value")
		if err != nil {
			return err
		}
		if err := f(index, w); err != nil {
			return err
		}
	}
	return nil
}

// defaults reads a vector of length n: a default value, and the entries that differ from it.
func (q *qplib) defaults(what string, n int) ([]float64, error) {
	w, err := q.value("the default of " + what)
	if err != nil {
		return nil, err
	}
	v := make([]float64, n)
	for i := range v {
		v[i] = w
	}
	return v, q.entries(what, []int{n}, func(index []int, w float64) error {
		v[index[0]] = w
		return nil
	})
}

func readQPLIB(r io.Reader) (*Program, error) {
	q := &qplib{lines: *newLines("QPLIB", r), p: &Program{}}
	q.comment = "!#%"
	if err := q.line(1, "the name"); err != nil {
		return nil, err
	}
	if err := q.line(1, "the type"); err != nil {
		return nil, err
	}
	kind := strings.ToUpper(q.columns[0])
	if len(kind) != 3 || !strings.ContainsAny(kind[:1], "LDCQ") || !strings.ContainsAny(kind[1:2], "CBMIG") || !strings.ContainsAny(kind[2:], "NBLDCQ") {
		return nil, q.errorf("type = %s, want three letters such as QBL", brief(q.columns[0]))
	}
	if !strings.ContainsAny(kind[1:2], "BIMG") {
		return nil, q.errorf("type = %s: the variables are continuous, want B, I, M or G as the second letter", kind)
	}
	if err := q.line(1, "minimize or maximize"); err != nil {
		return nil, err
	}
	sign := map[string]float64{"minimize": 1, "maximize": -1}[strings.ToLower(q.columns[0])]
	if sign == 0 {
		return nil, q.errorf("%s, want minimize or maximize", brief(q.columns[0]))
	}
	n, err := q.count("the number of variables", freeSites)
	if err != nil {
		return nil, err
	}
	constrained := kind[2] != 'N' && kind[2] != 'B'
	m := 0
	if constrained {
		if m, err = q.count("the number of constraints", freeSites); err != nil {
			return nil, err
		}
	}
	q.p.Variables = make([]Variable, n)
	q.p.Constraints = make([]Constraint, m)
	half := func(index []int, w float64) Monomial {
		if index[0] == index[1] {
			w /= 2
		}
		return Monomial{w, []int{index[0], index[1]}}
	}
	if kind[0] != 'L' {
		if err := q.entries("quadratic terms of the objective", []int{n, n}, func(index []int, w float64) error {
			q.p.Objective = append(q.p.Objective, half(index, sign*w))
			return nil
		}); err != nil {
			return nil, err
		}
	}
	linear, err := q.defaults("linear terms of the objective", n)
	if err != nil {
		return nil, err
	}
	for i, w := range linear {
		if w != 0 {
			q.p.Objective = append(q.p.Objective, Monomial{sign * w, []int{i}})
		}
	}
	constant, err := q.value("the constant of the objective")
	if err != nil {
		return nil, err
	}
	if constant != 0 {
		q.p.Objective = append(q.p.Objective, Monomial{W: sign * constant})
	}
	if err := q.constraints(kind, n, m); err != nil {
		return nil, err
	}
	if err := q.variables(kind, n); err != nil {
		return nil, err
	}
	return q.p, q.rest(n, m, constrained)
}

// unlimited is the smallest magnitude of a bound that means no bound in LP and MPS files.
const unlimited = 1e20

// infinite returns w, or ±Inf if the magnitude of w is at least infinity.
func infinite(w, infinity float64) float64 {
	if math.Abs(w) >= infinity {
		return math.Copysign(math.Inf(1), w)
	}
	return w
}

// constraints reads the terms of m constraints, the value that means infinity, and the bounds of
// the constraints.
func (q *qplib) constraints(kind string, n, m int) error {
	add := func(k int, t Monomial) { q.p.Constraints[k].Sum = append(q.p.Constraints[k].Sum, t) }
	if strings.ContainsAny(kind[2:], "DCQ") {
		if err := q.entries("quadratic terms of constraints", []int{m, n, n}, func(index []int, w float64) error {
			if index[1] == index[2] {
				w /= 2
			}
			add(index[0], Monomial{w, []int{index[1], index[2]}})
			return nil
		}); err != nil {
			return err
		}
	}
	if kind[2] != 'N' && kind[2] != 'B' {
		if err := q.entries("linear terms of constraints", []int{m, n}, func(index []int, w float64) error {
			add(index[0], Monomial{w, []int{index[1]}})
			return nil
		}); err != nil {
			return err
		}
	}
	infinity, err := q.value("the value of infinity")
	if err != nil {
		return err
	}
	if !(infinity > 0) {
		return q.errorf("infinity = %v, want > 0", infinity)
	}
	q.infinity = infinity
	if kind[2] == 'N' || kind[2] == 'B' {
		return nil
	}
	lower, err := q.defaults("lower bounds of constraints", m)
	if err != nil {
		return err
	}
	upper, err := q.defaults("upper bounds of constraints", m)
	if err != nil {
		return err
	}
	for k := range q.p.Constraints {
		c := &q.p.Constraints[k]
		c.Name = fmt.Sprintf("c%d", k+1)
		c.Lower, c.Upper = infinite(lower[k], infinity), infinite(upper[k], infinity)
	}
	return nil
}

// variables reads the bounds and types of n variables.
func (q *qplib) variables(kind string, n int) error {
	lower, upper := make([]float64, n), make([]float64, n)
	for i := range upper {
		upper[i] = 1
	}
	var err error
	if kind[1] != 'B' {
		if lower, err = q.defaults("lower bounds of variables", n); err != nil {
			return err
		}
		if upper, err = q.defaults("upper bounds of variables", n); err != nil {
			return err
		}
	}
	types := make([]float64, n) // 0 continuous, 1 integer, 2 binary
	switch kind[1] {
	case 'M', 'G':
		if types, err = q.defaults("types of variables", n); err != nil {
			return err
		}
	default:
		for i := range types {
			types[i] = 1
		}
	}
	b := box{integer: make([]bool, n)}
	for i := range q.p.Variables {
		q.p.Variables[i].Name = fmt.Sprintf("x%d", i+1)
		if types[i] == 2 {
			lower[i], upper[i] = max(lower[i], 0), min(upper[i], 1)
		}
		b.lower, b.upper = append(b.lower, infinite(lower[i], q.infinity)), append(b.upper, infinite(upper[i], q.infinity))
		b.integer[i] = types[i] != 0
	}
	if err := b.close(q.p); err != nil {
		return q.failf("%v", err)
	}
	return nil
}

// rest reads the starting point and the multipliers, which are ignored, and the names of variables
// and constraints.
func (q *qplib) rest(n, m int, constrained bool) error {
	if _, err := q.defaults("the starting point", n); err != nil {
		return err
	}
	if constrained {
		if _, err := q.defaults("multipliers of constraints", m); err != nil {
			return err
		}
	}
	if _, err := q.defaults("multipliers of bounds", n); err != nil {
		return err
	}
	names := func(what string, size int, set func(i int, name string)) error {
		count, err := q.count("the number of "+what, size)
		if err != nil {
			return err
		}
		for range count {
			if err := q.line(2, what); err != nil {
				return err
			}
			i, err := q.integer(0, "an index", 1, size)
			if err != nil {
				return err
			}
			set(i-1, q.columns[1])
		}
		return nil
	}
	if err := names("names of variables", n, func(i int, name string) { q.p.Variables[i].Name = name }); err != nil {
		return err
	}
	return names("names of constraints", m, func(i int, name string) { q.p.Constraints[i].Name = name })
}

func writeQPLIB(w *bufio.Writer, p *Program) error {
	if err := p.integers(); err != nil {
		return err
	}
	bits := true
	for _, v := range p.Variables {
		bits = bits && v.Lower == 0 && v.Upper == 1
		if len(strings.Fields(v.Name)) != 1 {
			return fmt.Errorf("variable name %s, want one word", check.Quote(v.Name))
		}
	}
	kind := []byte("LIN")
	if bits {
		kind[1] = 'B'
	}
	constant, linear, square, err := p.quadratic(p.Objective)
	if err != nil {
		return err
	}
	if len(square) > 0 {
		kind[0] = 'Q'
	}
	type parts struct{ linear, square []Monomial }
	rows := make([]parts, len(p.Constraints))
	lower, upper := make([]float64, len(rows)), make([]float64, len(rows))
	var nl, nq int
	for k, c := range p.Constraints {
		if c.Weight > 0 {
			return fmt.Errorf("constraint %s has a weight, which the format does not have", check.Quote(c.Name))
		}
		if len(strings.Fields(c.Name)) != 1 {
			return fmt.Errorf("constraint name %s, want one word", check.Quote(c.Name))
		}
		constant, linear, square, err := p.quadratic(c.Sum)
		if err != nil {
			return fmt.Errorf("constraint %s: %w", check.Quote(c.Name), err)
		}
		rows[k], lower[k], upper[k] = parts{linear, square}, c.Lower-constant, c.Upper-constant
		nl, nq = nl+len(linear), nq+len(square)
		kind[2] = max(kind[2], map[bool]byte{false: 'P', true: 'Q'}[len(square) > 0])
	}
	switch {
	case kind[2] == 'N' && !bits:
		kind[2] = 'B'
	case kind[2] == 'P':
		kind[2] = 'L'
	}
	entry := func(m Monomial) float64 {
		if m.Of[0] == m.Of[1] {
			return 2 * m.W
		}
		return m.W
	}
	infinity := 1e30
	value := func(v float64) string { return digits(max(-infinity, min(infinity, v))) }
	vector := func(what string, v []float64) {
		fmt.Fprintf(w, "0 # default of %s\n%d\n", what, len(v))
		for i, u := range v {
			fmt.Fprintln(w, i+1, value(u))
		}
	}
	fmt.Fprintf(w, "gibbsite\n%s\nminimize\n%d # variables\n", kind, len(p.Variables))
	if len(rows) > 0 {
		fmt.Fprintf(w, "%d # constraints\n", len(rows))
	}
	if kind[0] != 'L' {
		fmt.Fprintf(w, "%d # quadratic terms of the objective\n", len(square))
		for _, m := range square {
			fmt.Fprintln(w, m.Of[1]+1, m.Of[0]+1, digits(entry(m)))
		}
	}
	fmt.Fprintf(w, "0 # default of linear terms\n%d\n", len(linear))
	for _, m := range linear {
		fmt.Fprintln(w, m.Of[0]+1, digits(m.W))
	}
	fmt.Fprintln(w, digits(constant), "# constant")
	if kind[2] == 'Q' {
		fmt.Fprintf(w, "%d # quadratic terms of constraints\n", nq)
		for k, r := range rows {
			for _, m := range r.square {
				fmt.Fprintln(w, k+1, m.Of[1]+1, m.Of[0]+1, digits(entry(m)))
			}
		}
	}
	if len(rows) > 0 {
		fmt.Fprintf(w, "%d # linear terms of constraints\n", nl)
		for k, r := range rows {
			for _, m := range r.linear {
				fmt.Fprintln(w, k+1, m.Of[0]+1, digits(m.W))
			}
		}
	}
	fmt.Fprintln(w, digits(infinity), "# infinity")
	if len(rows) > 0 {
		vector("lower bounds of constraints", lower)
		vector("upper bounds of constraints", upper)
	}
	if !bits {
		lower, upper := make([]float64, len(p.Variables)), make([]float64, len(p.Variables))
		for i, v := range p.Variables {
			lower[i], upper[i] = float64(v.Lower), float64(v.Upper)
		}
		vector("lower bounds of variables", lower)
		vector("upper bounds of variables", upper)
	}
	fmt.Fprint(w, "0 # default of the starting point\n0\n")
	if len(rows) > 0 {
		fmt.Fprint(w, "0 # default of multipliers of constraints\n0\n")
	}
	fmt.Fprintf(w, "0 # default of multipliers of bounds\n0\n%d # names of variables\n", len(p.Variables))
	for i, v := range p.Variables {
		fmt.Fprintln(w, i+1, v.Name)
	}
	fmt.Fprintf(w, "%d # names of constraints\n", len(rows))
	for k, c := range p.Constraints {
		fmt.Fprintln(w, k+1, c.Name)
	}
	return nil
}
