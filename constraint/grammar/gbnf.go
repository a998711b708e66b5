package grammar

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// ParseGBNF compiles a grammar in the notation of llama.cpp:
//
//	# a list of words
//	root ::= "[" word ("," ws word)* "]"
//	word ::= [^,\]\n\x00-\x1F]+
//	ws   ::= " "?
//
// The rule root describes the whole text. A rule is a name, ::= and alternatives separated by |. It
// ends at the end of the line, unless the line ends within parentheses or with | or ::=. A term is
// one of these:
//
//   - a name;
//   - a text in double quotes;
//   - a character class such as [^a-z], or a dot for any character;
//   - a choice in parentheses.
//
// Texts and classes may contain the escapes \n, \r, \t, \\, \", \[, \], \-, \xHH, \uHHHH and
// \UHHHHHHHH. The suffixes *, +, ?, {m}, {m,}, {,n} and {m,n} repeat a term. References to tokens
// of a vocabulary, <[7]> or <name>, are rejected. The grammar must be deterministic, and the errors
// are those of [Parse].
func ParseGBNF(ctx context.Context, source string, limits constraint.Limits) (*Grammar, error) {
	meter := &poll.Meter{}
	meter.Watch(ctx)
	p := &gbnf{parser{source: source, meter: meter, open: true}}
	definitions, err := p.grammar()
	if err != nil {
		return nil, err
	}
	return compileRules(ctx, &p.parser, definitions, limits)
}

// gbnf is a parser for the notation of llama.cpp.
type gbnf struct{ parser }

// line skips white space and comments. It also skips line ends if ends is true.
func (p *gbnf) line(ends bool) {
	for p.at < len(p.source) {
		switch c := p.source[p.at]; {
		case c == ' ' || c == '\t' || ends && (c == '\n' || c == '\r'):
			p.at++
		case c == '#':
			for p.at < len(p.source) && p.source[p.at] != '\n' {
				p.at++
			}
		default:
			return
		}
	}
}

func (p *gbnf) name() string {
	from := p.at
	for p.at < len(p.source) {
		if c := p.source[p.at]; c != '-' && c != '_' && !(c >= '0' && c <= '9') && !(c|0x20 >= 'a' && c|0x20 <= 'z') {
			break
		}
		p.at++
	}
	return p.source[from:p.at]
}

// grammar reads all rules and returns them with the rule root first.
func (p *gbnf) grammar() (rules []definition, err error) {
	seen := map[string]bool{}
	for p.line(true); p.at < len(p.source); p.line(true) {
		at := p.at
		name := p.name()
		switch {
		case name == "":
			return nil, p.fail(at, "want the name of a rule, not %q", p.rest())
		case seen[name]:
			return nil, p.fail(at, "rule %s is defined twice", check.Clip(name))
		}
		if p.line(false); !strings.HasPrefix(p.source[p.at:], "::=") {
			return nil, p.fail(p.at, "want ::= after %s, not %q", check.Clip(name), p.rest())
		}
		p.at += len("::=")
		p.line(true)
		seen[name] = true
		body, err := p.choice(false)
		if err != nil {
			return nil, err
		}
		rules = append(rules, definition{name, body})
		if c := p.peek(); p.at < len(p.source) && c != '\n' && c != '\r' {
			return nil, p.fail(p.at, "want a term, an alternative or the end of the line, not %q", p.rest())
		}
	}
	root := slices.IndexFunc(rules, func(d definition) bool { return d.name == "root" })
	if root < 0 {
		return nil, p.fail(p.at, "want a rule root")
	}
	rules[0], rules[root] = rules[root], rules[0]
	return rules, nil
}

// choice reads alternatives separated by |. If nested, they may extend over several lines. In
// any case the next line may begin with |.
func (p *gbnf) choice(nested bool) (*expression, error) {
	return p.alternatives(func() (*expression, error) { return p.sequence(nested) }, func() bool {
		at := p.at
		if p.line(true); !p.pass('|') {
			p.at = at
			return false
		}
		p.line(true)
		return true
	})
}

func (p *gbnf) sequence(nested bool) (*expression, error) {
	s := &expression{op: sequence, at: p.at}
	for p.line(nested); p.at < len(p.source) && strings.IndexByte("|)\n\r", p.source[p.at]) < 0; p.line(nested) {
		if p.meter.Done(64) {
			return nil, p.meter.Err()
		}
		x, err := p.term()
		if err != nil {
			return nil, err
		}
		if x, err = p.repeats(x); err != nil {
			return nil, err
		}
		s.parts = append(s.parts, x)
	}
	return s, nil
}

