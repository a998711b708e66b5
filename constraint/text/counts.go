package text

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// WordCount compiles the language of the token sequences whose text has a number of words in the
// given range. A word is a maximal run of runes that are not in the string separators. Words can be
// divided into tokens in any way. The language contains only UTF-8 text.
//
// The error is an [*constraint.ArgumentError] for a negative Max or separators that are not UTF-8.
// It wraps [constraint.ErrInfeasible] if Min > Max or no tokens spell such a text. Other errors are
// the same as for [Lift].
func WordCount(ctx context.Context, v Vocabulary, limits constraint.Limits, words Range, separators string) (*constraint.DFA, error) {
	const name = "WordCount"
	c, k, err := separated(name, limits, words, separators)
	if err != nil {
		return nil, err
	}
	return k.compile(ctx, name, fmt.Sprintf("WordCount(%v, %s)", words, check.Quote(separators)), wordCount{c}, v, limits)
}

// Characters compiles the language of the token sequences whose text has a number of runes in the
// given range. The language contains only UTF-8 text. Errors are the same as for [WordCount].
func Characters(ctx context.Context, v Vocabulary, limits constraint.Limits, runes Range) (*constraint.DFA, error) {
	const name = "Characters"
	c, err := runes.counter(name, limits)
	if err != nil {
		return nil, err
	}
	return newKinds().compile(ctx, name, fmt.Sprintf("Characters(%v)", runes), characters{c}, v, limits)
}

// Sentences compiles the language of the token sequences whose text consists of complete sentences.
// The number of sentences must be in the given range. A sentence begins with a rune that is not
// white space. It ends with one or more terminators (the runes of ends, such as ".!?"), before
// white space or the end of the text. Closing quotes and brackets may stand in between. For
// example, "Dr. No." counts as two sentences. The language contains only UTF-8 text.
//
// The error is an [*constraint.ArgumentError] if there are no terminators or a terminator is white
// space. Other errors are the same as for [WordCount].
func Sentences(ctx context.Context, v Vocabulary, limits constraint.Limits, sentences Range, ends string) (*constraint.DFA, error) {
	const name = "Sentences"
	c, err := sentences.counter(name, limits)
	if err == nil {
		err = valid(name, "ends", ends)
	}
	if err == nil && (ends == "" || strings.IndexFunc(ends, unicode.IsSpace) >= 0) {
		err = &constraint.ArgumentError{Func: name, Arg: "ends", Value: check.Quote(ends), Want: "runes that are no white space"}
	}
	if err != nil {
		return nil, err
	}
	k := newKinds()
	k.one(whiteSpace())
	k.one(closing)
	k.one(ends)
	return k.compile(ctx, name, fmt.Sprintf("Sentences(%v, %s)", sentences, check.Quote(ends)), sentenceCount{c}, v, limits)
}

// closing lists the quotes and brackets that may follow the end of a sentence.
const closing = "\"'’”»›)]}"

// whiteSpace returns all runes with Unicode's property White_Space.
func whiteSpace() string {
	var all []rune
	for _, in := range unicode.White_Space.R16 {
		for r := rune(in.Lo); r <= rune(in.Hi); r += rune(in.Stride) {
			all = append(all, r)
		}
	}
	return string(all)
}

// characters is an automaton that counts runes. Its state is the count.
type characters struct{ counter }

func (c characters) States() int                    { return c.states() }
func (c characters) Start() int                     { return 0 }
func (c characters) Next(state int, kind int32) int { return c.next(state) }
func (c characters) Accepting(state int) bool       { return c.enough(state) }

// wordCount is an automaton that counts words. It reads kind 1 for a separator and kind 0 for
// any other rune. Its state is twice the number of words that have begun, plus 1 within a word.
type wordCount struct{ counter }

func (c wordCount) States() int { return 2 * c.states() }
func (c wordCount) Start() int  { return 0 }

func (c wordCount) Next(state int, kind int32) int {
	n, inside := state/2, state%2 == 1
	switch {
	case kind == 1:
		return 2 * n
	case inside:
		return state
	}
	if n = c.next(n); n < 0 {
		return -1
	}
	return 2*n + 1
}

func (c wordCount) Accepting(state int) bool { return c.enough(state / 2) }

// sentenceCount is an automaton that counts sentences. It reads kind 1 for white space, 2 for a
// closing quote or bracket, 3 for a rune that ends a sentence, and 0 for any other rune. Its
// state is three times the number of sentences that have begun, plus one of the constants
// below.
type sentenceCount struct{ counter }

const (
	between = iota // between two sentences
	within         // within a sentence
	// after a rune that ends the sentence if white space or the end of the text follows
	ending
)

func (c sentenceCount) States() int { return 3 * c.states() }
func (c sentenceCount) Start() int  { return between }

func (c sentenceCount) Next(state int, kind int32) int {
	n, at := state/3, state%3
	if at == between {
		if kind == 1 {
			return state
		}
		if n = c.next(n); n < 0 {
			return -1
		}
		at = within
	}
	switch {
	case kind == 3 || at == ending && kind == 2:
		at = ending
	case at == ending && kind == 1:
		at = between
	default:
		at = within
	}
	return 3*n + at
}

func (c sentenceCount) Accepting(state int) bool { return state%3 != within && c.enough(state/3) }
