package automata

import (
	"context"

	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// PollStates is the number of states between two looks at the context: at less
// than 1 ms per state a cancelled compilation ends within a quarter of a second.
const PollStates = 256

// PollWork is the number of elementary operations (instructions visited,
// transitions refined) between two looks at the context, some milliseconds under
// js/wasm (internal/tools/deadline).
const PollWork = 1 << 16

// Minimal returns the one minimal table of the language of t, which it leaves
// as it is: no state is dead, states are numbered in breadth-first order and
// classes by their first token. It returns nil if the language is empty. The
// error is the cause of the context.
func Minimal(ctx context.Context, t *Table) (*Table, error) {
	m := *t
	if !m.trim() {
		return nil, nil
	}
	block, blocks, err := minimise(ctx, &m)
	if err != nil {
		return nil, err
	}
	merged := make([]int32, blocks*m.Width)
	final := make([]bool, blocks)
	for s, b := range block {
		final[b] = m.Final[s]
		for c, to := range m.row(s) {
			if to >= 0 {
				to = block[to]
			}
			merged[int(b)*m.Width+c] = to
		}
	}
	m.To, m.Final = merged, final
	m.mergeClasses()
	return m.number(block[0]), nil
}

// minimise returns the block of Myhill–Nerode equivalent states that each state
// of a trimmed table belongs to, and the number of blocks.
//
// It is Hopcroft's algorithm in the form for partial automata (Valmari 2012,
// "Fast brief practical DFA minimization"): one partition of the states and one
// of the transitions refine each other, always relabelling the smaller half,
// O(m log n) for n states and m transitions. Missing transitions cost nothing.
// The error is the cause of the context.
func minimise(ctx context.Context, t *Table) (block []int32, blocks int, err error) {
	n, k := len(t.Final), t.Width
	states := newPartition(n)
	for s, ok := range t.Final {
		if ok {
			states.mark(int32(s))
		}
	}
	states.split()

	tail, label, into, incoming := t.edges(n, k)
	edges := newPartition(len(tail))
	edges.sortBy(label, k)

	// Block 0 of the states need not be a splitter: what it would split off
	// follows from the other blocks and the transition's existence, which
	// the blocks of transitions by label account for.
	splitter := 1
	work, polled := 0, 0
	for c := 0; c < edges.sets(); c++ {
		if work += len(edges.members(c)); c == 0 || work-polled > PollWork {
			polled = work
			if poll.Err(ctx) != nil {
				return nil, 0, context.Cause(ctx)
			}
		}
		for _, e := range edges.members(c) {
			states.mark(tail[e])
		}
		states.split()
		for ; splitter < states.sets(); splitter++ {
			for _, s := range states.members(splitter) {
				for _, e := range incoming[into[s]:into[s+1]] {
					edges.mark(e)
				}
			}
			edges.split()
		}
	}
	return states.set, states.sets(), nil
}

// edges lists the transitions of t and, for each state s, the transitions
// incoming[into[s]:into[s+1]] that lead to it.
func (t *Table) edges(n, k int) (tail, label, into, incoming []int32) {
	into = make([]int32, n+1)
	var head []int32
	for i, to := range t.To {
		if to >= 0 {
			tail = append(tail, int32(i/k))
			label = append(label, int32(i%k))
			head = append(head, to)
			into[to+1]++
		}
	}
	for s := range n {
		into[s+1] += into[s]
	}
	incoming = make([]int32, len(head))
	fill := append([]int32(nil), into[:n]...)
	for e, to := range head {
		incoming[fill[to]] = int32(e)
		fill[to]++
	}
	return tail, label, into, incoming
}
