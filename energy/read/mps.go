package read

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"sync"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// mps parses an MPS file in free format, in which columns are separated by blanks.
type mps struct {
	lines
	box      box
	p        *Program
	variable map[string]int
	// Index of each row's constraint; −1 for the objective, −2 for other free rows.
	row    map[string]int
	kind   map[string]byte
	ranges map[string]float64
	sign   float64
	marked bool
}

func readMPS(r io.Reader) (*Program, error) {
	f := &mps{lines: *newLines("MPS", r), p: &Program{}, variable: map[string]int{}, row: map[string]int{}, kind: map[string]byte{}, ranges: map[string]float64{}, sign: 1}
	f.comment = "*"
	f.remark = func(text string) error { // PuLP writes the sense in a comment
		if sense := mpsSense().FindStringSubmatch(text); sense != nil {
			f.columns = sense[1:]
			return f.sense()
		}
		return nil
	}
	section, argument := "", ""
	objective := false
	for {
		ok, err := f.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, f.failf("ends after line %d, want ENDATA", f.number)
		}
		if text := f.scanner.Text(); text[0] != ' ' && text[0] != '\t' {
			section, argument = strings.ToUpper(f.columns[0]), ""
			if len(f.columns) > 1 {
				argument = f.columns[1]
			}
			switch section {
			case "ENDATA":
				if err := f.finish(); err != nil {
					return nil, err
				}
				return f.p, nil
			case "OBJSENSE":
				if argument == "" {
					continue
				}
				f.columns = f.columns[1:]
			case "NAME", "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS", "QUADOBJ", "QMATRIX":
				continue
			case "QCMATRIX", "QSECTION":
				if _, ok := f.row[argument]; !ok {
					return nil, f.errorf("%s %s, want the name of a row", section, brief(argument))
				}
				continue
			default:
				return nil, f.errorf("section %s, want NAME, OBJSENSE, ROWS, COLUMNS, RHS, RANGES, BOUNDS, QUADOBJ, QMATRIX, QCMATRIX, QSECTION or ENDATA", brief(section))
			}
		}
		switch section {
		case "OBJSENSE":
			err = f.sense()
		case "ROWS":
			objective, err = f.rows(objective)
		case "COLUMNS":
			err = f.column()
		case "RHS":
			err = f.pairs(true, f.right)
		case "RANGES":
			err = f.pairs(true, func(row string, w float64) error {
				if f.row[row] < 0 {
					return f.errorf("a range of row %s, want a constraint", brief(row))
				}
				f.ranges[row] = w
				return nil
			})
		case "BOUNDS":
			err = f.bound()
		case "QUADOBJ", "QMATRIX", "QCMATRIX", "QSECTION":
			err = f.square(section, argument)
		default:
			err = f.errorf("%s in section %s, want a section", brief(f.columns[0]), brief(section))
		}
		if err != nil {
			return nil, err
		}
	}
}

