package constraint

import (
	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// matcher finds words of tokens in a sequence. It is the automaton of Aho and Corasick
// (1975), whose state is the longest suffix of the sequence that begins a word.
type matcher struct {
	of      []int32 // class of each token that occurs in a word; 0 for others
	classes int
	next    []int32  // nodes × classes, never −1
	found   []uint32 // bit i mod 32: word i ends at the node; 0 for most
	until   bool     // accept once a word has been found (ContainsAny), or as long as none has (Avoids)
}

// ContainsAny returns the language of the sequences in which at least one of the words
// occurs as consecutive tokens. Words may overlap and contain each other. Without words,
// the language is empty. The error is an [*ArgumentError] for an empty word, and a
// [*LimitError] if the table needs more than 2²⁶ entries (nodes × distinct tokens). Time
// and memory are O(nodes·distinct tokens).
func ContainsAny(words ...[]int32) (Automaton, error) {
	return newMatcher("ContainsAny", words, true)
}

// Avoids returns the language of the sequences in which none of the words occurs. It is the
// complement of [ContainsAny] and has the same errors.
func Avoids(words ...[]int32) (Automaton, error) { return newMatcher("Avoids", words, false) }

// String returns the name of the function that builds the language, for errors.
func (w *matcher) String() string {
	if w.until {
		return "ContainsAny"
	}
	return "Avoids"
}

// newMatcher builds the automaton.
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

// maxEntries bounds the table, to 256 MiB.
const maxEntries = 1 << 26

// maxToken bounds the tokens of words, since they index a table. It is far above every
// vocabulary.
const maxToken = 1 << 24

// buildTrie builds the trie of the words; missing edges are −1.
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

// link replaces missing edges by those of the longest proper suffix and
// collects the words that end there, in breadth-first order.
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

// States returns the number of nodes, and one for "found".
func (w *matcher) States() int { return len(w.found) + 1 }

// Start returns the empty suffix.
func (w *matcher) Start() int { return 0 }

// Next returns the longest suffix after token. Once a word is found, Avoids is
// dead and ContainsAny stays in its last state.
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

// step follows the suffix automaton.
func (w *matcher) step(node, token int32) int32 {
	c := int32(0)
	if uint(token) < uint(len(w.of)) {
		c = w.of[token]
	}
	return w.next[int(node)*w.classes+int(c)]
}

// Accepting reports whether a word was found, or none.
func (w *matcher) Accepting(state int) bool { return (state == len(w.found)) == w.until }

// Classes distinguishes the tokens of the words.
func (w *matcher) Classes(levels int) (of []int32, n int) {
	return automata.ClassesBy(levels, func(t int32) int32 {
		if int(t) < len(w.of) {
			return w.of[t]
		}
		return 0
	})
}

// contains remembers the suffix and which words have occurred:
// state = node·2^count + set.
type contains struct {
	*matcher
	count int // of words
}

// maxWords bounds the words of Contains, whose states multiply by two with
// each: 2²⁰ sets.
const maxWords = 20

// Contains returns the language of the sequences in which every one of the words occurs as
// consecutive tokens; words may overlap. Without words, it is the language of all
// sequences. The error is a [*LimitError] for more than 20 words, since a state records the
// set of words seen; other errors are those of [ContainsAny].
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
