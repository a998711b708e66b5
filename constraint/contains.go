package constraint

import "github.com/gibbsite-go/gibbsite/internal/check"

// contains remembers the suffix and which words have occurred:
// state = node·2^count + set.
type contains struct {
	*matcher
	count int // of words
}

// maxWords bounds the words of Contains, whose states multiply by two with
// each: 2²⁰ sets.
const maxWords = 20

// Contains returns the language of the sequences in which every one of the words occurs
// as consecutive tokens; words may overlap. Without words it is the language of all
// sequences. More than 20 words are a [*LimitError], since the state is the set of words
// seen; the other errors are those of [ContainsAny].
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
