package corpus

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
)

// mostDigits is the maximum number of ring digits that the syntax tracks. Each digit doubles the
// number of states.
const mostDigits = 8

// Syntax returns the language of strings whose brackets are balanced, at most as deep as in the
// training data, and whose ring digits come in pairs. Digits and round brackets within square
// brackets are ignored.
func Syntax(ctx context.Context, c *Corpus) (*constraint.DFA, error) {
	digit := make(map[int32]int) // bit by token
	for t, r := range c.Letters {
		if r >= '0' && r <= '9' && len(digit) < mostDigits {
			digit[int32(t)] = len(digit)
		}
	}
	depths := deepest(c.Train) + 1
	parities := 1 << len(digit)
	// State 0 is the start, 1 the end, where pads follow; the others are
	// (depth, within square brackets, parities).
	state := func(depth, square, parity int) int32 {
		return int32(2 + (depth*2+square)*parities + parity)
	}
	n := 2 + 2*depths*parities
	next, accepting := make([]int32, n*c.Levels), make([]bool, n)
	for i := range next {
		next[i] = -1
	}
	edge := func(from int32, depth, square, parity int) {
		for t, r := range c.Letters {
			d, s, p := depth, square, parity
			bit, isDigit := digit[int32(t)]
			switch {
			case square == 1:
				if r == '[' {
					continue
				}
				if r == ']' {
					s = 0
				}
			case r == ']':
				continue
			case r == '[':
				s = 1
			case r == '(':
				d++
			case r == ')':
				d--
			case isDigit:
				p ^= 1 << bit
			case r >= '0' && r <= '9':
				continue
			}
			if d >= 0 && d < depths {
				next[int(from)*c.Levels+t] = state(d, s, p)
			}
		}
	}
	edge(0, 0, 0, 0)
	for d := range depths {
		for s := range 2 {
			for p := range parities {
				edge(state(d, s, p), d, s, p)
			}
		}
	}
	whole := state(0, 0, 0)
	accepting[whole], accepting[1] = true, true
	next[int(whole)*c.Levels+int(c.Pad)] = 1
	next[c.Levels+int(c.Pad)] = 1
	return constraint.NewDFA(ctx, c.Levels, next, accepting)
}

// deepest returns the maximum depth of round brackets in the strings.
func deepest(all []string) int {
	most := 0
	for _, s := range all {
		depth := 0
		for _, r := range s {
			switch r {
			case '(':
				depth++
			case ')':
				depth--
			}
			most = max(most, depth)
		}
	}
	return most
}

// Count interprets the value of the option -count. It returns the language, a function that
// reports whether a string is in it, and a description.
func Count(c *Corpus, text string) (constraint.Automaton, func(string) bool, string, error) {
	if text == "" {
		text = "N=2"
		if c.token('N') < 0 {
			text = string(c.commonest(false)) + "=2"
		}
	}
	letter, number, ok := strings.Cut(text, "=")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 0 || len([]rune(letter)) != 1 {
		return nil, nil, "", fmt.Errorf("-count = %q, want a letter, = and a number, such as N=2", text)
	}
	t := c.token([]rune(letter)[0])
	if t < 0 {
		return nil, nil, "", fmt.Errorf("-count = %q: no %s in the data", text, letter)
	}
	language := constraint.Count{Levels: []int32{t}, Min: n, Max: n}
	return language, func(s string) bool { return strings.Count(s, letter) == n }, "exactly " + number + " " + letter, nil
}

// carbonyl is the default of -regex: a carbon with a double bond to oxygen, at the end of the
// string or in a branch.
const carbonyl = `.*C(=O|\(=O\).*)`

// Expression interprets the value of the option -regex. It returns the language, a function that
// reports whether a string is in it, and a description.
func Expression(ctx context.Context, c *Corpus, pattern string) (constraint.Automaton, func(string) bool, string, error) {
	if pattern == "" {
		pattern = carbonyl
		if strings.ContainsFunc("C(=O)", func(r rune) bool { return c.token(r) < 0 }) {
			pattern = regexp.QuoteMeta(string(c.commonest(true))) + ".*"
		}
	}
	v := text.Vocabulary{Padding: []int32{c.Pad}}
	for _, r := range c.Letters {
		v.Tokens = append(v.Tokens, string(r))
	}
	v.Tokens = append(v.Tokens, "")
	language, err := text.Regexp(ctx, pattern, v, constraint.Limits{})
	if err != nil {
		return nil, nil, "", fmt.Errorf("-regex: %w", err)
	}
	judge, err := regexp.Compile(`^(?:` + pattern + `)$`)
	if err != nil {
		return nil, nil, "", fmt.Errorf("-regex: %w", err)
	}
	return language, judge.MatchString, pattern, nil
}
