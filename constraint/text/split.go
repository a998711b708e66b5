package text

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// split divides a text into pieces before encoding. Each match of the pattern is a piece, and
// so is the text between two matches.
type split struct {
	pattern *regexp.Regexp

	// blanks is true if the original pattern ends with |\s+(?!\S)|\s+. The compiled pattern
	// then has only the last part, as its only group. If white space before other text matches
	// this group, its last rune belongs to the next piece, unless it is the only rune.
	blanks bool
}

// gpt2 is the pattern by which the pre-tokenizer type ByteLevel splits a text.
const gpt2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// white lists the white space of Unicode, for use inside a character class.
const white = `\t-\r \x{85}\p{Z}`

// newSplit compiles a pattern of a tokenizer.json, where \s means the white space of Unicode. A
// lookaround is an error, unless it is the one at the end of GPT-2's pattern.
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

// next returns the bounds of the first match in text. ok is false if there is no match or the
// match is empty.
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
