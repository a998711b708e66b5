package read

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Node is a variable of a Bayesian network.
type Node struct {
	Name   string
	Values []string // names of the levels 0, 1, …
}

// BIF reads a Bayesian network in the Interchange Format 0.15, which bnlearn, Netica, JavaBayes and
// others write:
//
//	network unknown { }
//	variable rain { type discrete [ 2 ] { yes, no }; }
//	variable wet { type discrete [ 2 ] { yes, no }; }
//	probability ( rain ) { table 0.2, 0.8; }
//	probability ( wet | rain ) {
//	  (yes) 0.9, 0.1;
//	  default 0.05, 0.95;
//	}
//
// In a table, the value of the variable varies slowest, and the value of the last parent fastest.
// Commas may be omitted and names may be quoted. Properties are skipped. Comments are written as in
// C or C++. Sites are the variables in the order of their declarations.
//
// The energy is −Σ log p(x_i | parents). Rows of the tables must add up to 1 within 0.02. The model
// supports the same interfaces as a model from [UAI]. Errors name the line.
func BIF(r io.Reader) (energy.Model, []Node, error) {
	b := &bif{input: bufio.NewReader(unmarked("BIF", r)), line: 1, number: map[string]int{}}
	if err := b.file(); err != nil {
		if b.failed != nil {
			err = fmt.Errorf("read: BIF: after line %d: %w", b.line, b.failed)
		}
		return nil, nil, err
	}
	b.net.link()
	return &b.net, b.variables, nil
}

// bif is the state of the parser of Bayesian networks.
type bif struct {
	input  *bufio.Reader
	line   int
	token  string // current token; "" at the end of the file
	quoted bool
	count  int
	failed error // error of the input; nil if there is none

	net       network
	variables []Node
	number    map[string]int
	entries   int
	has       []bool // for each variable, whether its probabilities have been read
}

func (b *bif) errorf(format string, args ...any) error {
	return fmt.Errorf("read: BIF: line %d: %s", b.line, fmt.Sprintf(format, args...))
}

// char returns the next character, or −1 at the end of the file or after an error.
func (b *bif) char() rune {
	c, _, err := b.input.ReadRune()
	if err != nil {
		if err != io.EOF {
			b.failed = err
		}
		return -1
	}
	if c == '\n' {
		b.line++
	}
	return c
}

func (b *bif) back(c rune) {
	if c < 0 {
		return
	}
	_ = b.input.UnreadRune() // the error is nil, because the last operation was a read
	if c == '\n' {
		b.line--
	}
}

// marks lists the tokens that consist of one character. Commas count as blanks.
const marks = "{}()[];|"

// next reads the next token.
func (b *bif) next() error {
	b.token, b.quoted = "", false
	b.count++
	for {
		c := b.char()
		switch {
		case c < 0:
			return b.failed
		case c == ',' || unicode.IsSpace(c):
		case c == '/':
			if err := b.comment(); err != nil {
				return err
			}
		case c == '"':
			return b.quote()
		case strings.ContainsRune(marks, c):
			b.token = string(c)
			return nil
		default:
			var word strings.Builder
			for ; c >= 0 && c != ',' && c != '"' && !unicode.IsSpace(c) && !strings.ContainsRune(marks, c); c = b.char() {
				if word.Len() > longest {
					return b.errorf("a word of more than %d bytes", longest)
				}
				word.WriteRune(c)
			}
			b.back(c)
			b.token = word.String()
			return b.failed
		}
	}
}

// comment skips the rest of a comment after its first slash.
func (b *bif) comment() error {
	switch b.char() {
	case '/':
		for c := b.char(); c >= 0 && c != '\n'; c = b.char() {
		}
		return b.failed
	case '*':
		for c := b.char(); c >= 0; {
			before := c
			if c = b.char(); before == '*' && c == '/' {
				return nil
			}
		}
		return b.errorf("the file ends within a comment")
	}
	return b.errorf("a lone /, want // or /* for a comment")
}

func (b *bif) quote() error {
	var word strings.Builder
	for c := b.char(); c != '"'; c = b.char() {
		if c < 0 || c == '\n' || word.Len() > longest {
			return b.errorf("a quotation that does not end in its line")
		}
		word.WriteRune(c)
	}
	b.token, b.quoted = word.String(), true
	return nil
}

// want reads the next token. It returns an error unless the token is one of tokens.
func (b *bif) want(tokens ...string) error {
	if err := b.next(); err != nil {
		return err
	}
	if b.quoted || !slices.Contains(tokens, b.token) {
		return b.errorf("%s, want %s", b.found(), strings.Join(tokens, " or "))
	}
	return nil
}

