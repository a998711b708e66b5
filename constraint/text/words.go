package text

import (
	"context"
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Contains compiles the language of the token sequences whose text contains every one of the
// strings, however the text is divided into tokens. Errors are the same as for
// [constraint.Contains] and [Lift].
func Contains(ctx context.Context, v Vocabulary, limits constraint.Limits, words ...string) (*constraint.DFA, error) {
	a, err := constraint.Contains(bytesOf(words)...)
	if err != nil {
		return nil, err
	}
	return Lift(ctx, a, v, limits)
}

// Avoids compiles the language of the token sequences whose text contains none of the strings,
// however the text is divided into tokens. Errors are the same as for [constraint.Avoids] and
// [Lift].
func Avoids(ctx context.Context, v Vocabulary, limits constraint.Limits, words ...string) (*constraint.DFA, error) {
	a, err := constraint.Avoids(bytesOf(words)...)
	if err != nil {
		return nil, err
	}
	return Lift(ctx, a, v, limits)
}

// WordAt compiles the language of the token sequences whose n-th word is one of the given words.
// The first word has n = 1, and the last word has n = −1. A word is a maximal run of bytes that are
// not in the string separators. The text may be divided into tokens in any way. Errors are the same
// as for [constraint.WordAt] and [Lift].
func WordAt(ctx context.Context, v Vocabulary, limits constraint.Limits, n int, separators string, words ...string) (*constraint.DFA, error) {
	a, err := constraint.WordAt(bytesOf(words), n, bytesOf([]string{separators})[0])
	if err != nil {
		return nil, err
	}
	return Lift(ctx, a, v, limits)
}

// bytesOf returns every word as a sequence of its bytes.
func bytesOf(words []string) [][]int32 {
	out := make([][]int32, len(words))
	for i, s := range words {
		out[i] = make([]int32, len(s))
		for j := range len(s) {
			out[i][j] = int32(s[j])
		}
	}
	return out
}

// Words compiles the language of the token sequences whose text consists only of separators and of
// words in the list. A word is a maximal run of runes that are not in the string separators. Words
// can be divided into tokens in any way. A text without words is in the language; to require words,
// intersect it with [WordCount].
//
// The error is an [*constraint.ArgumentError] in these cases:
//
//   - the list is empty;
//   - a word is empty or contains a separator;
//   - an argument is not UTF-8.
//
// The error wraps [constraint.ErrInfeasible] if no tokens spell such a text. Other errors are those
// of [Lift].
func Words(ctx context.Context, v Vocabulary, limits constraint.Limits, separators string, list ...string) (*constraint.DFA, error) {
	const name = "Words"
	if err := valid(name, "separators", separators); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, &constraint.ArgumentError{Func: name, Arg: "len(list)", Value: 0, Want: "≥ 1"}
	}
	k := newKinds()
	gap := k.one(separators)
	w := wordList{new(constraint.Lexicon)}
	var meter poll.Meter
	meter.Watch(ctx)
	for i, s := range list {
		if meter.Done(automata.StateWork * (1 + len(s))) {
			return nil, fmt.Errorf("text: %s: %w", name, meter.Err())
		}
		arg := fmt.Sprintf("list[%d]", i)
		if err := valid(name, arg, s); err != nil {
			return nil, err
		}
		word := k.each(s)
		if len(word) == 0 || slices.Contains(word, gap) {
			return nil, &constraint.ArgumentError{Func: name, Arg: arg, Value: check.Quote(s), Want: "a word without separators"}
		}
		w.words.Add(word)
	}
	return k.compile(ctx, name, fmt.Sprintf("Words(%s, %d words)", check.Quote(separators), w.words.Len()), w, v, limits)
}

// wordList is an automaton for texts whose words are all in a lexicon. It reads kind 1 for a
// separator and kinds from 2 on for the runes of the words. Its state is 0 between words, and
// otherwise one more than the state of the lexicon.
type wordList struct{ words *constraint.Lexicon }

func (w wordList) States() int { return w.words.States() + 1 }
func (w wordList) Start() int  { return 0 }

func (w wordList) Next(state int, kind int32) int {
	if kind == 1 {
		if !w.Accepting(state) {
			return -1
		}
		return 0
	}
	if state > 0 {
		state--
	}
	if state = w.words.Next(state, kind); state < 0 {
		return -1
	}
	return state + 1
}

func (w wordList) Accepting(state int) bool { return state == 0 || w.words.Accepting(state-1) }

// WordLengths compiles the language of the token sequences whose text contains only words of
// lengths in the given range. The length of a word is its number of runes. A word is a maximal run
// of runes that are not in the string separators. A word may be divided into tokens in any way.
// Errors are the same as for [WordCount].
func WordLengths(ctx context.Context, v Vocabulary, limits constraint.Limits, runes Range, separators string) (*constraint.DFA, error) {
	const name = "WordLengths"
	c, k, err := separated(name, limits, runes, separators)
	if err != nil {
		return nil, err
	}
	c.least = max(c.least, 1) // no word is empty, and the first rune has a state of its own
	return k.compile(ctx, name, fmt.Sprintf("WordLengths(%v, %s)", runes, check.Quote(separators)), wordLengths{c}, v, limits)
}

// wordLengths is an automaton that bounds the lengths of words. It reads kind 1 for a separator
// and kind 0 for any other rune. Its state is the number of runes of the current word, 0
// between words.
type wordLengths struct{ counter }

func (w wordLengths) States() int { return w.states() }
func (w wordLengths) Start() int  { return 0 }

func (w wordLengths) Next(state int, kind int32) int {
	switch {
	case kind != 1:
		return w.next(state)
	case !w.Accepting(state):
		return -1
	}
	return 0
}

func (w wordLengths) Accepting(state int) bool { return state == 0 || w.enough(state) }
