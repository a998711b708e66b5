package grammar

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// compileRegexp compiles a pattern of package regexp to an automaton over bytes. The pattern
// must match the whole text.
func compileRegexp(ctx context.Context, pattern string, limits constraint.Limits) (byteAutomaton, error) {
	d, err := text.Regexp(ctx, pattern, text.Bytes(), limits)
	if errors.Is(err, constraint.ErrInfeasible) {
		return newTrie(nil), nil
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// ecma compiles a JSON Schema pattern, which may match anywhere in the text, to a list of
// tests. Lookaheads are supported only at the beginning, after ^, where each becomes a separate
// test.
func ecma(ctx context.Context, pattern string, limits constraint.Limits) ([]test, error) {
	var tests []test
	rest := pattern
	if strings.HasPrefix(rest, "^") && !alternates(rest) {
		for strings.HasPrefix(rest[1:], "(?=") || strings.HasPrefix(rest[1:], "(?!") {
			end := closing(rest, 1)
			if end < 0 {
				break
			}
			t, err := search(ctx, "^(?:"+rest[4:end]+")", limits)
			if err != nil {
				return nil, err
			}
			tests = append(tests, test{a: t, want: rest[3] == '='})
			rest = "^" + rest[end+1:]
		}
	}
	t, err := search(ctx, rest, limits)
	if err != nil {
		return nil, err
	}
	return append(tests, test{a: t, want: true}), nil
}

func search(ctx context.Context, pattern string, limits constraint.Limits) (byteAutomaton, error) {
	p, err := translate(pattern)
	if err != nil {
		return nil, err
	}
	return compileRegexp(ctx, `(?s:.*)(?:`+p+`)(?s:.*)`, limits)
}

// closing returns the index of the parenthesis that closes the one at index open, or −1 if
// there is none.
func closing(p string, open int) int {
	depth, class := 0, false
	for i := open; i < len(p); i++ {
		switch c := p[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// alternates reports whether a pattern has an alternative outside parentheses.
func alternates(p string) bool {
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '|':
			return true
		case '(', '[':
			end := -1
			if p[i] == '(' {
				end = closing(p, i)
			} else {
				for j := i + 1; j < len(p) && end < 0; j++ {
					if p[j] == '\\' {
						j++
					} else if p[j] == ']' {
						end = j
					}
				}
			}
			if end < 0 {
				return true
			}
			i = end
		}
	}
	return false
}

const ecmaSpace = `\t\n\x0B\f\r \x{A0}\x{FEFF}\x{2028}\x{2029}\p{Zs}`

// ecmaNotSpace is the set of characters that are not in ecmaSpace, for use in a class.
// TestSpaceOfPatterns checks this.
const ecmaNotSpace = `\x00-\x08\x0E-\x1F!-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027}\x{202A}-\x{202E}` +
	`\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{FEFE}\x{FF00}-\x{10FFFF}`

// translate rewrites an ECMA-262 pattern in the syntax of package regexp. The two differ in
// \uHHHH and \cX, in the meaning of \s and ., and in escapes of letters.
func translate(p string) (string, error) {
	var b strings.Builder
	class := false
	for i := 0; i < len(p); i++ {
		c := p[i]
		switch {
		case c == '\\' && i+1 < len(p):
			i++
			n, err := translateEscape(&b, p[i:], class)
			if err != nil {
				return "", err
			}
			i += n - 1
		case class:
			class = c != ']'
			if c == '[' {
				b.WriteByte('\\')
			}
			b.WriteByte(c)
		case c == '[':
			switch {
			case strings.HasPrefix(p[i:], "[^]"):
				b.WriteString(`(?s:.)`)
				i += 2
				continue
			case strings.HasPrefix(p[i:], "[]"):
				b.WriteString(`[^\x00-\x{10FFFF}]`)
				i++
				continue
			}
			class = true
			b.WriteByte(c)
			if strings.HasPrefix(p[i:], "[^") {
				b.WriteByte('^')
				i++
			}
		case c == '.':
			b.WriteString(`[^\n\r\x{2028}\x{2029}]`)
		case c == '(' && strings.HasPrefix(p[i:], "(?") && !strings.HasPrefix(p[i:], "(?:") &&
			(!strings.HasPrefix(p[i:], "(?<") || strings.HasPrefix(p[i:], "(?<=") || strings.HasPrefix(p[i:], "(?<!")):
			if flags := strings.TrimLeft(p[i+2:], "imsx-"); flags != p[i+2:] && strings.HasPrefix(flags, ":") {
				if !strings.HasPrefix(p[i:], "(?i:") {
					return "", fmt.Errorf("the flags of %s: only i is supported", p[i:len(p)-len(flags)+1])
				}
				b.WriteByte(c)
				continue
			}
			return "", fmt.Errorf("a lookaround that is not at its beginning")
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

// translateEscape writes the translation of the escape whose letter is p[0]. It returns the
// number of bytes of p that belong to the escape.
func translateEscape(b *strings.Builder, p string, class bool) (int, error) {
	c := p[0]
	hexDigits := func(n int) bool {
		if len(p) < n+1 {
			return false
		}
		for _, h := range p[1 : n+1] {
			if !strings.ContainsRune("0123456789abcdefABCDEF", h) {
				return false
			}
		}
		return true
	}
	switch {
	case c == 'u' && hexDigits(4):
		fmt.Fprintf(b, `\x{%s}`, p[1:5])
		return 5, nil
	case c == 'c' && len(p) > 1 && (p[1]|0x20 >= 'a' && p[1]|0x20 <= 'z'):
		fmt.Fprintf(b, `\x{%02x}`, p[1]&31)
		return 2, nil
	case c == 's':
		if !class {
			b.WriteString("[" + ecmaSpace + "]")
		} else {
			b.WriteString(ecmaSpace)
		}
		return 1, nil
	case c == 'S' && !class:
		b.WriteString("[" + ecmaNotSpace + "]")
		return 1, nil
	case c == 'S':
		b.WriteString(ecmaNotSpace)
		return 1, nil
	case c == 'b' && class:
		b.WriteString(`\x08`)
		return 1, nil
	case c == 'v':
		b.WriteString(`\x0B`)
		return 1, nil
	case c == '0' && (len(p) == 1 || p[1] < '0' || p[1] > '9'):
		b.WriteString(`\x00`)
		return 1, nil
	case c == 'x' && hexDigits(2), strings.IndexByte("dDwWfnrtpPbB", c) >= 0:
	case c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		return 0, fmt.Errorf("escape \\%c of a pattern, want one that is no backreference and is known", c)
	}
	b.WriteByte('\\')
	b.WriteByte(c)
	return 1, nil
}

// patterns compiles the patterns and formats of a schema.
type patterns struct {
	ctx      context.Context
	limits   constraint.Limits // limits for the automaton of each pattern
	compiled map[string][]test

	lenient bool // true if unknown formats are treated as annotations

	any byteAutomaton // automaton for all texts; nil until first needed
}

// allTexts returns an automaton for all texts.
func (c *patterns) allTexts() (a byteAutomaton, err error) {
	if c.any == nil {
		c.any, err = compileRegexp(c.ctx, anyText, c.limits)
	}
	return c.any, err
}

// pattern returns the tests of the pattern p. The result is cached.
func (c *patterns) pattern(p string, path *place) ([]test, error) {
	if t, ok := c.compiled[p]; ok {
		return t, nil
	}
	t, err := ecma(c.ctx, p, c.limits)
	if err != nil {
		return nil, c.patternError(path, p, err)
	}
	c.compiled[p] = t
	return t, nil
}

// format returns tests that only texts in the named format pass, under any reading of the
// format. If negated is true, it returns an error for formats that have disputed texts.
func (c *patterns) format(s *value, name string, negated bool) ([]test, error) {
	f, ok := formats[name]
	switch {
	case !ok && c.lenient:
		return nil, nil
	case !ok:
		return nil, unsupported(s, "format", "format %s is not supported", check.Quote(name))
	case negated && f.beyond != "":
		return nil, unsupported(s, "format", "format %q is not supported in a schema with not, oneOf, if or dependencies", name)
	}
	return c.whole(s, name, f.within)
}

// whole returns a test for the given pattern of a format. The result is cached.
func (c *patterns) whole(s *value, name, pattern string) ([]test, error) {
	key := "format " + pattern
	if t, ok := c.compiled[key]; ok {
		return t, nil
	}
	a, err := compileRegexp(c.ctx, pattern, c.limits)
	if err != nil {
		return nil, c.patternError(s.path.in("format"), name, err)
	}
	c.compiled[key] = []test{{a: a, want: true}}
	return c.compiled[key], nil
}

func (c *patterns) patternError(path *place, p string, err error) error {
	if poll.Err(c.ctx) != nil {
		return context.Cause(c.ctx)
	}
	return &SchemaError{Path: path.String(), What: fmt.Sprintf("pattern %s: %v", check.Quote(p), err), Unsupported: true}
}
