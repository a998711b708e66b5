package text

import (
	"context"
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// PatternError reports a regular expression that cannot be compiled. Unwrap returns the cause, for
// instance a *syntax.Error.
type PatternError struct {
	Pattern string // pattern as given by the caller
	Err     error  // what is wrong with the pattern
}

// Error returns a message with the pattern and the cause, each truncated if long.
func (e *PatternError) Error() string {
	return fmt.Sprintf("text: pattern %s: %s", check.Quote(e.Pattern), check.Clip(e.Err.Error()))
}

// Unwrap returns the field Err, the cause.
func (e *PatternError) Unwrap() error { return e.Err }

// Regexp compiles a regular expression to the minimal automaton over the tokens of a vocabulary.
// The automaton accepts the token sequences whose whole text matches the expression.
//
// The syntax is that of package regexp (RE2). ^, $, \b, \B and all flags have the same meaning as
// there. The match is anchored at both ends, as if the pattern were \A(?:pattern)\z. Greediness and
// captures make no difference. The language contains only valid UTF-8, and the bytes of a rune may
// be spread over several tokens.
//
// A pattern has at most 2¹⁶ bytes and, with its repetitions written out, at most 2¹⁶ instructions.
// A Unicode class such as \pL counts as 256 bytes. If case is ignored, a range that ends beyond
// ASCII counts as 2048 bytes. [Words] and [Contains] are better for long lists of words, and a
// [Cache] for repeated patterns.
//
// The error is a [*PatternError] if the pattern does not parse. Other errors are those of [Lift].
func Regexp(ctx context.Context, pattern string, v Vocabulary, limits constraint.Limits) (*constraint.DFA, error) {
	p, err := prepare(v)
	if err != nil {
		return nil, err
	}
	return regexpOver(ctx, pattern, p, limits)
}

// Package regexp/syntax cannot be interrupted. These bounds keep it below about 100 ms and a few
// dozen megabytes, whatever the pattern; TestPatternsAreBounded has patterns that need them.
const (
	maxPattern = 1 << 16 // effort of parsing, see effort
	maxProgram = 1 << 16 // instructions
)

// effort returns the number of bytes of a pattern, plus what its classes cost beyond that. The
// table of a Unicode class such as \pL is copied and sorted, and counts as 256 bytes. If the pattern
// ignores case, each character of a range is folded, and a range that ends beyond ASCII counts as
// 2048 bytes.
func effort(pattern string) int {
	n, folds := len(pattern), ignoresCase(pattern)
	for i := range len(pattern) - 1 {
		switch next := pattern[i+1]; {
		case pattern[i] == '\\' && (next == 'p' || next == 'P'):
			n += 255
		case folds && pattern[i] == '-' && (next == '\\' || next >= 0x80):
			n += 2047
		}
	}
	return n
}

// ignoresCase reports whether the flag i occurs in a pattern.
func ignoresCase(pattern string) bool {
	for _, group := range strings.Split(pattern, "(?")[1:] {
		end := strings.IndexAny(group, ":)<")
		if end >= 0 && strings.Contains(group[:end], "i") {
			return true
		}
	}
	return false
}

// instructions returns about the number of instructions of an expression, whose repetitions are
// written out.
func instructions(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	if re.Op == syntax.OpCharClass {
		n = 1
	}
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min+1, re.Max)
	}
	return n
}

// program parses a pattern and compiles it to a program.
func program(name, pattern string) (*syntax.Prog, error) {
	if n := effort(pattern); n > maxPattern {
		return nil, &constraint.LimitError{What: name + ": bytes of the pattern (256 for a Unicode class, 2048 for a range beyond ASCII if case is ignored)", Value: n, Bound: maxPattern}
	}
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, &PatternError{pattern, err}
	}
	if n := instructions(re); n > maxProgram {
		return nil, &constraint.LimitError{What: name + ": instructions of the pattern", Value: n, Bound: maxProgram}
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, &PatternError{pattern, err}
	}
	return prog, nil
}

// regexpOver implements Regexp for a prepared vocabulary.
func regexpOver(ctx context.Context, pattern string, p *prepared, limits constraint.Limits) (*constraint.DFA, error) {
	const name = "Regexp"
	prog, err := program(name, pattern)
	if err != nil {
		return nil, err
	}
	runes, err := newRuneClasses(ctx, name, prog, limits)
	if err != nil {
		return nil, err
	}
	t, err := determinise(ctx, name, prog, runes, limits)
	if err != nil {
		return nil, err
	}
	overRunes, err := constraint.Compile(ctx, t, t.Levels(), limits)
	if errors.Is(err, constraint.ErrInfeasible) {
		return nil, fmt.Errorf("text: Regexp: nothing matches %s: %w", check.Quote(pattern), constraint.ErrInfeasible)
	}
	if err != nil {
		return nil, fmt.Errorf("text: Regexp: %w", err)
	}
	d, err := spell(ctx, name, overRunes, runes, p, limits)
	if errors.Is(err, constraint.ErrInfeasible) {
		return nil, fmt.Errorf("text: Regexp: no token sequence spells a match of %s: %w", check.Quote(pattern), constraint.ErrInfeasible)
	}
	if err != nil {
		return nil, err
	}
	return d.Named(fmt.Sprintf("Regexp(%s)", check.Quote(pattern))), nil
}