var mpsSense = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^\*\s*SENSE\s*:\s*(\w+)`) })

func (f *mps) sense() error {
	switch strings.ToUpper(f.columns[0]) {
	case "MIN", "MINIMIZE":
		f.sign = 1
	case "MAX", "MAXIMIZE":
		f.sign = -1
	default:
		return f.errorf("sense %s, want MIN or MAX", brief(f.columns[0]))
	}
	return nil
}

func (f *mps) rows(objective bool) (bool, error) {
	if err := f.want(2, 2, "a type and a name"); err != nil {
		return objective, err
	}
	kind, name := strings.ToUpper(f.columns[0]), f.columns[1]
	if _, twice := f.row[name]; twice {
		return objective, f.errorf("row %s occurs twice", brief(name))
	}
	switch kind {
	case "N":
		f.row[name] = -2
		if !objective {
			f.row[name] = -1
		}
		return true, nil
	case "E", "L", "G":
		f.row[name], f.kind[name] = len(f.p.Constraints), kind[0]
		f.p.Constraints = append(f.p.Constraints, Constraint{Name: name})
		return objective, nil
	}
	return objective, f.errorf("type %s of row %s, want N, E, L or G", brief(kind), brief(name))
}

// pairs reads pairs of a row name and a number from the current line and calls add with each. The
// name of a set may precede them; it must be there unless optional is true.
func (f *mps) pairs(optional bool, add func(row string, w float64) error) error {
	c := f.columns
	if len(c)%2 == 1 {
		c = c[1:]
	} else if !optional {
		return f.errorf("%d columns, want a name, and rows and numbers", len(c))
	}
	if len(c) == 0 {
		return f.errorf("no row, want rows and numbers")
	}
	first := len(f.columns) - len(c)
	for k := 0; k < len(c); k += 2 {
		if _, ok := f.row[c[k]]; !ok {
			return f.errorf("column %d: no row has the name %s", first+k+1, brief(c[k]))
		}
		w, err := f.real(first+k+1, "the value")
		if err != nil {
			return err
		}
		if err := add(c[k], w); err != nil {
			return err
		}
	}
	return nil
}

func (f *mps) right(row string, w float64) error {
	if k := f.row[row]; k >= 0 {
		f.p.Constraints[k].Lower = w
	} else if k == -1 && w != 0 { // the right-hand side of the objective is minus its constant
		f.p.Objective = append(f.p.Objective, Monomial{W: -w})
	}
	return nil
}

func (f *mps) column() error {
	if len(f.columns) == 3 && strings.Trim(f.columns[1], "'") == "MARKER" {
		switch strings.Trim(f.columns[2], "'") {
		case "INTORG":
			f.marked = true
		case "INTEND":
			f.marked = false
		default:
			return f.errorf("marker %s, want INTORG or INTEND", brief(f.columns[2]))
		}
		return nil
	}
	name := f.columns[0]
	i, met := f.variable[name]
	if !met {
		i = len(f.p.Variables)
		f.variable[name] = i
		f.p.Variables = append(f.p.Variables, Variable{Name: name})
		f.box.add(f.marked)
	}
	return f.pairs(false, func(row string, w float64) error {
		switch k := f.row[row]; {
		case k >= 0:
			f.p.Constraints[k].Sum = append(f.p.Constraints[k].Sum, Monomial{w, []int{i}})
		case k == -1:
			f.p.Objective = append(f.p.Objective, Monomial{w, []int{i}})
		}
		return nil
	})
}

func (f *mps) bound() error {
	kind := strings.ToUpper(f.columns[0])
	valued := true
	switch kind {
	case "BV", "FR", "MI", "PL":
		valued = false
	case "UP", "LO", "FX", "LI", "UI":
	default:
		return f.errorf("bound %s, want UP, LO, FX, BV, LI, UI, FR, MI or PL", brief(kind))
	}
	least := 2
	if valued {
		least = 3
	}
	at := 1
	if len(f.columns) > least {
		at = 2 // after the name of the set
	}
	if len(f.columns) < least || at >= len(f.columns) {
		return f.errorf("%d columns, want a bound, a set, a variable and a value", len(f.columns))
	}
	i, ok := f.variable[f.columns[at]]
	if !ok {
		return f.errorf("column %d: no variable has the name %s", at+1, brief(f.columns[at]))
	}
	w := 0.0
	if valued {
		if at+1 >= len(f.columns) {
			return f.errorf("%d columns, want a value at the end", len(f.columns))
		}
		var err error
		if w, err = f.real(at+1, "the value"); err != nil {
			return err
		}
	}
	switch kind {
	case "UP", "UI":
		f.box.upper[i] = w
	case "LO", "LI":
		f.box.lower[i] = w
	case "FX":
		f.box.lower[i], f.box.upper[i] = w, w
	case "BV":
		f.box.lower[i], f.box.upper[i] = 0, 1
	case "FR":
		f.box.lower[i], f.box.upper[i] = math.Inf(-1), math.Inf(1)
	case "MI":
		f.box.lower[i] = math.Inf(-1)
	case "PL":
		f.box.upper[i] = math.Inf(1)
	}
	if kind == "BV" || kind == "LI" || kind == "UI" {
		f.box.integer[i] = true
	}
	return nil
}

// square reads an entry of a matrix Q. The objective has ½xᵀQx, of which QUADOBJ lists one triangle
// and QMATRIX both. A row has xᵀQx, of which QCMATRIX lists both triangles. QSECTION lists one
// triangle of ½xᵀQx, for a row or the objective.
func (f *mps) square(section, row string) error {
	if err := f.want(3, 3, "two variables and a value"); err != nil {
		return err
	}
	var of [2]int
	for k := range of {
		i, ok := f.variable[f.columns[k]]
		if !ok {
			return f.errorf("column %d: no variable has the name %s", k+1, brief(f.columns[k]))
		}
		of[k] = i
	}
	w, err := f.real(2, "the value")
	if err != nil {
		return err
	}
	if section == "QMATRIX" || of[0] == of[1] && section != "QCMATRIX" {
		w /= 2
	}
	if section == "QCMATRIX" || section == "QSECTION" {
		if k := f.row[row]; k >= 0 {
			f.p.Constraints[k].Sum = append(f.p.Constraints[k].Sum, Monomial{w, of[:]})
			return nil
		} else if k == -2 {
			return nil
		}
	}
	f.p.Objective = append(f.p.Objective, Monomial{w, of[:]})
	return nil
}

func (f *mps) finish() error {
	for i := range f.p.Objective {
		f.p.Objective[i].W *= f.sign
	}
	for k := range f.p.Constraints {
		c := &f.p.Constraints[k]
		right := c.Lower
		span, ranged := f.ranges[c.Name]
		switch f.kind[c.Name] {
		case 'E':
			c.Lower, c.Upper = right+min(span, 0), right+max(span, 0)
		case 'L':
			c.Lower, c.Upper = math.Inf(-1), right
			if ranged {
				c.Lower = right - math.Abs(span)
			}
		case 'G':
			c.Upper = math.Inf(1)
			if ranged {
				c.Upper = right + math.Abs(span)
			}
		}
	}
	for i := range f.p.Variables {
		if f.box.integer[i] && math.IsNaN(f.box.lower[i]) && math.IsNaN(f.box.upper[i]) {
			f.box.lower[i], f.box.upper[i] = 0, 1 // integer columns without bounds are binary
		}
		if math.IsNaN(f.box.lower[i]) && f.box.upper[i] < 0 {
			return f.failf("variable %s: upper bound %v without a lower one, want both", check.Quote(f.p.Variables[i].Name), f.box.upper[i])
		}
		f.box.lower[i], f.box.upper[i] = infinite(f.box.lower[i], unlimited), infinite(f.box.upper[i], unlimited)
	}
	if err := f.box.close(f.p); err != nil {
		return f.failf("%v", err)
	}
	return nil
}

func writeMPS(w *bufio.Writer, p *Program) error {
	if err := p.integers(); err != nil {
		return err
	}
	word := func(name string) error {
		if len(strings.Fields(name)) != 1 {
			return fmt.Errorf("name %s, want one word", check.Quote(name))
		}
		return nil
	}
	constant, linear, square, err := p.quadratic(p.Objective)
	if err != nil {
		return err
	}
	columns := make([]strings.Builder, len(p.Variables))
	add := func(m Monomial, row string) {
		fmt.Fprintf(&columns[m.Of[0]], " %s %s %s\n", p.Variables[m.Of[0]].Name, row, digits(m.W))
	}
	for _, m := range linear {
		add(m, "obj")
	}
	fmt.Fprint(w, "NAME gibbsite\nROWS\n N obj\n")
	var right, ranges, squares strings.Builder
	if constant != 0 {
		fmt.Fprintf(&right, " rhs obj %s\n", digits(-constant))
	}
	for _, c := range p.Constraints {
		if err := word(c.Name); err != nil {
			return err
		}
		if c.Name == "obj" || c.Weight > 0 {
			return fmt.Errorf("constraint %s: a weight or the name obj, want neither", check.Quote(c.Name))
		}
		constant, linear, square, err := p.quadratic(c.Sum)
		if err != nil {
			return fmt.Errorf("constraint %s: %w", check.Quote(c.Name), err)
		}
		lower, upper := c.Lower-constant, c.Upper-constant
		kind, bound := "G", lower
		switch {
		case lower == upper:
			kind = "E"
		case math.IsInf(lower, -1) && math.IsInf(upper, 1):
			continue
		case math.IsInf(lower, -1):
			kind, bound = "L", upper
		case !math.IsInf(upper, 1):
			if upper < lower {
				return fmt.Errorf("constraint %s: bounds %v … %v, which no sum meets", check.Quote(c.Name), c.Lower, c.Upper)
			}
			fmt.Fprintf(&ranges, " rng %s %s\n", c.Name, digits(upper-lower))
		}
		fmt.Fprintf(w, " %s %s\n", kind, c.Name)
		if bound != 0 {
			fmt.Fprintf(&right, " rhs %s %s\n", c.Name, digits(bound))
		}
		for _, m := range linear {
			add(m, c.Name)
		}
		if len(square) > 0 {
			fmt.Fprintf(&squares, "QCMATRIX %s\n", c.Name)
			p.mpsMatrix(&squares, square, 1)
		}
	}
	fmt.Fprint(w, "COLUMNS\n m1 'MARKER' 'INTORG'\n")
	for i, v := range p.Variables {
		if err := word(v.Name); err != nil {
			return err
		}
		if columns[i].Len() == 0 {
			add(Monomial{0, []int{i}}, "obj")
		}
		fmt.Fprint(w, columns[i].String())
	}
	fmt.Fprintf(w, " m2 'MARKER' 'INTEND'\nRHS\n%s", right.String())
	if ranges.Len() > 0 {
		fmt.Fprintf(w, "RANGES\n%s", ranges.String())
	}
	fmt.Fprint(w, "BOUNDS\n")
	for _, v := range p.Variables {
		fmt.Fprintf(w, " LI bnd %s %d\n UI bnd %s %d\n", v.Name, v.Lower, v.Name, v.Upper)
	}
	if len(square) > 0 {
		fmt.Fprint(w, "QMATRIX\n")
		var b strings.Builder
		p.mpsMatrix(&b, square, 2)
		fmt.Fprint(w, b.String())
	}
	fmt.Fprintf(w, "%sENDATA\n", squares.String())
	return nil
}

// mpsMatrix writes both triangles of the matrix Q for which the quadratic terms are xᵀQx/scale.
func (p *Program) mpsMatrix(b *strings.Builder, square []Monomial, scale float64) {
	for _, m := range square {
		x, y := p.Variables[m.Of[0]].Name, p.Variables[m.Of[1]].Name
		if x == y {
			fmt.Fprintf(b, " %s %s %s\n", x, x, digits(scale*m.W))
			continue
		}
		fmt.Fprintf(b, " %s %s %s\n %s %s %s\n", x, y, digits(scale*m.W/2), y, x, digits(scale*m.W/2))
	}
}
