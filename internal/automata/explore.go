package automata

import (
	"context"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// StateWork and NextWork are estimated costs in elementary operations, by which a [poll.Meter]
// decides when to check a context. StateWork is the cost of visiting a state, including a look-up
// by its number. NextWork is the cost of computing a transition, for slow automata such as
// user-defined ones and large products.
const (
	StateWork = 256
	NextWork  = 8
)

// blockEntries bounds the number of entries of a block of rows that are stored together, unless a
// single row has more.
const blockEntries = 1 << 16

// Explore tabulates an automaton over tokens 0…levels−1, with states numbered in breadth-first
// order. After every state, it calls check with the number of states and the number of table
// entries so far. If check returns an error, so does Explore. If ctx ends, Explore returns its
// cause. If the start state of the automaton is negative, the automaton accepts nothing, and the
// table has a single, dead state.
func Explore(ctx context.Context, a Automaton, levels int, check func(states, entries int) error) (*Table, error) {
	return explore(ctx, a, levels, math.MaxInt, check)
}

// explore is Explore, restricted to the states that sequences of at most sites tokens reach.
func explore(ctx context.Context, a Automaton, levels, sites int, check func(states, entries int) error) (*Table, error) {
	t := &Table{}
	t.Class, t.Width = Classes(a, levels)
	width := max(1, t.Width)
	var blocks [][]int32 // the rows of t.To; one growing slice would be copied many times
	err := walk(ctx, a, Representatives(t.Class, t.Width), sites, func(final bool, to []int32, states int) error {
		entries := math.MaxInt
		if states <= math.MaxInt/width {
			entries = states * t.Width
		}
		if err := check(states, entries); err != nil {
			return err
		}
		if last := len(blocks) - 1; last < 0 || cap(blocks[last])-len(blocks[last]) < len(to) {
			blocks = append(blocks, make([]int32, 0, max(1, min(states, blockEntries/width))*width))
		}
		last := &blocks[len(blocks)-1]
		t.Final, *last = append(t.Final, final), append(*last, to...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	t.To = slices.Concat(blocks...)
	return t, nil
}

// walk visits the states that sequences of at most sites tokens reach, in breadth-first order, and
// numbers them in this order. For every state it calls visit with three arguments. The argument
// final reports whether a sequence may end in the state. The slice targets holds, for each of the
// given tokens, the index of the next state, or −1 if that state is dead or beyond the last site.
// The argument states is the number of states so far. The error is that of visit or the cause of
// the context.
func walk(ctx context.Context, a Automaton, tokens []int32, sites int, visit func(final bool, targets []int32, states int) error) error {
	var meter poll.Meter
	meter.Watch(ctx)
	if meter.Poll() != nil {
		return meter.Err()
	}
	to := make([]int32, len(tokens))
	start := a.Start()
	if start < 0 {
		for c := range to {
			to[c] = -1
		}
		return visit(false, to, 1)
	}
	var number numbering
	number.of(start, 0)
	queue := []int{start}
	layer := 1 // end of the states that are met at the present depth
	for head, depth := 0, 0; head < len(queue); head++ {
		if head == layer {
			depth, layer = depth+1, len(queue)
		}
		if meter.Done(StateWork) {
			return meter.Err()
		}
		for c, token := range tokens {
			to[c] = -1
			if depth >= sites {
				continue
			}
			if meter.Done(NextWork) {
				return meter.Err()
			}
			s := a.Next(queue[head], token)
			if s < 0 {
				continue
			}
			id, fresh := number.of(s, int32(len(queue)))
			if fresh {
				queue = append(queue, s)
			}
			to[c] = id
		}
		if err := visit(a.Accepting(queue[head]), to, len(queue)); err != nil {
			return err
		}
	}
	return nil
}

// numbering numbers states. States that are not much larger than the number of states are looked up
// in a slice, the others in a map.
type numbering struct {
	small []int32 // index + 1 of each state, 0 if it has none
	large map[int]int32
}

// of returns the index of the state s. A state that has none gets the index next, the count of
// indices so far, and fresh is true.
func (n *numbering) of(s int, next int32) (id int32, fresh bool) {
	if s < len(n.small) {
		if id := n.small[s]; id > 0 {
			return id - 1, false
		}
	}
	if id, ok := n.large[s]; ok {
		return id, false
	}
	if s >= len(n.small) {
		if s >= 4*int(next)+64 {
			if n.large == nil {
				n.large = map[int]int32{}
			}
			n.large[s] = next
			return next, true
		}
		n.small = append(n.small, make([]int32, 2*(s+64)-len(n.small))...)
	}
	n.small[s] = next + 1
	return next, true
}
