package grammar

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// SyntaxError reports where and why a grammar cannot be parsed. Line and Column count from 1,
// and columns are counted in characters.
type SyntaxError struct {
	Line, Column int
	What         string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("grammar: line %d, column %d: %s", e.Line, e.Column, e.What)
}

// expression is a node of a parsed grammar.
type expression struct {
	op        form
	text      string // source text of a literal or a pattern, or the name in a reference
	parts     []*expression
	except    []string // texts that are excluded from a pattern
	low, high int      // bounds of a repetition; high < 0 means no upper bound
	at        int      // offset in the source, for errors
}

type form uint8

const (
	literal form = iota
	regular
	reference
	sequence
	choice
	repetition
)

// definition is one rule of a grammar: a name and the expression it is defined as.
type definition struct {
	name string
	body *expression
}

// parser reads the notation of [Parse]. The parsers of other notations embed it.
type parser struct {
	source string
	at     int
	depth  int
	open   bool // true if {,n} means {0,n}
	meter  *poll.Meter
}

func (p *parser) fail(at int, format string, args ...any) error {
	before := p.source[:min(at, len(p.source))]
	line := strings.Count(before, "\n")
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return &SyntaxError{line + 1, column + 1, fmt.Sprintf(format, args...)}
}

// skip skips white space and comments.
func (p *parser) skip() {
	for p.at < len(p.source) {
		switch c := p.source[p.at]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			p.at++
		case c == '#':
			if n := strings.IndexByte(p.source[p.at:], '\n'); n >= 0 {
				p.at += n
			} else {
				p.at = len(p.source)
			}
		default:
			return
		}
	}
}

func (p *parser) peek() byte {
	if p.at < len(p.source) {
		return p.source[p.at]
	}
	return 0
}

// name reads a name. It returns "" if there is none.
func (p *parser) name() string {
	from := p.at
	for p.at < len(p.source) {
		r, n := utf8.DecodeRuneInString(p.source[p.at:])
		if !(r == '_' || unicode.IsLetter(r) || p.at > from && (r == '-' || unicode.IsDigit(r))) || r == utf8.RuneError {
			break
		}
		p.at += n
	}
	return p.source[from:p.at]
}

// sign skips white space and reads = or ::=. It reports whether it found one.
func (p *parser) sign() bool {
	p.skip()
	for _, s := range []string{"::=", "="} {
		if strings.HasPrefix(p.source[p.at:], s) {
			p.at += len(s)
			return true
		}
	}
	return false
}

// grammar reads all rules.
func (p *parser) grammar() (rules []definition, err error) {
	seen := map[string]bool{}
	for p.skip(); p.at < len(p.source); p.skip() {
		at := p.at
		name := p.name()
		switch {
		case name == "":
			return nil, p.fail(at, "want the name of a rule, not %q", p.rest())
		case seen[name]:
			return nil, p.fail(at, "rule %s is defined twice", check.Clip(name))
		case !p.sign():
			return nil, p.fail(p.at, "want = or ::= after %s, not %q", check.Clip(name), p.rest())
		}
		seen[name] = true
		body, err := p.choice()
		if err != nil {
			return nil, err
		}
		rules = append(rules, definition{name, body})
		if p.skip(); p.peek() == ';' {
			p.at++
		} else if p.at < len(p.source) && !p.begins() {
			return nil, p.fail(p.at, "want a rule, an alternative or the end, not %q", p.rest())
		}
	}
	if len(rules) == 0 {
		return nil, p.fail(p.at, "want a rule")
	}
	return rules, nil
}

// rest returns the next character of the source, or "the end", for error messages.
func (p *parser) rest() string {
	r, n := utf8.DecodeRuneInString(p.source[p.at:])
	if n == 0 {
		return "the end"
	}
	return string(r)
}

// begins reports whether a rule begins at the current position.
func (p *parser) begins() bool {
	at := p.at
	defer func() { p.at = at }()
	return p.name() != "" && p.sign()
}

func (p *parser) choice() (*expression, error) {
	return p.alternatives(p.sequence, func() bool {
		p.skip()
		return p.pass('|')
	})
}

// alternatives reads sequences separated by a sign. The function separator reads the sign and
// reports whether another sequence follows.
func (p *parser) alternatives(sequence func() (*expression, error), separator func() bool) (*expression, error) {
	if p.depth++; p.depth > nesting {
		return nil, p.fail(p.at, "%d parentheses within each other, want ≤ %d", p.depth, nesting)
	}
	defer func() { p.depth-- }()
	e := &expression{op: choice, at: p.at}
	for {
		s, err := sequence()
		if err != nil {
			return nil, err
		}
		if e.parts = append(e.parts, s); !separator() {
			return e, nil
		}
	}
}

// pass reads the byte sign if it comes next, and reports whether it did.
func (p *parser) pass(sign byte) bool {
	if p.peek() != sign {
		return false
	}
	p.at++
	return true
}

// group reads a choice in parentheses. The function skip skips white space before the closing
// parenthesis.
func (p *parser) group(choice func() (*expression, error), skip func()) (*expression, error) {
	at := p.at
	p.at++
	e, err := choice()
	if err != nil {
		return nil, err
	}
	if skip(); !p.pass(')') {
		return nil, p.fail(p.at, "want ) for the ( of %s, not %q", p.place(at), p.rest())
	}
	return e, nil
}

