package constraint

import (
	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// matcher is the automaton of Aho and Corasick (1975), which finds given words of tokens in a
// sequence. Its state is the longest suffix of the sequence that is a prefix of a word.
type matcher struct {
	of      []int32 // class of each token that occurs in a word; 0 for all other tokens
	classes int
	next    []int32  // transition table, nodes × classes; no entry is −1
	found   []uint32 // set of the words that end at each node: bit i mod 32 is for word i
	// true: accept once a word has been found (ContainsAny); false: accept as long as none has
	// (Avoids)
	until bool
}

// ContainsAny returns the language of the sequences in which at least one of the words occurs as
// consecutive tokens. Words may overlap and contain each other. Without words, the language is
// empty.
//
// The transition table has a row for each node of the trie of the words. A row has an entry for
// each token that occurs in the words, and one for all other tokens. Time and memory are
// proportional to the size of the table. The error is a [*LimitError] for more than 2²⁶ entries,
// counted as if no words shared a prefix. It is an [*ArgumentError] if a word is empty or a token
// is not in 0 … 2²⁴−1.
func ContainsAny(words ...[]int32) (Automaton, error) {
	return newMatcher("ContainsAny", words, true)
}

// Avoids returns the language of the sequences in which none of the words occurs. It is the
// complement of [ContainsAny] and has the same errors.
func Avoids(words ...[]int32) (Automaton, error) { return newMatcher("Avoids", words, false) }

// String returns the name of the function that built the language, for error messages.
func (w *matcher) String() string {
	if w.until {
		return "ContainsAny"
	}
	return "Avoids"
}

// newMatcher builds the automaton for the given words. name is the exported function that
// errors mention.
func newMatcher(name string, words [][]int32, until bool) (*matcher, error) {
	w := &matcher{until: until, classes: 1}
	nodes := 1
	for _, word := range words {
		if len(word) == 0 {
			return nil, &ArgumentError{name, "len of a word", 0, "≥ 1"}
		}
		for _, t := range word {
			if t < 0 || int(t) >= maxToken {
				return nil, &ArgumentError{name, "a token", t, "0 … 2²⁴−1"}
			}
			for int(t) >= len(w.of) {
				w.of = append(w.of, 0)
			}
			if w.of[t] == 0 {
				w.of[t] = int32(w.classes)
				w.classes++
			}
		}
		nodes += len(word)
		if nodes > maxEntries/w.classes {
			return nil, &LimitError{name + ": table entries", nodes * w.classes, maxEntries}
		}
	}
	w.buildTrie(words, nodes)
	w.link()
	return w, nil
}

// maxEntries bounds the number of entries of the transition table, which limits it to 256 MiB.
const maxEntries = 1 << 26

// maxToken bounds the tokens of words, because a table is indexed by token. The bound is far
// above the size of every vocabulary.
const maxToken = 1 << 24

// buildTrie builds the trie of the words. Missing edges are −1.
func (w *matcher) buildTrie(words [][]int32, nodes int) {
	w.next = make([]int32, 0, nodes*w.classes)
	node := func() int32 {
		for range w.classes {
			w.next = append(w.next, -1)
		}
		w.found = append(w.found, 0)
		return int32(len(w.found) - 1)
	}
	node()
	for i, word := range words {
		s := int32(0)
		for _, t := range word {
			edge := int(s)*w.classes + int(w.of[t])
			if w.next[edge] < 0 {
				to := node()
				w.next[edge] = to
			}
			s = w.next[edge]
		}
		w.found[s] |= 1 << (i % 32)
	}
}

// link replaces each missing edge of a node by the edge of the node's longest proper suffix. It
// also adds the words that end at that suffix to those of the node. Nodes are visited in
// breadth-first order.
func (w *matcher) link() {
	suffix := make([]int32, len(w.found))
	queue := []int32{0}
	for head := 0; head < len(queue); head++ {
		s := queue[head]
		if s != 0 {
			w.found[s] |= w.found[suffix[s]]
		}
		for c := range w.classes {
			shorter := int32(0)
			if s != 0 {
				shorter = w.next[int(suffix[s])*w.classes+c]
			}
			edge := int(s)*w.classes + c
			if to := w.next[edge]; to >= 0 {
				suffix[to] = shorter
				queue = append(queue, to)
			} else {
				w.next[edge] = shorter
			}
		}
	}
}

// States returns the number of nodes in the trie of the words, plus 1. The additional state is for
// sequences in which a word has been found.
func (w *matcher) States() int { return len(w.found) + 1 }

// Start returns 0, the state before the first token.
func (w *matcher) Start() int { return 0 }

// Next returns the state after token is read in the given state. A state stands for the longest
// suffix of the sequence read so far that is a prefix of a word. Once a word is found, Next returns
// −1 (dead) for the language of [Avoids], and the last state for the language of [ContainsAny].
func (w *matcher) Next(state int, token int32) int {
	if state == len(w.found) {
		return state
	}
	if uint(state) >= uint(len(w.found)) {
		check.Index("constraint", "state", state, len(w.found)+1)
	}
	to := int(w.step(int32(state), token))
	switch {
	case w.found[to] == 0:
		return to
	case w.until:
		return len(w.found)
	}
	return -1
}

// step returns the node that token leads to from node, without regard to the words found.
func (w *matcher) step(node, token int32) int32 {
	c := int32(0)
	if uint(token) < uint(len(w.of)) {
		c = w.of[token]
	}
	return w.next[int(node)*w.classes+int(c)]
}

// Accepting reports whether the sequence may end. For ContainsAny, a word must have been found; for
// Avoids, none.
func (w *matcher) Accepting(state int) bool { return (state == len(w.found)) == w.until }

// Classes puts every token that occurs in a word into a class by itself, and all other tokens
// into one class.
func (w *matcher) Classes(levels int) (of []int32, n int) {
	return automata.ClassesBy(levels, func(t int32) int32 {
		if int(t) < len(w.of) {
			return w.of[t]
		}
		return 0
	})
}

// contains is a matcher that also tracks which words have occurred. Its state is node·2^count +
// set, where bit i of set means that word i has occurred.
type contains struct {
	*matcher
	count int // number of words
}

// maxWords bounds the number of words of Contains. Each word doubles the number of states, so
// there are at most 2²⁰ sets of words.
const maxWords = 20

// Contains returns the language of the sequences in which every one of the words occurs as
// consecutive tokens; words may overlap. Without words, it is the language of all sequences. The
// error is a [*LimitError] for more than 20 words, because each state records which of the words
// have occurred. Other errors are the same as for [ContainsAny].
func Contains(words ...[]int32) (Automaton, error) {
	if len(words) > maxWords {
		return nil, &LimitError{"Contains: words", len(words), maxWords}
	}
	w, err := newMatcher("Contains", words, true)
	if err != nil {
		return nil, err
	}
	if _, ok := times(len(w.found), 1<<len(words)); !ok {
		return nil, tooMany("Contains", len(w.found), 1<<len(words))
	}
	return contains{w, len(words)}, nil
}

func (c contains) States() int { return len(c.found) << c.count }
func (c contains) Start() int  { return 0 }

func (c contains) Next(state int, token int32) int {
	all := 1<<c.count - 1
	set := state & all
	if set == all {
		return state // nothing more can happen
	}
	check.Index("constraint", "state", state, len(c.found)<<c.count)
	to := c.step(int32(state>>c.count), token)
	set |= int(c.found[to])
	if set == all {
		to = 0
	}
	return int(to)<<c.count | set
}

func (c contains) Accepting(state int) bool { return state&(1<<c.count-1) == 1<<c.count-1 }
