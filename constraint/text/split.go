package text

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// split cuts a text before its pieces are encoded: each match of a pattern is a piece, and
// so is the text between matches.
type split struct {
	pattern *regexp.Regexp

	// blanks is set if the pattern ends with |\s+(?!\S)|\s+, of which the expression
	// has the last part, as its only group. White space before other text then
	// leaves its last rune to the next piece, unless it is the only one.
	blanks bool
}

// gpt2 is the pattern of the type ByteLevel.
const gpt2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// white is the white space of Unicode, as the contents of a class.
const white = `\t-\r \x{85}\p{Z}`

// newSplit compiles a pattern of a tokenizer.json, whose \s is that of Unicode.
// Lookarounds other than the one at the end of GPT-2's pattern are an error.
func newSplit(pattern string) (*split, error) {
	s := &split{}
	const tail = `|\s+(?!\S)|\s+`
	if rest, ok := strings.CutSuffix(pattern, tail); ok {
		s.blanks = true
		pattern = rest + `|(\s+)`
	}
	var b strings.Builder
	for i, class := 0, false; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern):
			i++
			switch n := pattern[i]; {
			case n == 's' && class:
				b.WriteString(white)
			case n == 's':
				b.WriteString("[" + white + "]")
			case n == 'S' && !class:
				b.WriteString("[^" + white + "]")
			case n == 'S':
				return nil, fmt.Errorf(`\S within a class`)
			default:
				b.WriteByte(c)
				b.WriteByte(n)
			}
		case c == '(' && s.blanks && !class && !strings.HasPrefix(pattern[i:], "(?") && i != len(pattern)-len(`(\s+)`):
			b.WriteString("(?:") // the only group is the last
		default:
			if c == '[' || c == ']' {
				class = c == '['
			}
			if (c == '?' || c == '*' || c == '+') && !class && i+1 < len(pattern) && pattern[i+1] == '+' {
				return nil, fmt.Errorf("the possessive quantifier %s", pattern[i:i+2])
			}
			b.WriteByte(c)
		}
	}
	var err error
	s.pattern, err = regexp.Compile(b.String())
	return s, err
}

// next returns the first match in text, and whether there is one that is not empty.
func (s *split) next(text string) (from, to int, ok bool) {
	m := s.pattern.FindStringSubmatchIndex(text)
	if m == nil || m[1] == m[0] {
		return 0, 0, false
	}
	from, to = m[0], m[1]
	if s.blanks && m[2] >= 0 && to < len(text) {
		_, last := utf8.DecodeLastRuneInString(text[from:to])
		if to-last > from {
			to -= last
		}
	}
	return from, to, true
}
