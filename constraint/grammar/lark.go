package grammar

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// ParseLark compiles a grammar in the notation of Lark:
//
//	start: sum
//	?sum: product (("+" | "-") product)*
//	?product: atom ("*" atom)*
//	?atom: NUMBER | "(" sum ")"
//	%import common.NUMBER
//	%ignore " "
//
// The rule start describes the whole text. The following are supported:
//
//   - rules and terminals, whose alternatives may extend over several lines;
//   - "text" and "text"i, "a".."z", and /patterns/ with the flags i, m and s;
//   - groups, [optional parts], ?, *, +, ~n and ~n..m;
//   - %ignore, and the regular terminals of %import common.
//
// Aliases, priorities and the marks ? and ! of rules are ignored; in Lark they affect only the
// parse tree. Patterns have the syntax of package regexp. Templates, %declare, %extend, %override
// and imports of other files are errors.
//
// The language contains every concatenation of terminals that the rules allow, with ignored
// terminals between them. Lark's lexer accepts fewer texts: if a keyword also matches a name, it
// chooses one of the two. The grammar must be deterministic, and the errors are those of [Parse].
func ParseLark(ctx context.Context, source string, limits constraint.Limits) (*Grammar, error) {
	meter := &poll.Meter{}
	meter.Watch(ctx)
	p := &lark{parser: parser{source: source, meter: meter}, seen: map[string]bool{}}
	definitions, err := p.grammar()
	if err != nil {
		return nil, err
	}
	return compileRules(ctx, &p.parser, definitions, limits)
}

// lark is a parser for the notation of Lark.
type lark struct {
	parser
	seen    map[string]bool
	rules   []definition
	ignored []*expression
	lexical bool // true inside a terminal, where nothing is ignored
}

// Names of the rules that the parser adds: ignoredRule for the ignored terminals, and wholeRule
// for the whole text.
const (
	ignoredRule = "%ignore"
	wholeRule   = "%start"
)

// larkTerminals holds the regular terminals of Lark's common.lark, as patterns of package
// regexp.
var larkTerminals = func() map[string]string {
	const exponent, decimal = `[eE][+-]?[0-9]+`, `(?:[0-9]+\.[0-9]*|\.[0-9]+)`
	float := `(?:[0-9]+` + exponent + `|` + decimal + `(?:` + exponent + `)?)`
	number := `(?:` + float + `|[0-9]+)`
	return map[string]string{
		"DIGIT": `[0-9]`, "HEXDIGIT": `[0-9a-fA-F]`, "INT": `[0-9]+`, "SIGNED_INT": `[+-]?[0-9]+`, "DECIMAL": decimal,
		"FLOAT": float, "SIGNED_FLOAT": `[+-]?` + float, "NUMBER": number, "SIGNED_NUMBER": `[+-]?` + number,
		"ESCAPED_STRING": `"(?:[^"\\\n]|\\[^\n])*"`, "LCASE_LETTER": `[a-z]`, "UCASE_LETTER": `[A-Z]`, "LETTER": `[A-Za-z]`,
		"WORD": `[A-Za-z]+`, "CNAME": `[A-Za-z_][A-Za-z0-9_]*`, "WS_INLINE": `[ \t]+`, "WS": `[ \t\f\r\n]+`, "CR": `\r`, "LF": `\n`,
		"NEWLINE": `(?:\r?\n)+`, "SH_COMMENT": `#[^\n]*`, "CPP_COMMENT": `//[^\n]*`, "SQL_COMMENT": `--[^\n]*`,
		"C_COMMENT": `/\*(?:[^*]|\*+[^*/])*\*+/`,
	}
}()

// line skips white space and comments. It also skips line ends if ends is true.
func (p *lark) line(ends bool) {
	for p.at < len(p.source) {
		switch c := p.source[p.at]; {
		case c == ' ' || c == '\t' || ends && (c == '\n' || c == '\r'):
			p.at++
		case strings.HasPrefix(p.source[p.at:], "//") || c == '#':
			for p.at < len(p.source) && p.source[p.at] != '\n' {
				p.at++
			}
		default:
			return
		}
	}
}

func (p *lark) name() string {
	from := p.at
	for p.at < len(p.source) {
		if c := p.source[p.at]; c != '_' && !(p.at > from && c >= '0' && c <= '9') && !(c|0x20 >= 'a' && c|0x20 <= 'z') {
			break
		}
		p.at++
	}
	return p.source[from:p.at]
}

func terminalName(name string) bool { return name == strings.ToUpper(name) }

