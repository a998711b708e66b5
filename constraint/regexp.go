package constraint

import (
	"context"
	"errors"
	"regexp/syntax"
)

// Regexp compiles a regular expression over a vocabulary of multi-byte tokens
// to the minimal automaton of the token sequences whose joined text matches as
// a whole.
//
// The syntax is that of package regexp (RE2). The match is anchored at both
// ends, as if the pattern were \A(?:pattern)\z: greediness and captures make no
// difference, and ^, $, \b, \B and all flags mean what they mean there. The
// text is UTF-8: a rune may be spread over several tokens, and text that is not
// valid UTF-8 is not in the language (package regexp would read each bad byte
// as U+FFFD).
//
// The program of regexp/syntax is determinised over classes of runes,
// minimised, expanded to bytes and lifted to tokens as by [Lift].
//
// The error is a [*PatternError] if the pattern does not parse, wraps
// [ErrInfeasible] if no token sequence spells a match, is a [*LimitError] if a
// limit is hit, an [*ArgumentError] if the vocabulary is not in order, or the
// cause of the context.
func Regexp(ctx context.Context, pattern string, v Vocabulary, limits Limits) (*DFA, error) {
	const name = "Regexp"
	text, err := v.spelling()
	if err != nil {
		return nil, err
	}
	filled, err := limits.filled(name)
	if err != nil {
		return nil, err
	}
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, &PatternError{pattern, err}
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, &PatternError{pattern, err}
	}
	runes := newRuneClasses(prog)
	t, err := determinise(ctx, name, prog, runes, filled)
	if err != nil {
		return nil, err
	}
	overRunes, err := finish(ctx, name, t)
	if errors.Is(err, ErrInfeasible) {
		return nil, infeasible("Regexp: nothing matches %q", pattern)
	}
	if err != nil {
		return nil, err
	}
	spelled := newSpelled(overRunes, runes)
	for t, ok := range text {
		if ok {
			spelled.use(v.Tokens[t])
		}
	}
	t, err = explore(ctx, name, spelled, 256, filled)
	if err != nil {
		return nil, err
	}
	bytes, err := finish(ctx, name, t)
	if err == nil {
		bytes, err = lift(ctx, name, bytes, v, text, filled)
	}
	if errors.Is(err, ErrInfeasible) {
		return nil, infeasible("Regexp: no token sequence spells a match of %q", pattern)
	}
	return bytes, err
}
