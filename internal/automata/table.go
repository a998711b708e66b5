package automata

import (
	"context"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Table is an automaton as a dense table. It has one row per state, with the next state for each
// token class. The start state is 0. A table may have states that are unreachable, equivalent to
// others, or dead, unless [Minimal] returned it. A dead state leads to no accepted sequence.
type Table struct {
	Class []int32 // class of each token; the length is the number of levels
	Width int     // number of classes
	To    []int32 // next states, states × Width; −1 if there is none
	Final []bool  // for each state, whether a sequence may end there
}

// States returns the number of states.
func (t *Table) States() int { return len(t.Final) }

// Start returns 0, the index of the start state.
func (t *Table) Start() int { return 0 }

// Levels returns the number of tokens in the table. For all other tokens, Next returns −1.
func (t *Table) Levels() int { return len(t.Class) }

// Next returns the state that follows the given state after the given token, or −1 if there is
// none.
func (t *Table) Next(state int, token int32) int {
	if uint(token) >= uint(len(t.Class)) {
		return -1
	}
	i := state*t.Width + int(t.Class[token])
	if uint(i) >= uint(len(t.To)) {
		check.Index("constraint", "state", state, len(t.Final))
	}
	return int(t.To[i])
}

// Accepting reports whether a sequence may end in the given state.
func (t *Table) Accepting(state int) bool {
	if uint(state) >= uint(len(t.Final)) {
		check.Index("constraint", "state", state, len(t.Final))
	}
	return t.Final[state]
}

// Classes returns the token classes. If levels = Levels(), the slice is shared with the table
// and must not be modified. Tokens beyond the table form one additional class.
func (t *Table) Classes(levels int) (of []int32, n int) {
	if levels == len(t.Class) {
		return t.Class, t.Width
	}
	return ClassesBy(levels, func(token int32) int32 {
		if int(token) >= len(t.Class) {
			return -1
		}
		return t.Class[token]
	})
}

// Table returns the next states and the number of classes. The slice is shared with the table and
// must not be modified.
func (t *Table) Table() (next []int32, classes int) { return t.To, t.Width }

// row returns the next states of state s by class.
func (t *Table) row(s int) []int32 { return t.To[s*t.Width : (s+1)*t.Width] }

// mergeClasses merges classes whose columns are equal and numbers classes by their first token.
// If the meter's context ends, it stops early.
func (t *Table) mergeClasses(meter *poll.Meter) {
	k := t.Width
	hash := make([]uint64, k)
	for s := range t.Final {
		if meter.Done(k) {
			return
		}
		for c, to := range t.row(s) {
			// FNV-1a over words; equality is checked below, so any mixing does.
			hash[c] = (hash[c] ^ uint64(uint32(to))) * 0x100000001b3
		}
	}
	chosen := map[uint64][]int32{} // hash → classes that stand for themselves
	newOf := make([]int32, k)
	for c := range newOf {
		newOf[c] = -1
	}
	var kept []int32
	of := make([]int32, len(t.Class))
	for token, c := range t.Class {
		if newOf[c] < 0 {
			newOf[c] = int32(len(kept))
			same := false
			for _, d := range chosen[hash[c]] {
				if meter.Done(len(t.Final)) {
					return
				}
				if t.equalColumns(int(c), int(d)) {
					newOf[c], same = newOf[d], true
					break
				}
			}
			if !same {
				chosen[hash[c]] = append(chosen[hash[c]], c)
				kept = append(kept, c)
			}
		}
		of[token] = newOf[c]
	}
	next := make([]int32, 0, len(t.Final)*len(kept))
	for s := range t.Final {
		if meter.Done(len(kept)) {
			return
		}
		for _, c := range kept {
			next = append(next, t.To[s*k+int(c)])
		}
	}
	t.Class, t.Width, t.To = of, len(kept), next
}

func (t *Table) equalColumns(c, d int) bool {
	for i := 0; i < len(t.To); i += t.Width {
		if t.To[i+c] != t.To[i+d] {
			return false
		}
	}
	return true
}

// number returns a copy of the table with its states in breadth-first order from start. If the
// meter's context ends, the copy is incomplete.
func (t *Table) number(meter *poll.Meter, start int32) *Table {
	n := len(t.Final)
	id := make([]int32, n)
	for s := range id {
		id[s] = -1
	}
	id[start] = 0
	order := make([]int32, 1, n)
	order[0] = start
	d := &Table{Class: t.Class, Width: t.Width, To: make([]int32, 0, n*t.Width), Final: make([]bool, 0, n)}
	for head := 0; head < len(order) && !meter.Done(t.Width); head++ {
		s := int(order[head])
		d.Final = append(d.Final, t.Final[s])
		for _, to := range t.row(s) {
			if to >= 0 {
				if id[to] < 0 {
					id[to] = int32(len(order))
					order = append(order, to)
				}
				to = id[to]
			}
			d.To = append(d.To, to)
		}
	}
	return d
}

// trim removes the states that cannot be reached from the start and those from which no
// accepting state can be reached. It reports whether the start state remains. If the meter's
// context ends, it removes nothing and returns false.
func (t *Table) trim(meter *poll.Meter) bool {
	n := len(t.Final)
	reached := make([]bool, n)
	queue := []int32{0}
	reached[0] = true
	into := make([]int32, n+1) // in-degrees, then offsets
	for head := 0; head < len(queue); head++ {
		if meter.Done(t.Width) {
			return false
		}
		s := int(queue[head])
		for _, to := range t.row(s) {
			if to < 0 {
				continue
			}
			into[to+1]++
			if !reached[to] {
				reached[to] = true
				queue = append(queue, to)
			}
		}
	}
	for s := range n {
		into[s+1] += into[s]
	}
	tail := make([]int32, into[n])
	fill := slices.Clone(into[:n])
	for _, s := range queue {
		if meter.Done(t.Width) {
			return false
		}
		for _, to := range t.row(int(s)) {
			if to >= 0 {
				tail[fill[to]] = s
				fill[to]++
			}
		}
	}
	live := make([]bool, n)
	stack := []int32{}
	for _, s := range queue {
		if t.Final[s] {
			live[s] = true
			stack = append(stack, s)
		}
	}
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if meter.Done(int(into[s+1] - into[s])) {
			return false
		}
		for _, p := range tail[into[s]:into[s+1]] {
			if !live[p] {
				live[p] = true
				stack = append(stack, p)
			}
		}
	}
	return live[0] && t.keep(meter, live)
}