// grammar reads all statements and returns the rules, with the rule for the whole text first.
func (p *lark) grammar() ([]definition, error) {
	for p.line(true); p.at < len(p.source); p.line(true) {
		var err error
		if p.peek() == '%' {
			err = p.directive()
		} else {
			err = p.definition()
		}
		if err != nil {
			return nil, err
		}
		p.line(false)
		if c := p.peek(); p.at < len(p.source) && c != '\n' && c != '\r' {
			return nil, p.fail(p.at, "want a term, an alternative or the end of the line, not %q", p.rest())
		}
	}
	if !p.seen["start"] {
		return nil, p.fail(p.at, "want a rule start")
	}
	ignore := &expression{op: choice}
	for _, x := range p.ignored {
		ignore.parts = append(ignore.parts, &expression{op: sequence, parts: []*expression{x}})
	}
	again := &expression{op: repetition, parts: []*expression{ignore}, high: -1}
	if len(p.ignored) == 0 {
		again = &expression{op: literal}
	}
	whole := &expression{op: sequence, parts: []*expression{{op: reference, text: ignoredRule}, {op: reference, text: "start"}}}
	return append([]definition{{wholeRule, whole}, {ignoredRule, again}}, p.rules...), nil
}

// define adds the rule or terminal called name. at is its offset in the source.
func (p *lark) define(at int, name string, body *expression) error {
	if p.seen[name] {
		return p.fail(at, "%s is defined twice", check.Clip(name))
	}
	p.seen[name] = true
	p.rules = append(p.rules, definition{name, body})
	return nil
}

// directive reads a %import or %ignore statement.
func (p *lark) directive() error {
	at := p.at
	p.at++
	switch word := p.name(); word {
	case "import":
		p.line(false)
		const from = "common"
		if !strings.HasPrefix(p.source[p.at:], from) {
			return p.fail(p.at, "%%import of %q, want common", p.rest())
		}
		p.at += len(from)
		p.line(false)
		if p.pass('.') {
			return p.imported(true)
		}
		if !p.pass('(') {
			return p.fail(p.at, "want . or ( after common, not %q", p.rest())
		}
		for {
			p.line(true)
			if err := p.imported(false); err != nil {
				return err
			}
			if p.line(true); !p.pass(',') {
				break
			}
		}
		if !p.pass(')') {
			return p.fail(p.at, "want ) after the names of %%import, not %q", p.rest())
		}
	case "ignore":
		p.lexical = true
		e, err := p.choice()
		if err != nil {
			return err
		}
		p.ignored = append(p.ignored, e)
	default:
		return p.fail(at, "%%%s is not supported, want %%import common or %%ignore", check.Clip(word))
	}
	return nil
}

// imported reads the name of a terminal of common.lark and defines that terminal. If renamed is
// true, an arrow and a new name may follow.
func (p *lark) imported(renamed bool) error {
	at := p.at
	name := p.name()
	pattern, ok := larkTerminals[name]
	if !ok {
		return p.fail(at, "common has no regular terminal %s", check.Clip(name))
	}
	if p.line(false); renamed && strings.HasPrefix(p.source[p.at:], "->") {
		p.at += 2
		p.line(false)
		name = p.name()
	}
	return p.define(at, name, &expression{op: regular, text: pattern, at: at})
}

// definition reads the definition of a rule or terminal.
func (p *lark) definition() error {
	for p.pass('?') || p.pass('!') {
	}
	at := p.at
	name := p.name()
	if name == "" {
		return p.fail(at, "want the name of a rule or a terminal, not %q", p.rest())
	}
	if p.pass('.') { // a priority
		for p.at < len(p.source) && strings.IndexByte("-0123456789", p.source[p.at]) >= 0 {
			p.at++
		}
	}
	p.line(false)
	if p.peek() == '{' {
		return p.fail(p.at, "templates are not supported")
	}
	if !p.pass(':') {
		return p.fail(p.at, "want : after %s, not %q", check.Clip(name), p.rest())
	}
	p.lexical = terminalName(name)
	body, err := p.choice()
	if err != nil {
		return err
	}
	return p.define(at, name, body)
}

// choice reads alternatives separated by |. The next line may begin with |.
func (p *lark) choice() (*expression, error) {
	return p.alternatives(p.sequence, func() bool {
		at := p.at
		if p.line(true); !p.pass('|') {
			p.at = at
			return false
		}
		return true
	})
}

func (p *lark) sequence() (*expression, error) {
	s := &expression{op: sequence, at: p.at}
	for p.line(p.depth > 1); p.at < len(p.source) && strings.IndexByte("|)]\n\r", p.source[p.at]) < 0; p.line(p.depth > 1) {
		if p.meter.Done(64) {
			return nil, p.meter.Err()
		}
		if strings.HasPrefix(p.source[p.at:], "->") { // the name of a node
			p.at += 2
			p.line(false)
			p.name()
			continue
		}
		x, err := p.term()
		if err != nil {
			return nil, err
		}
		lexeme := x.op == literal || x.op == regular || x.op == reference && terminalName(x.text)
		y, err := p.repeats(x, lexeme && !p.lexical)
		if err != nil {
			return nil, err
		}
		s.parts = append(s.parts, y)
		if y == x && lexeme && !p.lexical {
			s.parts = append(s.parts, &expression{op: reference, text: ignoredRule, at: x.at})
		}
	}
	return s, nil
}

