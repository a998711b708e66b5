package read

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// lpToken is a token of an LP file: a name, a number, or an operator.
type lpToken struct {
	text string
	line int
}

var lpWord = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[<>=]=|=[<>]|->|[A-Za-z!"#$%&(),;?@_'` + "`" + `{}~|](?:[A-Za-z0-9!"#$%&(),.;?@_'` + "`" + `{}~|]|\[[^\[\]\s*^+<>=:]*\])*|\S)`)
})

// lpSections maps the first words of section headers, in lower case, to the names of the sections.
var lpSections = map[string]string{
	"minimize": "min", "minimise": "min", "minimum": "min", "min": "min",
	"maximize": "max", "maximise": "max", "maximum": "max", "max": "max",
	"subject": "st", "such": "st", "st": "st", "s.t.": "st", "st.": "st",
	"bounds": "bounds", "bound": "bounds",
	"binary": "binary", "binaries": "binary", "bin": "binary",
	"general": "general", "generals": "general", "gen": "general", "integer": "general", "integers": "general", "int": "general",
	"end":             "end",
	"semi-continuous": "semi", "semis": "semi", "semi": "semi", "sos": "sos", "sos1": "sos", "sos2": "sos", "pwlobj": "pwlobj",
	"lazy": "lazy", "user": "user",
}

type lpReader struct {
	tokens []lpToken
	at     int
	p      *Program
	index  map[string]int
	box
	indicators []lpIndicator
}

// lpIndicator is an indicator constraint, which holds only if a bit has the given value.
type lpIndicator struct {
	bit, value int
	line       int
	Constraint
}

func readLP(r io.Reader) (*Program, error) {
	l := newLines("LP", r)
	l.comment = "\\"
	l.scanner.Buffer(nil, longest)
	f := &lpReader{p: &Program{}, index: map[string]int{}}
	for {
		ok, err := l.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		text, _, _ := strings.Cut(l.scanner.Text(), "\\")
		for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
			w := lpWord().FindString(text)
			f.tokens = append(f.tokens, lpToken{w, l.number})
			text = text[len(w):]
		}
	}
	if err := f.parse(); err != nil {
		return nil, fmt.Errorf("read: LP: %w", err)
	}
	return f.p, nil
}

func (f *lpReader) peek(k int) string {
	if f.at+k < len(f.tokens) {
		return f.tokens[f.at+k].text
	}
	return ""
}

func (f *lpReader) errorf(format string, args ...any) error {
	line := 0
	if n := len(f.tokens); n > 0 {
		line = f.tokens[min(f.at, n-1)].line
	}
	return fmt.Errorf("line %d: %s", line, fmt.Sprintf(format, args...))
}

// section returns the name of the section whose header begins at the current token, and the number
// of words of the header. It returns "" if there is none. A header must begin a line.
func (f *lpReader) section() (name string, words int) {
	if f.at == len(f.tokens) || f.at > 0 && !f.ended() {
		return "", 0
	}
	word := strings.ToLower(f.peek(0))
	next := strings.ToLower(f.peek(1))
	if f.peek(1) == ":" {
		return "", 0
	}
	name = lpSections[word]
	switch {
	case word == "subject" && next != "to", word == "such" && next != "that", word == "lazy" && next != "constraints", word == "user" && next != "cuts":
		return "", 0
	case word == "subject", word == "such", word == "lazy":
		return name, 2
	case name == "":
		return "", 0
	}
	return name, 1
}

func (f *lpReader) parse() error {
	name, words := f.section()
	if first := f.peek(0); f.peek(1) == ":" && lpSections[strings.ToLower(first)] != "" || strings.HasPrefix(first, "/") {
		return f.errorf("%s, as in files of lp_solve, want minimize or maximize as in those of CPLEX", brief(first+f.peek(1)))
	}
	if name != "min" && name != "max" {
		return f.errorf("%s, want minimize or maximize", brief(f.peek(0)))
	}
	f.at += words
	if err := f.label(); err != nil {
		return err
	}
	sum, err := f.sum(true, false)
	if err != nil {
		return err
	}
	if name == "max" {
		for i := range sum {
			sum[i].W = -sum[i].W
		}
	}
	f.p.Objective = sum
	for f.at < len(f.tokens) {
		name, words := f.section()
		if name == "" {
			return f.errorf("%s, want the beginning of a section", brief(f.peek(0)))
		}
		f.at += words
		switch name {
		case "st", "lazy":
			err = f.each(f.constraint)
		case "bounds":
			err = f.each(f.bound)
		case "binary":
			err = f.each(f.binary)
		case "general":
			err = f.each(f.general)
		case "end":
			if f.at < len(f.tokens) {
				return f.errorf("%s after end", brief(f.peek(0)))
			}
			return f.finish()
		default:
			f.at -= words
			return f.errorf("section %s, want subject to, bounds, binary, general or end", brief(f.peek(0)))
		}
		if err != nil {
			return err
		}
	}
	return f.errorf("ends without end")
}

// each calls read repeatedly until the next section begins.
func (f *lpReader) each(read func() error) error {
	for f.at < len(f.tokens) {
		if name, _ := f.section(); name != "" {
			return nil
		}
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

// label skips the name of the objective, if there is one.
func (f *lpReader) label() error {
	if f.peek(1) == ":" {
		f.at += 2
	}
	return nil
}

var lpNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:\d|\.\d)`) })

