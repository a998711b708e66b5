package text

import (
	"context"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// mostPairs bounds the number of pairs in the functions of liftOnce plus the size of the table
// of their successors. It limits their memory to 64 MiB.
const mostPairs = 1 << 23

// liftOnce builds the table over tokens from the functions between byte states that tokens
// compute. It returns nil if these functions have more than most pairs (state, state) in total.
func liftOnce(ctx context.Context, name string, bytes *constraint.DFA, vocabulary *trie, tokens int, padding []int32, limits constraint.Limits, most int) (*automata.Table, error) {
	next, classes := bytes.Table()
	of, _ := bytes.Classes(256)
	f := newFunctions(next, classes, of, bytes.States())
	token, ok, err := f.walk(ctx, vocabulary, tokens, most)
	if !ok || err != nil {
		return nil, err
	}
	l := &liftedStates{bytes: bytes, number: make([]int32, bytes.States()+1), padded: -1}
	l.arcs(f, token)
	for s := range l.number {
		l.number[s] = -1
	}
	if err := l.reach(ctx, name, len(padding) > 0, limits); err != nil {
		return nil, err
	}
	return l.table(name, f, token, padding, limits)
}

// walk returns the index of the function that each token computes, none for a token without a
// text. ok is false if the functions have more than most pairs.
func (f *functions) walk(ctx context.Context, t *trie, tokens, most int) (token []int32, ok bool, err error) {
	token = make([]int32, tokens)
	for i := range token {
		token[i] = none
	}
	stack := make([]int32, t.longest+1)
	var meter poll.Meter
	meter.Watch(ctx)
	known := 0
	for i := 0; i < len(t.symbol); {
		d := t.depth[i]
		before := stack[d-1]
		id := f.after(before, t.symbol[i])
		if meter.Done(1 + int(f.first[before+1]-f.first[before])) {
			return nil, false, meter.Err()
		}
		if f.len() > known {
			if known = f.len(); len(f.from)+len(f.child) > most {
				return nil, false, nil
			}
		}
		if id == none {
			i = int(t.end[i])
			continue
		}
		stack[d] = id
		for _, at := range t.token[t.from[i]:t.to[i]] {
			token[at] = id
		}
		i++
	}
	return token, true, nil
}

// liftedStates lists the byte states that token sequences can reach, in breadth-first order.
type liftedStates struct {
	bytes  *constraint.DFA
	number []int32 // number of each byte state, none if it is not reached
	queue  []int32
	padded int32 // number of the state after padding, −1 if there is no padding

	// The byte states to which tokens lead from state s are to[first[s]:first[s+1]].
	first, to []int32
}

// arcs fills first and to. token holds the function of each token.
func (l *liftedStates) arcs(f *functions, token []int32) {
	used := make([]bool, f.len())
	for _, id := range token {
		if id != none {
			used[id] = true
		}
	}
	l.first = make([]int32, l.bytes.States()+1)
	for round := range 2 {
		for id, ok := range used {
			for i := f.first[id]; ok && i < f.first[id+1]; i++ {
				if s := f.from[i]; round == 0 {
					l.first[s]++
				} else {
					l.first[s]--
					l.to[l.first[s]] = f.to[i]
				}
			}
		}
		if round == 0 {
			for s := range l.bytes.States() {
				l.first[s+1] += l.first[s]
			}
			l.to = make([]int32, l.first[l.bytes.States()])
		}
	}
}

// reach fills the queue with the byte states that can be reached.
func (l *liftedStates) reach(ctx context.Context, name string, padding bool, limits constraint.Limits) error {
	l.queue = append(l.queue, 0)
	l.number[0] = 0
	accepts := false
	var meter poll.Meter
	meter.Watch(ctx)
	for head := 0; head < len(l.queue); head++ {
		s := l.queue[head]
		if meter.Done(automata.StateWork + int(l.first[s+1]-l.first[s])) {
			return meter.Err()
		}
		accepts = accepts || l.bytes.Accepting(int(s))
		for _, to := range l.to[l.first[s]:l.first[s+1]] {
			if l.number[to] < 0 {
				l.number[to] = int32(len(l.queue))
				l.queue = append(l.queue, to)
			}
		}
		if err := limits.Check(name, len(l.queue), 0, 0); err != nil {
			return err
		}
	}
	if padding && accepts {
		l.padded = int32(len(l.queue))
		return limits.Check(name, len(l.queue)+1, 0, 0)
	}
	return nil
}

// table returns the table over classes of tokens, with one row for each state in the queue.
func (l *liftedStates) table(name string, f *functions, token, padding []int32, limits constraint.Limits) (*automata.Table, error) {
	// Functions that agree on the states that are reached are one class.
	var columns lists
	class := make([]int32, f.len())
	for id := range class {
		class[id] = unknown
	}
	t := &automata.Table{Class: make([]int32, len(token))}
	dead := false
	for at, id := range token {
		if id != none && class[id] == unknown {
			for i := f.first[id]; i < f.first[id+1]; i++ {
				if s := l.number[f.from[i]]; s >= 0 {
					columns.put(s, l.number[f.to[i]])
				}
			}
			class[id] = columns.intern()
		}
		if id != none {
			id = class[id]
		}
		t.Class[at] = id
		dead = dead || id == none
	}
	pad := int32(columns.len())
	t.Width = columns.len()
	if len(padding) > 0 {
		t.Width++
		for _, at := range padding {
			t.Class[at] = pad
		}
	}
	for at, id := range t.Class {
		if id == none {
			t.Class[at] = int32(t.Width)
		}
	}
	if dead { // perhaps of padding alone: a class without tokens does no harm
		t.Width++
	}
	rows := len(l.queue)
	if l.padded >= 0 {
		rows++
	}
	entries := math.MaxInt
	if t.Width <= entries/rows {
		entries = rows * t.Width
	}
	if err := limits.Check(name, rows, entries, 8*len(f.from)); err != nil {
		return nil, err
	}
	t.To = make([]int32, rows*t.Width)
	for i := range t.To {
		t.To[i] = -1
	}
	t.Final = make([]bool, rows)
	for id := range columns.len() {
		for i := columns.first[id]; i < columns.first[id+1]; i++ {
			t.To[int(columns.from[i])*t.Width+id] = columns.to[i]
		}
	}
	for row, s := range l.queue {
		if t.Final[row] = l.bytes.Accepting(int(s)); t.Final[row] && l.padded >= 0 {
			t.To[row*t.Width+int(pad)] = l.padded
		}
	}
	if l.padded >= 0 {
		t.Final[l.padded] = true
		t.To[int(l.padded)*t.Width+int(pad)] = l.padded
	}
	return t, nil
}