// repeats reads repetition operators after the expression x, as repeated does, but allows
// blanks before each operator.
func (p *gbnf) repeats(x *expression) (*expression, error) {
	for {
		at := p.at
		p.line(false)
		y, err := p.repeated(x)
		if err != nil || y == x {
			p.at = at
			return x, err
		}
		x = y
	}
}

func (p *gbnf) term() (*expression, error) {
	at := p.at
	switch c := p.peek(); c {
	case '"':
		var b strings.Builder
		for p.at++; ; {
			if p.at >= len(p.source) || p.source[p.at] == '\n' {
				return nil, p.fail(at, "the text has no end on its line")
			}
			if p.source[p.at] == '"' {
				p.at++
				return &expression{op: literal, text: b.String(), at: at}, nil
			}
			if p.meter.Done(1) {
				return nil, p.meter.Err()
			}
			r, err := p.character()
			if err != nil {
				return nil, err
			}
			b.WriteString(r)
		}
	case '[':
		return p.class()
	case '.':
		p.at++
		return &expression{op: regular, text: "(?s:.)", at: at}, nil
	case '(':
		return p.group(func() (*expression, error) { return p.choice(true) }, func() { p.line(true) })
	case '<', '!':
		return nil, p.fail(at, "a token of a vocabulary: a grammar describes texts")
	}
	name := p.name()
	if name == "" {
		return nil, p.fail(at, `want a name, "text", [class], . or (, not %q`, p.rest())
	}
	return &expression{op: reference, text: name, at: at}, nil
}

// character reads one character, which may be written as an escape.
func (p *gbnf) character() (string, error) {
	rest := p.source[p.at:]
	if rest[0] != '\\' {
		r, n := utf8.DecodeRuneInString(rest)
		if r == utf8.RuneError && n <= 1 {
			return "", p.fail(p.at, "a byte that is not UTF-8")
		}
		p.at += n
		return rest[:n], nil
	}
	at := p.at
	if len(rest) > 1 {
		p.at += 2
		switch c := rest[1]; c {
		case 'n':
			return "\n", nil
		case 'r':
			return "\r", nil
		case 't':
			return "\t", nil
		case '\\', '"', '[', ']', '-', '^':
			return string(c), nil
		case 'x', 'u', 'U':
			digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
			if len(rest) >= 2+digits {
				n, err := strconv.ParseUint(rest[2:2+digits], 16, 32)
				if err == nil && n <= utf8.MaxRune && utf8.ValidRune(rune(n)) {
					p.at += digits
					return string(rune(n)), nil
				}
			}
		}
	}
	return "", p.fail(at, `an escape that is none of \n, \r, \t, \\, \", \[, \], \-, \xHH, \uHHHH and \UHHHHHHHH`)
}

// class reads a character class and returns it in the syntax of package regexp.
func (p *gbnf) class() (*expression, error) {
	at := p.at
	var b strings.Builder
	b.WriteByte('[')
	if p.at++; p.peek() == '^' {
		b.WriteByte('^')
		p.at++
	}
	n := b.Len()
	char := func() (rune, error) {
		if p.at >= len(p.source) || p.source[p.at] == '\n' {
			return 0, p.fail(at, "the class has no end on its line")
		}
		s, err := p.character()
		r, _ := utf8.DecodeRuneInString(s)
		return r, err
	}
	for p.peek() != ']' {
		if p.meter.Done(64) {
			return nil, p.meter.Err()
		}
		low, err := char()
		if err != nil {
			return nil, err
		}
		high := low
		if rest := p.source[p.at:]; len(rest) > 1 && rest[0] == '-' && rest[1] != ']' {
			p.at++
			if high, err = char(); err != nil {
				return nil, err
			}
		}
		if high < low {
			return nil, p.fail(at, "the range %q-%q ends before it begins", low, high)
		}
		fmt.Fprintf(&b, `\x{%x}-\x{%x}`, low, high)
	}
	p.at++
	if b.Len() == n {
		return nil, p.fail(at, "the class has no characters")
	}
	b.WriteByte(']')
	return &expression{op: regular, text: b.String(), at: at}, nil
}