// repeats reads a suffix ?, *, +, ~n or ~n..m and returns the repetition of x. If lexeme is
// true, ignored terminals may follow each x.
func (p *lark) repeats(x *expression, lexeme bool) (*expression, error) {
	at := p.at
	e := &expression{op: repetition, high: -1, at: at}
	switch p.peek() {
	case '*':
	case '+':
		e.low = 1
	case '?':
		e.high = 1
	case '~':
		m := larkTimes.FindStringSubmatch(p.source[p.at:])
		if m == nil {
			return nil, p.fail(at, "want a number, or two with .. between them, after ~")
		}
		var err error
		if e.low, err = strconv.Atoi(m[1]); err == nil {
			if e.high = e.low; m[2] != "" {
				e.high, err = strconv.Atoi(m[2])
			}
		}
		if err != nil || e.high < e.low || e.high > most {
			return nil, p.fail(at, "want ~n or ~n..m with n ≤ m ≤ %d", most)
		}
		p.at += len(m[0]) - 1
	default:
		return x, nil
	}
	p.at++
	if lexeme {
		x = &expression{op: sequence, at: x.at, parts: []*expression{x, {op: reference, text: ignoredRule, at: x.at}}}
	}
	e.parts = []*expression{x}
	return e, nil
}

var larkTimes = regexp.MustCompile(`^~[ \t]*([0-9]+)(?:[ \t]*\.\.[ \t]*([0-9]+))?`)

func (p *lark) term() (*expression, error) {
	at := p.at
	switch c := p.peek(); c {
	case '"':
		return p.text()
	case '/':
		text, err := p.until('/', "pattern")
		if err != nil {
			return nil, err
		}
		flags := p.flags()
		if strings.Trim(flags, "ims") != "" {
			return nil, p.fail(at, "the flags %s of a pattern, want i, m or s", check.Clip(flags))
		}
		if text = strings.ReplaceAll(text, `\/`, `/`); flags != "" {
			text = "(?" + flags + ":" + text + ")"
		}
		return &expression{op: regular, text: text, at: at}, nil
	case '(':
		return p.group(p.choice, func() { p.line(true) })
	case '[':
		p.at++
		e, err := p.choice()
		if err != nil {
			return nil, err
		}
		if p.line(true); !p.pass(']') {
			return nil, p.fail(p.at, "want ] for the [ of %s, not %q", p.place(at), p.rest())
		}
		return &expression{op: repetition, parts: []*expression{e}, high: 1, at: at}, nil
	}
	name := p.name()
	if name == "" {
		return nil, p.fail(at, `want a name, "text", /pattern/, ( or [, not %q`, p.rest())
	}
	if p.peek() == '{' {
		return nil, p.fail(p.at, "templates are not supported")
	}
	return &expression{op: reference, text: name, at: at}, nil
}

// flags reads the letters that follow a text or a pattern.
func (p *lark) flags() string {
	from := p.at
	for p.at < len(p.source) && p.source[p.at] >= 'a' && p.source[p.at] <= 'z' {
		p.at++
	}
	return p.source[from:p.at]
}

// text reads a text in double quotes or a range of characters.
func (p *lark) text() (*expression, error) {
	at := p.at
	e, err := p.literal('"')
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(p.source[p.at:], "..") {
		p.at += 2
		if p.peek() != '"' {
			return nil, p.fail(p.at, `want "text" after .., not %q`, p.rest())
		}
		to, err := p.literal('"')
		if err != nil {
			return nil, err
		}
		low, n := utf8.DecodeRuneInString(e.text)
		high, m := utf8.DecodeRuneInString(to.text)
		if n != len(e.text) || m != len(to.text) || n == 0 || m == 0 || high < low {
			return nil, p.fail(at, "the range %q..%q, want two characters in order", e.text, to.text)
		}
		return &expression{op: regular, text: fmt.Sprintf(`[\x{%x}-\x{%x}]`, low, high), at: at}, nil
	}
	switch flags := p.flags(); flags {
	case "":
		return e, nil
	case "i":
		return &expression{op: regular, text: "(?i:" + regexp.QuoteMeta(e.text) + ")", at: at}, nil
	default:
		return nil, p.fail(at, "the flags %s of a text, want i", check.Clip(flags))
	}
}
