package constraint

import "github.com/gibbsite-go/gibbsite/internal/automata"

// wordAt is the automaton of [WordAt] for n > 0, which counts words from the beginning. State
// 2k is the gap after k words, for k < n. State 2k+1 is the word after that gap, for k < n−1.
// The remaining states are "found", numbered 2n−1, and then the states of the lexicon, which
// track the n-th word.
type wordAt struct {
	words *Lexicon
	n     int
	gap   []bool // whether each token is a separator
}

// WordAt returns the language of the sequences whose n-th word is one of the given words. A word is
// a maximal run of tokens that are not separators. The first word has n = 1, and the last word has
// n = −1. A sequence with fewer than |n| words is not in the language. To give words and separators
// as text, use text.WordAt.
//
// The error is an [*ArgumentError] if n = 0, or if a word is empty or contains a separator or a
// negative token. It wraps [ErrInfeasible] if there are no words. It is a [*LimitError] if n < −16.
func WordAt(words [][]int32, n int, separators []int32) (Automaton, error) {
	if n == 0 {
		return nil, &ArgumentError{"WordAt", "n", 0, "≠ 0: 1 is the first word, −1 the last"}
	}
	if n < -maxFromEnd {
		return nil, &LimitError{"WordAt: −n", -n, maxFromEnd}
	}
	w := wordAt{words: &Lexicon{}, n: n}
	for _, t := range separators {
		if t < 0 || t >= maxToken {
			return nil, &ArgumentError{"WordAt", "a separator", t, "0 … 2²⁴−1"}
		}
		for int(t) >= len(w.gap) {
			w.gap = append(w.gap, false)
		}
		w.gap[t] = true
	}
	for _, word := range words {
		if len(word) == 0 {
			return nil, &ArgumentError{"WordAt", "len of a word", 0, "≥ 1"}
		}
		for _, t := range word {
			if t < 0 || t >= maxToken || w.separates(t) {
				return nil, &ArgumentError{"WordAt", "a token of a word", t, "0 … 2²⁴−1 and no separator"}
			}
		}
		w.words.Add(word)
	}
	if len(words) == 0 {
		return nil, infeasible("WordAt: no words")
	}
	if n < 0 {
		return wordFromEnd{w, -n}, nil
	}
	if _, ok := times(n, 2); !ok {
		return nil, tooMany("WordAt", n, 2)
	}
	return w, nil
}

// maxFromEnd bounds the position of a word counted from the end. The automaton distinguishes up
// to 2¹⁶ histories.
const maxFromEnd = 16

func (w wordAt) separates(t int32) bool { return uint(t) < uint(len(w.gap)) && w.gap[t] }

// before returns the state of the gap before the n-th word.
func (w wordAt) before() int { return 2 * (w.n - 1) }

func (w wordAt) found() int  { return w.before() + 1 }
func (w wordAt) inside() int { return w.before() + 2 }

func (w wordAt) States() int { return w.inside() + len(w.words.node) }
func (w wordAt) Start() int  { return 0 }

func (w wordAt) Next(state int, token int32) int {
	gap := w.separates(token)
	switch {
	case state == w.found():
		return state
	case state < w.before():
		if (state%2 == 0) == gap {
			return state // still in the gap, or still in the word
		}
		return state + 1
	case state == w.before():
		if gap {
			return state
		}
		return w.enter(0, token)
	case gap:
		if w.words.Accepting(state - w.inside()) {
			return w.found()
		}
		return -1
	}
	return w.enter(state-w.inside(), token)
}

// enter returns the state after token inside the n-th word, where s is the current state of the
// lexicon.
func (w wordAt) enter(s int, token int32) int {
	if s = w.words.Next(s, token); s < 0 {
		return -1
	}
	return w.inside() + s
}

func (w wordAt) Accepting(state int) bool {
	return state == w.found() || state >= w.inside() && w.words.Accepting(state-w.inside())
}

// Classes puts all separators into one class. Other tokens are distinguished only if they occur
// in one of the words.
func (w wordAt) Classes(levels int) (of []int32, n int) {
	used, _ := w.words.Classes(levels)
	return automata.ClassesBy(levels, func(t int32) [2]int32 {
		if w.separates(t) {
			return [2]int32{1, 0}
		}
		return [2]int32{0, used[t]}
	})
}

// wordFromEnd is the automaton of [WordAt] for n < 0, which counts words from the end. Its
// state is place·2^back + history. Bit i of history is set if the completed word i+1 words back
// is one of the given words. place is 0 in a gap, 1 in a word that cannot match any more, and
// 2+s in a word at state s of the lexicon.
type wordFromEnd struct {
	wordAt
	back int // −n, the position of the word counted from the end
}

func (w wordFromEnd) States() int { return (2 + len(w.words.node)) << w.back }
func (w wordFromEnd) Start() int  { return 0 }

func (w wordFromEnd) Next(state int, token int32) int {
	place, history := state>>w.back, state&(1<<w.back-1)
	if w.separates(token) {
		if place > 0 {
			history = w.push(place, history)
		}
		return history
	}
	s := 0
	switch place {
	case 1:
		return state
	case 0:
	default:
		s = place - 2
	}
	return (w.words.Next(s, token)+2)<<w.back | history
}

// push returns the history after the word that ends at place.
func (w wordFromEnd) push(place, history int) int {
	history = history << 1 & (1<<w.back - 1)
	if place >= 2 && w.words.Accepting(place-2) {
		history |= 1
	}
	return history
}

func (w wordFromEnd) Accepting(state int) bool {
	place, history := state>>w.back, state&(1<<w.back-1)
	if place > 0 {
		history = w.push(place, history)
	}
	return history>>(w.back-1) == 1
}
