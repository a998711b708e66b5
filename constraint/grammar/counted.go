package grammar

import (
	"math"
	"slices"
	"sync"

	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// letters holds the moves of a string of any length. Those of a string of restricted length are the
// same at every number of characters.
type letters struct {
	a     *stringAutomaton
	rows  [][]int32 // by state and class of bytes: twice the next state, plus 1 if a character begins; −1 if dead
	moves [][]int32 // by state, the distinct moves of rows
}

// row returns the moves of state q, by class of bytes.
func (s *letters) row(q int32) []int32 {
	for int(q) >= len(s.rows) {
		s.rows, s.moves = append(s.rows, nil), append(s.moves, nil)
	}
	if s.rows[q] != nil {
		return s.rows[q]
	}
	row := make([]int32, len(s.a.byteClasses().some))
	s.a.fill(row, q)
	var moves []int32
	from, last, m := s.a.states[q].at, int32(-1), int32(-1)
	for i, to := range row {
		if to != last {
			if last, m = to, to; to >= 0 {
				at := s.a.states[to].at
				begins := from == plain && (at == plain || at == trailing) || (from == escaped || from == hex) && at == plain
				if m = to<<1 | int32(bit(begins)); !slices.Contains(moves, m) {
					moves = append(moves, m)
				}
			}
		}
		row[i] = m
	}
	s.rows[q], s.moves[q] = row, moves
	return row
}

// anyLetters returns the moves of all strings, which are never changed.
var anyLetters = sync.OnceValue(func() *letters {
	s := &letters{a: newString(stringSpec{most: -1})}
	for q := int32(0); int(q) < len(s.a.states); q++ {
		s.row(q)
	}
	return s
})

// counted is an automaton for the strings of a stringAutomaton. Its states are pairs of a state of
// letters and a number of characters, so that all numbers share the moves.
type counted struct {
	*letters
	least, most int32
	states      []countedState
	slots       []int32 // 1 + the states by hash, 0 where there is none
}

type countedState struct{ at, count int32 }

// countedOf returns an automaton for the strings that a accepts.
func countedOf(a *stringAutomaton) *counted {
	c := &counted{least: int32(a.least), most: int32(a.most), slots: make([]int32, 64)}
	if len(a.tests) == 0 && !a.low && !a.canonical {
		c.letters = anyLetters()
	} else {
		spec := a.stringSpec
		spec.least, spec.most = 0, -1
		c.letters = &letters{a: newString(spec)}
	}
	c.find(countedState{})
	return c
}

func (c *counted) start() int32 { return 0 }

func (c *counted) final(q int32) bool { return c.a.states[c.states[q].at].at == closed }

func (c *counted) next(q int32, b byte) int32 {
	s := c.states[q]
	return c.to(s, c.row(s.at)[c.a.byteClasses().of[b]])
}

// to returns the state after the move m of letters, −1 if it is dead.
func (c *counted) to(s countedState, m int32) int32 {
	if s, ok := c.after(s, m); ok {
		return c.find(s)
	}
	return -1
}

// after returns the state after the move m of letters. It returns false if there is none.
func (c *counted) after(s countedState, m int32) (countedState, bool) {
	if m < 0 {
		return s, false
	}
	switch s.at = m >> 1; {
	case m&1 > 0 && c.most < 0:
		s.count = min(s.count+1, c.least)
	case m&1 > 0:
		s.count++
		return s, s.count <= c.most
	default:
		switch c.a.states[s.at].at {
		case closed:
			ok := s.count >= c.least
			s.count = 0
			return s, ok
		case escaped:
			return s, s.count != c.most
		}
	}
	return s, true
}

func (c *counted) find(s countedState) int32 {
	if 2*len(c.states) >= len(c.slots) {
		c.slots = make([]int32, 4*len(c.slots))
		for q, s := range c.states {
			c.slots[c.slot(s)] = int32(q) + 1
		}
	}
	i := c.slot(s)
	if c.slots[i] == 0 {
		c.states = append(c.states, s)
		c.slots[i] = int32(len(c.states))
	}
	return c.slots[i] - 1
}

// slot returns the index in slots of the state s, or where it belongs.
func (c *counted) slot(s countedState) int {
	h := (uint64(s.at)<<32 | uint64(s.count)) * 0x9E3779B97F4A7C15
	for i := int(h>>32) & (len(c.slots) - 1); ; i = (i + 1) & (len(c.slots) - 1) {
		if q := c.slots[i]; q == 0 || c.states[q-1] == s {
			return i
		}
	}
}

// reaches returns the number of states in which a text that begins in state q does not end. It visits each
// of them, except for those of numbers of characters that have the same states, and returns a larger
// number than most, which may be too low, once it has visited more. It returns 0 once the context of the
// meter has ended.
func (c *counted) reaches(q int32, most int, m *poll.Meter) int {
	list, next := []int32{c.states[q].at}, []int32(nil) // states with count characters, and with one more
	var seen, ahead []int32                             // 1 + the last count with which each state was found
	mark := func(list, seen []int32, s countedState) ([]int32, []int32) {
		for int(s.at) >= len(seen) {
			seen = append(seen, 0)
		}
		if seen[s.at] > s.count {
			return list, seen
		}
		seen[s.at] = s.count + 1
		return append(list, s.at), seen
	}
	_, seen = mark(nil, seen, c.states[q])
	end := c.least // the last count
	if c.most >= 0 {
		end = c.most
	}
	visited, skipped := int64(0), int64(0)
	for count := c.states[q].count; count <= end && len(list) > 0; count++ {
		begun := len(list)
		for i := 0; i < len(list); i++ {
			if m.Done(64 + 8*len(c.row(list[i]))) {
				return 0
			}
			for _, m := range c.moves[list[i]] {
				if s, ok := c.after(countedState{list[i], count}, m); !ok || c.a.states[s.at].at == closed {
					continue
				} else if s.count == count {
					list, seen = mark(list, seen, s)
				} else {
					next, ahead = mark(next, ahead, s)
				}
			}
			if n := visited + int64(len(list)+len(next)); n > int64(most) {
				return int(min(n+skipped, math.MaxInt))
			}
		}
		visited += int64(len(list))
		if count+1 < end && slices.Equal(next, list[:begun]) { // every count before the last one has these states
			skipped = int64(len(list)) * int64(end-1-count)
			for _, at := range next {
				ahead[at] = end + 1
			}
			count = end - 1
		}
		list, next = next, list[:0]
		seen, ahead = ahead, seen
	}
	return int(min(visited+skipped, math.MaxInt))
}
