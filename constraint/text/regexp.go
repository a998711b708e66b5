package text

import (
	"context"
	"errors"
	"fmt"
	"regexp/syntax"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// PatternError reports a regular expression that cannot be compiled. Unwrap returns the cause,
// for instance a *syntax.Error.
type PatternError struct {
	Pattern string // pattern as given by the caller
	Err     error  // cause
}

// Error returns a message with the pattern and the cause, each truncated if long.
func (e *PatternError) Error() string {
	return fmt.Sprintf("text: pattern %s: %s", check.Quote(e.Pattern), check.Clip(e.Err.Error()))
}

// Unwrap returns Err.
func (e *PatternError) Unwrap() error { return e.Err }

// Regexp compiles a regular expression to the minimal automaton over the tokens of a vocabulary.
// The automaton accepts the token sequences whose joined text matches the expression as a whole.
//
// The syntax is that of package regexp (RE2). The match is anchored at both ends, as if the pattern
// were \A(?:pattern)\z. Greediness and captures make no difference. ^, $, \b, \B and all flags have
// the same meaning as in package regexp. The text must be UTF-8, and a rune may be spread over
// several tokens. Text that is not valid UTF-8 is not in the language. Package regexp, in contrast,
// would read each invalid byte as U+FFFD.
//
// The program of regexp/syntax is determinised over classes of runes, minimised, expanded to bytes
// and converted to tokens by [Lift]. Use a [Cache] for patterns that are compiled repeatedly.
//
// The error is a [*PatternError] if the pattern does not parse, and wraps
// [constraint.ErrInfeasible] if no token sequence spells a match. It is a [*constraint.LimitError]
// if a limit is exceeded, an [*constraint.ArgumentError] if the vocabulary is invalid, or the
// context's cause.
func Regexp(ctx context.Context, pattern string, v Vocabulary, limits constraint.Limits) (*constraint.DFA, error) {
	p, err := prepare(v)
	if err != nil {
		return nil, err
	}
	return regexpOver(ctx, pattern, p, limits)
}

// maxPattern bounds the length of a pattern. Package regexp/syntax takes some 20 ns and 100 bytes
// for each of its bytes, and cannot be interrupted.
const maxPattern = 1 << 22

// regexpOver implements Regexp for a prepared vocabulary.
func regexpOver(ctx context.Context, pattern string, p *prepared, limits constraint.Limits) (*constraint.DFA, error) {
	const name = "Regexp"
	if len(pattern) > maxPattern {
		return nil, &constraint.LimitError{What: name + ": bytes of the pattern", Value: len(pattern), Bound: maxPattern}
	}
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, &PatternError{pattern, err}
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, &PatternError{pattern, err}
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
