package constraint

import "context"

// minimise returns the block of Myhill–Nerode equivalent states that each state
// of a trimmed table belongs to, and the number of blocks.
//
// It is Hopcroft's algorithm in the form for partial automata (Valmari 2012,
// "Fast brief practical DFA minimization"): one partition of the states and one
// of the transitions refine each other, always relabelling the smaller half,
// O(m log n) for n states and m transitions. Missing transitions cost nothing.
// The error is the cause of the context.
func minimise(ctx context.Context, t *table) (block []int32, blocks int, err error) {
	n, k := len(t.accepting), t.classes
	states := newPartition(n)
	for s, ok := range t.accepting {
		if ok {
			states.mark(int32(s))
		}
	}
	states.split()

	tail, label, into, incoming := t.edges(n, k)
	edges := newPartition(len(tail))
	edges.sortBy(label, k)

	// Block 0 of the states needs no turn as a splitter: what it would split
	// off follows from the other blocks and the transition's existence, which
	// the blocks of transitions by label account for.
	turn := 1
	work, polled := 0, 0
	for c := 0; c < edges.sets(); c++ {
		if work += len(edges.members(c)); c == 0 || work-polled > pollWork {
			polled = work
			if ctx.Err() != nil {
				return nil, 0, context.Cause(ctx)
			}
		}
		for _, e := range edges.members(c) {
			states.mark(tail[e])
		}
		states.split()
		for ; turn < states.sets(); turn++ {
			for _, s := range states.members(turn) {
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
func (t *table) edges(n, k int) (tail, label, into, incoming []int32) {
	into = make([]int32, n+1)
	var head []int32
	for i, to := range t.next {
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

// partition divides 0…n−1 into sets; marking elements and then splitting
// separates the marked from the unmarked elements of each set.
type partition struct {
	elem        []int32 // elements, set by set
	place       []int32 // elem[place[e]] = e
	set         []int32 // set of each element
	first, past []int32 // set s is elem[first[s]:past[s]]
	marked      []int32 // the first marked[s] of them are marked
	touched     []int32 // sets with marks
}

func newPartition(n int) *partition {
	p := &partition{elem: make([]int32, n), place: make([]int32, n), set: make([]int32, n)}
	for i := range n {
		p.elem[i], p.place[i] = int32(i), int32(i)
	}
	if n > 0 {
		p.first, p.past, p.marked = []int32{0}, []int32{int32(n)}, []int32{0}
	}
	return p
}

func (p *partition) sets() int { return len(p.first) }

func (p *partition) members(s int) []int32 { return p.elem[p.first[s]:p.past[s]] }

// mark marks an element that has no mark yet.
func (p *partition) mark(e int32) {
	s := p.set[e]
	i, j := p.place[e], p.first[s]+p.marked[s]
	other := p.elem[j]
	p.elem[i], p.place[other] = other, i
	p.elem[j], p.place[e] = e, j
	if p.marked[s] == 0 {
		p.touched = append(p.touched, s)
	}
	p.marked[s]++
}

// split makes the smaller part of every set with marks a set of its own and
// clears all marks.
func (p *partition) split() {
	for _, s := range p.touched {
		cut := p.first[s] + p.marked[s]
		p.marked[s] = 0
		if cut == p.past[s] {
			continue
		}
		fresh := int32(len(p.first))
		if cut-p.first[s] <= p.past[s]-cut {
			p.first, p.past = append(p.first, p.first[s]), append(p.past, cut)
			p.first[s] = cut
		} else {
			p.first, p.past = append(p.first, cut), append(p.past, p.past[s])
			p.past[s] = cut
		}
		p.marked = append(p.marked, 0)
		for _, e := range p.members(int(fresh)) {
			p.set[e] = fresh
		}
	}
	p.touched = p.touched[:0]
}

// sortBy makes one set of the elements of each key < keys that occurs.
func (p *partition) sortBy(key []int32, keys int) {
	start := make([]int32, keys+1)
	for _, k := range key {
		start[k+1]++
	}
	for k := range keys {
		start[k+1] += start[k]
	}
	fill := append([]int32(nil), start[:keys]...)
	for e, k := range key {
		p.elem[fill[k]], p.place[e] = int32(e), fill[k]
		fill[k]++
	}
	p.first, p.past, p.marked = nil, nil, nil
	for k := range keys {
		if start[k] == start[k+1] {
			continue
		}
		for _, e := range p.elem[start[k]:start[k+1]] {
			p.set[e] = int32(len(p.first))
		}
		p.first, p.past, p.marked = append(p.first, start[k]), append(p.past, start[k+1]), append(p.marked, 0)
	}
}
