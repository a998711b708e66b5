package grammar

import (
	"math"
	"slices"
	"sync"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// anyString reads all strings. Its rows are known, so nothing changes it.
var anyString = sync.OnceValue(func() *stringAutomaton {
	a := newString(stringSpec{most: -1})
	for q := int32(0); int(q) < len(a.states); q++ {
		a.row(q)
	}
	return a
})

// counted is an automaton for the strings of a stringAutomaton. Its states are pairs of a state of an
// automaton for the same strings of any length and a number of characters, so that all numbers share the
// moves.
type counted struct {
	a           *stringAutomaton // for strings of any length
	least, most int32
	algebra.Numbering[countedState]
}

type countedState struct{ at, count int32 }

// countedOf returns an automaton for the strings that a accepts.
func countedOf(a *stringAutomaton) *counted {
	c := &counted{least: int32(a.least), most: int32(a.most)}
	if len(a.tests) == 0 && !a.low && !a.canonical {
		c.a = anyString()
	} else {
		spec := a.stringSpec
		spec.least, spec.most = 0, -1
		c.a = newString(spec)
	}
	c.Find(countedState{})
	return c
}

func (c *counted) start() int32 { return 0 }

func (c *counted) final(q int32) bool { return c.a.states[c.Values[q].at].at == closed }

func (c *counted) next(q int32, b byte) int32 {
	s := c.Values[q]
	shape, moves := c.a.row(s.at)
	return c.to(s, moves[c.a.shapes.Slots(shape)[c.a.byteClasses().of[b]]])
}

// to returns the state that follows s if c.a moves to its state at, −1 if there is none.
func (c *counted) to(s countedState, at int32) int32 {
	if s, ok := c.after(s, at); ok {
		return c.Find(s)
	}
	return -1
}

// after returns what follows s when c.a leads to the state to. It returns false if nothing does.
func (c *counted) after(s countedState, to int32) (countedState, bool) {
	if to < 0 {
		return s, false
	}
	from, at := c.a.states[s.at].at, c.a.states[to].at
	s.at = to
	switch begins := from == plain && (at == plain || at == trailing) || (from == escaped || from == hex) && at == plain; {
	case begins && c.most < 0:
		s.count = min(s.count+1, c.least)
	case begins:
		s.count++
		return s, s.count <= c.most
	case at == closed:
		ok := s.count >= c.least
		s.count = 0
		return s, ok
	case at == escaped:
		return s, s.count != c.most
	}
	return s, true
}

// Hash returns a hash of the state.
func (s countedState) Hash() uint64 {
	return (uint64(s.at)<<32 | uint64(s.count)) * algebra.Golden
}

// reaches returns the number of states in which a text that begins in state q does not end. It visits each
// of them, except for those of numbers of characters that have the same states, and returns a larger
// number than most, which may be too low, once it has visited more. It returns 0 once the context of the
// meter has ended.
func (c *counted) reaches(q int32, most int, m *poll.Meter) int {
	list, next := []int32{c.Values[q].at}, []int32(nil) // states with count characters, and with one more
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
	_, seen = mark(nil, seen, c.Values[q])
	end := c.least // the last count
	if c.most >= 0 {
		end = c.most
	}
	visited, skipped := int64(0), int64(0)
	for count := c.Values[q].count; count <= end && len(list) > 0; count++ {
		begun := len(list)
		for i := 0; i < len(list); i++ {
			if m.Done(64 + 8*len(c.a.byteClasses().some)) {
				return 0
			}
			_, moves := c.a.row(list[i])
			for _, to := range moves {
				if s, ok := c.after(countedState{list[i], count}, to); !ok || c.a.states[s.at].at == closed {
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