func (p *parser) sequence() (*expression, error) {
	e := &expression{op: sequence, at: p.at}
	for {
		p.skip()
		switch c := p.peek(); {
		case p.at >= len(p.source) || c == '|' || c == ')' || c == ';' || p.begins():
			return e, nil
		}
		if p.meter.Done(64) {
			return nil, p.meter.Err()
		}
		x, err := p.term()
		if err != nil {
			return nil, err
		}
		if p.skip(); p.peek() == '-' {
			if err := p.exception(x); err != nil {
				return nil, err
			}
		}
		if x, err = p.repeated(x); err != nil {
			return nil, err
		}
		e.parts = append(e.parts, x)
	}
}

// exception reads a minus sign and the texts to exclude from the pattern x: one text, or a
// choice in parentheses.
func (p *parser) exception(x *expression) error {
	if x.op != regular {
		return p.fail(p.at, "- follows a pattern or a class, of which it excepts texts")
	}
	p.at++
	p.skip()
	at := p.at
	e, err := p.term()
	if err != nil {
		return err
	}
	texts := []*expression{e}
	if e.op == choice {
		texts = nil
		for _, s := range e.parts {
			texts = append(texts, s.parts...)
			if len(s.parts) != 1 {
				return p.fail(at, "want a text or texts between | after -")
			}
		}
	}
	for _, t := range texts {
		if t.op != literal {
			return p.fail(at, "want a text or texts between | after -")
		}
		x.except = append(x.except, t.text)
	}
	p.skip()
	return nil
}

// terminal returns a string that identifies a pattern together with its excluded texts.
func (e *expression) terminal() string {
	return fmt.Sprintf("%s%q", e.text, e.except)
}

func (p *parser) term() (*expression, error) {
	at := p.at
	switch c := p.peek(); c {
	case '"', '\'':
		return p.literal(c)
	case '/':
		text, err := p.until('/', "pattern")
		return &expression{op: regular, text: strings.ReplaceAll(text, `\/`, `/`), at: at}, err
	case '[':
		text, err := p.until(']', "class")
		return &expression{op: regular, text: "[" + text + "]", at: at}, err
	case '(':
		return p.group(p.choice, p.skip)
	}
	name := p.name()
	if name == "" {
		return nil, p.fail(at, `want a name, "text", /pattern/, [class] or (, not %q`, p.rest())
	}
	return &expression{op: reference, text: name, at: at}, nil
}

func (p *parser) place(at int) string {
	e := p.fail(at, "").(*SyntaxError)
	return fmt.Sprintf("line %d, column %d", e.Line, e.Column)
}

// until reads up to the byte end, ignoring occurrences after a backslash. what names the
// construct in errors.
func (p *parser) until(end byte, what string) (string, error) {
	from := p.at
	for p.at++; p.at < len(p.source) && p.source[p.at] != '\n'; p.at++ {
		switch p.source[p.at] {
		case '\\':
			p.at++
		case end:
			if end == ']' && p.at == from+1 { // []…] begins with a bracket
				continue
			}
			p.at++
			return p.source[from+1 : p.at-1], nil
		}
	}
	p.at = min(p.at, len(p.source))
	return "", p.fail(from, "the %s has no end on its line", what)
}

// literal reads a text in quotes, with the escapes of Go.
func (p *parser) literal(quote byte) (*expression, error) {
	from := p.at
	var b strings.Builder
	rest := p.source[p.at+1:]
	for {
		if rest == "" || rest[0] == '\n' {
			return nil, p.fail(from, "the text has no end on its line")
		}
		if rest[0] == quote {
			p.at = len(p.source) - len(rest) + 1
			return &expression{op: literal, text: b.String(), at: from}, nil
		}
		r, multibyte, tail, err := strconv.UnquoteChar(rest, quote)
		if err != nil {
			return nil, p.fail(len(p.source)-len(rest), "an escape that is none of Go's")
		}
		if rest[0] != '\\' { // also what is not UTF-8
			b.WriteString(rest[:len(rest)-len(tail)])
		} else if r < utf8.RuneSelf || !multibyte {
			b.WriteByte(byte(r))
		} else {
			b.WriteRune(r)
		}
		rest = tail
	}
}

// most bounds the numbers in a repetition.
const most = 10_000

// repeated reads the suffixes *, +, ?, {m}, {m,} and {m,n} of the expression x and returns the
// resulting repetition.
func (p *parser) repeated(x *expression) (*expression, error) {
	for {
		at := p.at
		e := &expression{op: repetition, parts: []*expression{x}, high: -1, at: at}
		switch p.peek() {
		case '*':
		case '+':
			e.low = 1
		case '?':
			e.high = 1
		case '{':
			end := strings.IndexByte(p.source[at:], '}')
			if end < 0 {
				return nil, p.fail(at, "want } for this {")
			}
			low, high, two := strings.Cut(p.source[at+1:at+end], ",")
			if p.open && two && low == "" {
				low = "0"
			}
			n, err := strconv.Atoi(strings.TrimSpace(low))
			m := n
			if two && strings.TrimSpace(high) == "" {
				m = -1
			} else if two && err == nil {
				m, err = strconv.Atoi(strings.TrimSpace(high))
			}
			if err != nil || n < 0 || n > most || m > most || m >= 0 && m < n || m < -1 {
				return nil, p.fail(at, "want {m}, {m,} or {m,n} with 0 ≤ m ≤ n ≤ %d", most)
			}
			e.low, e.high = n, m
			p.at += end
		default:
			return x, nil
		}
		p.at++
		x = e
	}
}