func (f *lpReader) number() (w float64, ok bool, err error) {
	if !lpNumber().MatchString(f.peek(0)) {
		return 0, false, nil
	}
	w, err = strconv.ParseFloat(f.peek(0), 64)
	if err != nil || !check.Finite(w) {
		return 0, false, f.errorf("%s, want a finite number", brief(f.peek(0)))
	}
	f.at++
	return w, true, nil
}

// sign reads any number of + and − and returns their product. any reports whether there was one.
func (f *lpReader) sign() (sign float64, any bool) {
	for sign = 1; f.peek(0) == "+" || f.peek(0) == "-"; f.at++ {
		if any = true; f.peek(0) == "-" {
			sign = -sign
		}
	}
	return sign, any
}

var lpName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z!"#$%&(),;?@_'` + "`" + `{}~|]`) })

// variable reads the name of a variable and returns its number. An unknown name adds a variable.
func (f *lpReader) variable() (int, error) {
	name := f.peek(0)
	if !lpName().MatchString(name) {
		return 0, f.errorf("%s, want the name of a variable", brief(name))
	}
	f.at++
	i, met := f.index[name]
	if !met {
		i = len(f.p.Variables)
		f.index[name] = i
		f.p.Variables = append(f.p.Variables, Variable{Name: name})
		f.add(false)
	}
	return i, nil
}

// sum reads a linear expression and any number of quadratic ones in brackets. An objective halves
// the quadratic ones. If right is true, the expression is on the right of a relation and ends with
// its line.
func (f *lpReader) sum(objective, right bool) (sum []Monomial, err error) {
	for first := true; ; first = false {
		if right && !first && f.ended() {
			return sum, nil
		}
		if name, _ := f.section(); name != "" && !(f.peek(0) == "+" || f.peek(0) == "-") {
			return sum, nil
		}
		at := f.at
		sign, signed := f.sign()
		if !first && !signed {
			return sum, nil
		}
		if f.peek(0) == "[" {
			f.at++
			square, err := f.square()
			if err != nil {
				return nil, err
			}
			if objective {
				if f.peek(0) != "/" || f.peek(1) != "2" {
					return nil, f.errorf("%s after ], want / 2 in an objective", brief(f.peek(0)))
				}
				f.at += 2
				sign /= 2
			}
			for _, m := range square {
				sum = append(sum, Monomial{sign * m.W, m.Of})
			}
			continue
		}
		w, number, err := f.number()
		if err != nil {
			return nil, err
		}
		if !number {
			w = 1
		}
		if number && f.peek(0) == "*" {
			f.at++
		}
		if name, _ := f.section(); name == "" && lpName().MatchString(f.peek(0)) && f.peek(1) != ":" && !(right && number && f.ended()) {
			i, err := f.variable()
			if err != nil {
				return nil, err
			}
			sum = append(sum, Monomial{sign * w, []int{i}})
			continue
		}
		if !number {
			if signed || !objective {
				return nil, f.errorf("%s, want a term", brief(f.peek(0)))
			}
			f.at = at
			return sum, nil // an empty objective
		}
		sum = append(sum, Monomial{W: sign * w})
	}
}

// ended reports whether the current token is on a different line from the previous one.
func (f *lpReader) ended() bool {
	return f.at == len(f.tokens) || f.at > 0 && f.tokens[f.at-1].line < f.tokens[f.at].line
}

// square reads quadratic terms up to and including a closing bracket.
func (f *lpReader) square() (sum []Monomial, err error) {
	for f.peek(0) != "]" {
		sign, signed := f.sign()
		if len(sum) > 0 && !signed {
			return nil, f.errorf("%s, want +, − or ]", brief(f.peek(0)))
		}
		w, number, err := f.number()
		if err != nil {
			return nil, err
		}
		if !number {
			w = 1
		} else if f.peek(0) == "*" {
			f.at++
		}
		i, err := f.variable()
		if err != nil {
			return nil, err
		}
		j := i
		switch f.peek(0) {
		case "^":
			if f.peek(1) != "2" {
				return nil, f.errorf("the power %s, want 2", brief(f.peek(1)))
			}
			f.at += 2
		case "*":
			f.at++
			if j, err = f.variable(); err != nil {
				return nil, err
			}
		default:
			return nil, f.errorf("%s in brackets, want ^ 2 or * and a variable", brief(f.peek(0)))
		}
		sum = append(sum, Monomial{sign * w, []int{i, j}})
	}
	f.at++
	return sum, nil
}

// relation reads <=, >= or = and returns its first character.
func (f *lpReader) relation() (kind byte, err error) {
	switch f.peek(0) {
	case "<", "<=", "=<":
		kind = '<'
	case ">", ">=", "=>":
		kind = '>'
	case "=", "==":
		kind = '='
	default:
		return 0, f.errorf("%s, want <=, >= or =", brief(f.peek(0)))
	}
	f.at++
	return kind, nil
}

func (f *lpReader) constraint() error {
	c := Constraint{Lower: math.Inf(-1), Upper: math.Inf(1)}
	if f.peek(1) == ":" {
		c.Name = f.peek(0)
		f.at += 2
	}
	if c.Name == "" {
		c.Name = fmt.Sprintf("c%d", len(f.p.Constraints)+len(f.indicators)+1)
	}
	indicator := lpIndicator{bit: -1}
	if f.peek(1) == "=" && f.peek(3) == "->" {
		if v := f.peek(2); v != "0" && v != "1" {
			return f.errorf("an indicator of %s, want 0 or 1", brief(v))
		}
		bit, err := f.variable()
		if err != nil {
			return err
		}
		indicator = lpIndicator{bit: bit, value: int(f.peek(1)[0] - '0'), line: f.tokens[f.at].line}
		f.at += 3
	}
	left, err := f.sum(false, false)
	if err != nil {
		return err
	}
	kind, err := f.relation()
	if err != nil {
		return err
	}
	right, err := f.sum(false, true)
	if err != nil {
		return err
	}
	if again, err := f.relation(); err == nil { // a ≤ sum ≤ b
		third, err := f.sum(false, true)
		if err != nil {
			return err
		}
		a, first := constantOf(left)
		b, last := constantOf(third)
		if !first || !last || again != kind || kind == '=' {
			return f.errorf("two relations in one constraint, want a <= sum <= b")
		}
		if kind == '>' {
			a, b = b, a
		}
		c.Sum, c.Lower, c.Upper = right, a, b
		return f.append(c, indicator)
	}
	for _, m := range right {
		left = append(left, Monomial{-m.W, m.Of})
	}
	bound := 0.0
	for _, m := range left {
		if len(m.Of) == 0 {
			bound -= m.W
		} else {
			c.Sum = append(c.Sum, m)
		}
	}
	if kind != '>' {
		c.Upper = bound
	}
	if kind != '<' {
		c.Lower = bound
	}
	return f.append(c, indicator)
}

// append adds a constraint to the program. An indicator constraint is stored until all bounds are
// known.
func (f *lpReader) append(c Constraint, indicator lpIndicator) error {
	if indicator.bit < 0 {
		f.p.Constraints = append(f.p.Constraints, c)
		return nil
	}
	for _, m := range c.Sum {
		if len(m.Of) > 1 {
			return f.errorf("a product in the constraint of an indicator, want a linear sum")
		}
	}
	indicator.Constraint = c
	f.indicators = append(f.indicators, indicator)
	return nil
}

// constantOf returns the value of a sum that has no variables; ok is false for any other sum.
func constantOf(sum []Monomial) (w float64, ok bool) {
	for _, m := range sum {
		if len(m.Of) > 0 {
			return 0, false
		}
		w += m.W
	}
	return w, true
}

// limit reads a bound, which is a number or an infinity; ok is false if there is none.
func (f *lpReader) limit() (w float64, ok bool, err error) {
	at := f.at
	sign, _ := f.sign()
	switch strings.ToLower(f.peek(0)) {
	case "inf", "infinity":
		f.at++
		return sign * math.Inf(1), true, nil
	}
	w, ok, err = f.number()
	if !ok {
		f.at = at
	}
	return sign * infinite(w, unlimited), ok, err
}

func (f *lpReader) bound() error {
	first, has, err := f.limit()
	if err != nil {
		return err
	}
	var before byte
	if has {
		if before, err = f.relation(); err != nil {
			return err
		}
	}
	i, err := f.variable()
	if err != nil {
		return err
	}
	set := func(kind byte, w float64) { // stores the bound x kind w
		if kind != '>' {
			f.upper[i] = w
		}
		if kind != '<' {
			f.lower[i] = w
		}
	}
	if has {
		set(map[byte]byte{'<': '>', '>': '<', '=': '='}[before], first)
	}
	if strings.EqualFold(f.peek(0), "free") {
		f.at++
		f.lower[i], f.upper[i] = math.Inf(-1), math.Inf(1)
		return nil
	}
	switch f.peek(0) {
	case "<", "<=", "=<", ">", ">=", "=>", "=":
		kind, _ := f.relation()
		w, ok, err := f.limit()
		if err != nil {
			return err
		}
		if !ok {
			return f.errorf("%s, want a number", brief(f.peek(0)))
		}
		set(kind, w)
	default:
		if !has {
			return f.errorf("%s, want <=, >=, = or free", brief(f.peek(0)))
		}
	}
	return nil
}

func (f *lpReader) binary() error {
	i, err := f.variable()
	if err != nil {
		return err
	}
	f.integer[i] = true
	if math.IsNaN(f.lower[i]) {
		f.lower[i] = 0
	}
	if math.IsNaN(f.upper[i]) {
		f.upper[i] = 1
	}
	f.lower[i], f.upper[i] = max(f.lower[i], 0), min(f.upper[i], 1)
	return nil
}

func (f *lpReader) general() error {
	i, err := f.variable()
	if err == nil {
		f.integer[i] = true
	}
	return err
}

func (f *lpReader) finish() error {
	if err := f.close(f.p); err != nil {
		return err
	}
	for _, c := range f.indicators {
		if err := f.indicate(c); err != nil {
			return fmt.Errorf("line %d: constraint %s: %w", c.line, check.Quote(c.Name), err)
		}
	}
	return nil
}

// indicate adds an indicator constraint as linear constraints. sum ≤ u for b = 1 becomes sum + (U −
// u)·b ≤ U, where U is the largest value of the sum; this always holds for b = 0. A constraint for
// b = 0 has 1 − b in place of b.
func (f *lpReader) indicate(c lpIndicator) error {
	if f.lower[c.bit] != 0 || f.upper[c.bit] != 1 {
		return fmt.Errorf("the variable %s of an indicator has the range %v … %v, want a binary one", check.Quote(f.p.Variables[c.bit].Name), f.lower[c.bit], f.upper[c.bit])
	}
	least, most := 0.0, 0.0
	for _, m := range c.Sum {
		lo, hi := f.product(m)
		least, most = least+lo, most+hi
	}
	add := func(kind string, bound, free float64) Constraint {
		k := Constraint{Name: c.Name + kind, Sum: slices.Clone(c.Sum), Lower: math.Inf(-1), Upper: math.Inf(1)}
		if step := free - bound; c.value == 1 {
			k.Sum = append(k.Sum, Monomial{step, []int{c.bit}})
			k.Lower, k.Upper = free, free
		} else {
			k.Sum = append(k.Sum, Monomial{-step, []int{c.bit}})
			k.Lower, k.Upper = bound, bound
		}
		return k
	}
	kinds := [2]string{}
	if !math.IsInf(c.Lower, -1) && !math.IsInf(c.Upper, 1) {
		kinds = [2]string{" <=", " >="}
	}
	if c.Upper < most {
		k := add(kinds[0], c.Upper, most)
		k.Lower = math.Inf(-1)
		f.p.Constraints = append(f.p.Constraints, k)
	}
	if c.Lower > least {
		k := add(kinds[1], c.Lower, least)
		k.Upper = math.Inf(1)
		f.p.Constraints = append(f.p.Constraints, k)
	}
	return nil
}

// lpNames returns an error if the name of a variable would not be read as a name in an LP file.
func (p *Program) lpNames() error {
	for _, v := range p.Variables {
		if _, section := lpSections[strings.ToLower(v.Name)]; section || lpWord().FindString(v.Name) != v.Name || !lpName().MatchString(v.Name) || strings.EqualFold(v.Name, "inf") || strings.EqualFold(v.Name, "infinity") || strings.EqualFold(v.Name, "free") {
			return fmt.Errorf("variable name %s, want letters, digits and _, a letter first, and no word of the format", check.Quote(v.Name))
		}
	}
	return nil
}

// digits formats a number with the fewest digits that reproduce it exactly.
func digits(w float64) string { return strconv.FormatFloat(w, 'g', -1, 64) }

func (p *Program) lpSum(w *bufio.Writer, sum []Monomial, objective bool) error {
	constant, linear, square, err := p.quadratic(sum)
	if err != nil {
		return err
	}
	term := func(c float64) {
		sign := " + "
		if c < 0 || math.Signbit(c) {
			sign, c = " - ", -c
		}
		fmt.Fprint(w, sign, digits(c))
	}
	for _, m := range linear {
		term(m.W)
		fmt.Fprint(w, " ", p.Variables[m.Of[0]].Name)
	}
	if len(square) > 0 {
		fmt.Fprint(w, " + [")
		for _, m := range square {
			c := m.W
			if objective {
				c *= 2
			}
			term(c)
			if m.Of[0] == m.Of[1] {
				fmt.Fprintf(w, " %s ^ 2", p.Variables[m.Of[0]].Name)
			} else {
				fmt.Fprintf(w, " %s * %s", p.Variables[m.Of[0]].Name, p.Variables[m.Of[1]].Name)
			}
		}
		fmt.Fprint(w, " ]")
		if objective {
			fmt.Fprint(w, " / 2")
		}
	}
	if constant != 0 || len(linear)+len(square) == 0 {
		term(constant)
	}
	fmt.Fprintln(w)
	return nil
}

func writeLP(w *bufio.Writer, p *Program) error {
	if err := p.integers(); err != nil {
		return err
	}
	if err := p.lpNames(); err != nil {
		return err
	}
	fmt.Fprint(w, "Minimize\n obj:")
	if err := p.lpSum(w, p.Objective, true); err != nil {
		return err
	}
	fmt.Fprintln(w, "Subject To")
	for k, c := range p.Constraints {
		rows, err := c.rows(p)
		if err != nil {
			return err
		}
		for n, row := range rows {
			name := c.Name
			if n > 0 || !lpName().MatchString(name) || lpWord().FindString(name) != name {
				name = fmt.Sprintf("c%d_%d", k+1, n+1)
			}
			fmt.Fprintf(w, " %s:", name)
			var b strings.Builder
			inner := bufio.NewWriter(&b)
			if err := p.lpSum(inner, row.sum, false); err != nil {
				return err
			}
			if err := inner.Flush(); err != nil {
				return err
			}
			fmt.Fprintf(w, "%s %s %s\n", strings.TrimSuffix(b.String(), "\n"), row.relation, digits(row.bound))
		}
	}
	fmt.Fprintln(w, "Bounds")
	for _, v := range p.Variables {
		fmt.Fprintf(w, " %d <= %s <= %d\n", v.Lower, v.Name, v.Upper)
	}
	fmt.Fprintln(w, "Generals")
	for _, v := range p.Variables {
		fmt.Fprintf(w, " %s\n", v.Name)
	}
	fmt.Fprintln(w, "End")
	return nil
}

// row is a constraint with one relation, as it is written to a file.
type row struct {
	sum      []Monomial
	relation string
	bound    float64
}

// rows returns a required constraint as rows with the bound on the right.
func (c *Constraint) rows(p *Program) ([]row, error) {
	if c.Weight > 0 {
		return nil, fmt.Errorf("constraint %s has a weight, which the format does not have", check.Quote(c.Name))
	}
	var sum []Monomial
	constant := 0.0
	for _, m := range p.collect(c.Sum) {
		if len(m.Of) == 0 {
			constant += m.W
		} else {
			sum = append(sum, m)
		}
	}
	if c.Lower == c.Upper {
		return []row{{sum, "=", c.Lower - constant}}, nil
	}
	var rows []row
	if !math.IsInf(c.Lower, -1) {
		rows = append(rows, row{sum, ">=", c.Lower - constant})
	}
	if !math.IsInf(c.Upper, 1) {
		rows = append(rows, row{sum, "<=", c.Upper - constant})
	}
	return rows, nil
}