// found describes the current token for an error message.
func (b *bif) found() string {
	if b.token == "" && !b.quoted {
		return "the end of the file"
	}
	return brief(b.token)
}

// name reads the next token and returns it. It returns an error if the token is not a name; what
// describes the expected name in the message.
func (b *bif) name(what string) (string, error) {
	if err := b.next(); err != nil {
		return "", err
	}
	if !b.quoted && (b.token == "" || strings.Contains(marks, b.token)) {
		return "", b.errorf("%s, want %s", b.found(), what)
	}
	return b.token, nil
}

// pass skips the rest of a statement, including its semicolon.
func (b *bif) pass() error {
	for !b.is(";") {
		if err := b.next(); err != nil {
			return err
		}
		if b.token == "" && !b.quoted {
			return b.errorf("the end of the file, want ;")
		}
	}
	return nil
}

func (b *bif) is(token string) bool { return b.token == token && !b.quoted }

// file parses all blocks of the file.
func (b *bif) file() error {
	for {
		if err := b.next(); err != nil {
			return err
		}
		var err error
		switch {
		case b.is(""):
			for i, has := range b.has {
				if !has {
					return b.errorf("the file ends without the probability of %s", b.variables[i].Name)
				}
			}
			if len(b.variables) == 0 {
				return b.errorf("no variable, want ≥ 1")
			}
			return b.net.fits("BIF", b.count)
		case b.is("network"):
			err = b.header()
		case b.is("variable"):
			err = b.variable()
		case b.is("probability"):
			err = b.probability()
		default:
			err = b.errorf("%s, want network, variable or probability", b.found())
		}
		if err != nil {
			return err
		}
	}
}

// header skips the network block.
func (b *bif) header() error {
	if err := b.next(); err != nil { // the name of the network, which may be missing
		return err
	}
	if !b.is("{") {
		if err := b.want("{"); err != nil {
			return err
		}
	}
	for {
		if err := b.want("property", "}"); err != nil || b.is("}") {
			return err
		}
		if err := b.pass(); err != nil {
			return err
		}
	}
}

// variable parses a variable block.
func (b *bif) variable() error {
	name, err := b.name("the name of a variable")
	if err != nil {
		return err
	}
	if _, known := b.number[name]; known {
		return b.errorf("variable %s a second time", brief(name))
	}
	v := Node{Name: name}
	if err := b.want("{"); err != nil {
		return err
	}
	for {
		if err := b.want("type", "property", "}"); err != nil {
			return err
		}
		if b.is("}") {
			break
		}
		if b.is("property") {
			if err := b.pass(); err != nil {
				return err
			}
			continue
		}
		if v.Values != nil {
			return b.errorf("variable %s has a second type", brief(name))
		}
		if v.Values, err = b.values(); err != nil {
			return err
		}
	}
	if v.Values == nil {
		return b.errorf("variable %s has no type", brief(name))
	}
	b.number[name] = len(b.variables)
	b.variables, b.has = append(b.variables, v), append(b.has, false)
	b.net.cards = append(b.net.cards, int32(len(v.Values)))
	b.net.levels = max(b.net.levels, len(v.Values))
	return nil
}

// values parses the type of a variable, which begins with "discrete", and returns the names of its
// values.
func (b *bif) values() (values []string, err error) {
	if err := b.want("discrete"); err != nil {
		return nil, err
	}
	if err := b.want("["); err != nil {
		return nil, err
	}
	size, err := b.name("a number of values")
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(size)
	if err != nil || n < 1 {
		return nil, b.errorf("%s values, want ≥ 1", brief(size))
	}
	for _, token := range []string{"]", "{"} {
		if err := b.want(token); err != nil {
			return nil, err
		}
	}
	seen := map[string]bool{}
	for {
		if err := b.next(); err != nil {
			return nil, err
		}
		if b.is("}") {
			break
		}
		if b.is("") || !b.quoted && strings.Contains(marks, b.token) {
			return nil, b.errorf("%s, want a value or }", b.found())
		}
		if seen[b.token] {
			return nil, b.errorf("value %s a second time", brief(b.token))
		}
		seen[b.token] = true
		values = append(values, b.token)
	}
	if len(values) != n {
		return nil, b.errorf("%d values, want %d as announced", len(values), n)
	}
	return values, b.want(";")
}

// known reads the name of a declared variable and returns its number.
func (b *bif) known() (int32, error) {
	name, err := b.name("a variable")
	if err != nil {
		return 0, err
	}
	i, ok := b.number[name]
	if !ok {
		return 0, b.errorf("variable %s is not declared above", brief(name))
	}
	return int32(i), nil
}