// keep removes the states that are not live. If the meter's context ends, it removes nothing
// and returns false.
func (t *Table) keep(meter *poll.Meter, live []bool) bool {
	id := make([]int32, len(live))
	n := int32(0)
	for s, ok := range live {
		id[s] = -1
		if ok {
			id[s] = n
			n++
		}
	}
	next := make([]int32, 0, int(n)*t.Width)
	accepting := make([]bool, 0, n)
	for s, ok := range live {
		if !ok {
			continue
		}
		if meter.Done(t.Width) {
			return false
		}
		accepting = append(accepting, t.Final[s])
		for _, to := range t.row(s) {
			if to >= 0 {
				to = id[to]
			}
			next = append(next, to)
		}
	}
	t.To, t.Final = next, accepting
	return true
}

// Minimal returns the unique minimal table of the language of t, and leaves t unchanged. The result
// has no dead states. Its states are numbered in breadth-first order, and its classes by their
// first token. Minimal returns nil if the language is empty. The only possible error is the
// context's cause.
func Minimal(ctx context.Context, t *Table) (*Table, error) {
	var meter poll.Meter
	meter.Watch(ctx)
	m := *t
	if meter.Poll() != nil || !m.trim(&meter) {
		return nil, meter.Err()
	}
	var edges algebra.Edges
	n := 0
	for _, to := range m.To {
		n += int(flag(to >= 0))
	}
	if meter.Done(len(m.To)) {
		return nil, meter.Err()
	}
	edges.Grow(n)
	for s := range m.Final {
		if meter.Done(m.Width) {
			return nil, meter.Err()
		}
		for c, to := range m.row(s) {
			if to >= 0 {
				edges.Add(int32(s), int32(c), to)
			}
		}
	}
	ends := make([]int32, len(m.Final))
	for s, final := range m.Final {
		ends[s] = flag(final)
	}
	block, blocks, err := edges.Refine(ctx, ends, 2) // Myhill–Nerode
	if err != nil {
		return nil, err
	}
	merged := make([]int32, blocks*m.Width)
	final := make([]bool, blocks)
	for s, b := range block {
		if meter.Done(m.Width) {
			return nil, meter.Err()
		}
		final[b] = m.Final[s]
		for c, to := range m.row(s) {
			if to >= 0 {
				to = block[to]
			}
			merged[int(b)*m.Width+c] = to
		}
	}
	m.To, m.Final = merged, final
	m.mergeClasses(&meter)
	if meter.Err() != nil {
		return nil, meter.Err()
	}
	numbered := m.number(&meter, block[0])
	if meter.Err() != nil {
		return nil, meter.Err()
	}
	return numbered, nil
}