// conditional is a table of conditional probabilities. Its rows are the joint values of the
// parents.
type conditional struct {
	own     int32
	parents []int32
	p       []float64 // rows × values; NaN for entries that the file has not given yet
}

// probability parses a probability block.
func (b *bif) probability() error {
	t := conditional{}
	err := b.want("(")
	if err == nil {
		t.own, err = b.known()
	}
	if err != nil {
		return err
	}
	if b.has[t.own] {
		return b.errorf("the probability of %s a second time", brief(b.variables[t.own].Name))
	}
	b.has[t.own] = true
	if err := b.want("|", ")"); err != nil {
		return err
	}
	for !b.is(")") {
		if err := b.next(); err != nil {
			return err
		}
		if b.is(")") {
			break
		}
		i, ok := b.number[b.token]
		if !ok {
			return b.errorf("%s, want a parent that is declared above or )", b.found())
		}
		if int32(i) == t.own || slices.Contains(t.parents, int32(i)) {
			return b.errorf("variable %s a second time in a probability", brief(b.token))
		}
		t.parents = append(t.parents, int32(i))
	}
	scope := append(slices.Clone(t.parents), t.own)
	f, ok := newFactor(b.net.cards, scope)
	if b.entries += f.values; !ok || b.entries > freeSites && b.entries > 64*b.count {
		return b.errorf("tables of %d values up to here in %d words, want ≤ %d or ≤ 64 per word", b.entries, b.count, freeSites)
	}
	t.p = slices.Repeat([]float64{math.NaN()}, f.values)
	if err := b.want("{"); err != nil {
		return err
	}
	if err := b.rows(&t); err != nil {
		return err
	}
	for _, p := range t.p {
		f.energy = append(f.energy, 0-simd.Log(p))
	}
	b.net.factors = append(b.net.factors, f)
	return nil
}

// rows parses the statements of a probability block up to its closing brace.
func (b *bif) rows(t *conditional) error {
	own := b.variables[t.own]
	n := len(own.Values)
	var other []float64 // of rows that are not given
	for {
		if err := b.want("(", "table", "default", "property", "}"); err != nil {
			return err
		}
		var err error
		switch b.token {
		case "property":
			err = b.pass()
		case "default":
			other, err = b.numbers(n)
		case "table":
			var p []float64
			if p, err = b.numbers(len(t.p)); err == nil {
				rows := len(t.p) / n
				for k, v := range p {
					t.p[k%rows*n+k/rows] = v
				}
			}
		case "(":
			err = b.row(t, n)
		default: // token "}", the end of the block
			for k := 0; k < len(t.p); k += n {
				if math.IsNaN(t.p[k]) && other == nil {
					return b.errorf("row %d of the probability of %s is missing, counted from 0 with the last parent fastest", k/n, brief(own.Name))
				}
				if math.IsNaN(t.p[k]) {
					copy(t.p[k:k+n], other)
				}
				sum := 0.0
				for _, p := range t.p[k : k+n] {
					sum += p
				}
				if math.Abs(sum-1) > 0.02 {
					return b.errorf("row %d of the probability of %s adds up to %v, want 1", k/n, brief(own.Name), sum)
				}
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// row parses one row of t, with n values, after its opening parenthesis.
func (b *bif) row(t *conditional, n int) error {
	at := 0
	for _, i := range t.parents {
		value, err := b.name("a value of " + brief(b.variables[i].Name))
		if err != nil {
			return err
		}
		l := slices.Index(b.variables[i].Values, value)
		if l < 0 {
			return b.errorf("%s is no value of %s", brief(value), brief(b.variables[i].Name))
		}
		at = at*len(b.variables[i].Values) + l
	}
	if err := b.want(")"); err != nil {
		return err
	}
	if !math.IsNaN(t.p[at*n]) {
		return b.errorf("the same row of a probability a second time")
	}
	p, err := b.numbers(n)
	copy(t.p[at*n:], p)
	return err
}

// numbers parses n probabilities and a semicolon.
func (b *bif) numbers(n int) (p []float64, err error) {
	for {
		if err := b.next(); err != nil {
			return nil, err
		}
		if b.is(";") {
			break
		}
		v, err := strconv.ParseFloat(b.token, 64)
		if err != nil || !(v >= 0 && v <= 1) {
			return nil, b.errorf("%s, want a probability", b.found())
		}
		if p = append(p, v); len(p) > n {
			return nil, b.errorf("more than %d probabilities, want %d", n, n)
		}
	}
	if len(p) != n {
		return nil, b.errorf("%d probabilities, want %d", len(p), n)
	}
	return p, nil
}
