package algebra

import (
	"context"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Edges holds the labelled edges of a graph with elements 0…n−1. No element has two outgoing
// edges with the same label. The zero value is empty.
type Edges struct{ tail, label, head []int32 }

// Add adds to e a labelled edge from one element to another. The label must be ≥ 0.
func (e *Edges) Add(from, label, to int32) {
	e.tail, e.label, e.head = append(e.tail, from), append(e.label, label), append(e.head, to)
}

// Grow increases the capacity of e by n edges.
func (e *Edges) Grow(n int) {
	e.tail, e.label, e.head = slices.Grow(e.tail, n), slices.Grow(e.label, n), slices.Grow(e.head, n)
}

// Refine divides the elements of a graph into blocks. It computes the coarsest partition in which
// all elements of a block have edges with the same labels to the same blocks. The partition refines
// an initial one with the given number of blocks, in which element i is in block initial[i]. In the
// result, block[i] is the index of the block that contains element i, and n is the number of
// blocks. Refine fails only if ctx ends; the error is the cause of ctx.
//
// This is Hopcroft's algorithm for partial automata (Valmari 2012, "Fast brief practical DFA
// minimization"). It takes O(m log k) steps for k elements and m edges.
func (e *Edges) Refine(ctx context.Context, initial []int32, blocks int) (block []int32, n int, err error) {
	var meter poll.Meter
	meter.Watch(ctx)
	if meter.Poll() != nil {
		return nil, 0, meter.Err()
	}
	elements, edges := newPartition(&meter, initial, blocks), newPartition(&meter, e.label, int(maxOf(e.label))+1)
	into, incoming := group(&meter, e.head, len(initial)) // edges by where they lead

	// Block 0 of the elements need not be a splitter: what it would split off
	// follows from the other blocks and the edge's existence, which the blocks of
	// edges by label account for.
	splitter := 1
	for c := 0; meter.Err() == nil && c < edges.sets(); c++ {
		marks := edges.members(c)
		if meter.Done(len(marks)) {
			return nil, 0, meter.Err()
		}
		for _, a := range marks {
			elements.mark(e.tail[a])
		}
		elements.split()
		for ; meter.Err() == nil && splitter < elements.sets(); splitter++ {
			for _, s := range elements.members(splitter) {
				if meter.Done(1 + int(into[s+1]-into[s])) {
					return nil, 0, meter.Err()
				}
				for _, a := range incoming[into[s]:into[s+1]] {
					edges.mark(a)
				}
			}
			edges.split()
		}
	}
	return elements.set, elements.sets(), meter.Err()
}

// Set is a set of labels below 256.
type Set [4]uint64

// Arcs holds arcs. An arc is an edge that is labelled by a set of labels, and stands for one edge
// for each label in its set. The zero value is empty.
type Arcs struct {
	edges  Edges // labelled by the numbers of sets
	sets   Numbering[Set]
	joined map[[2]int32]int32 // results of Join
}

// Hash returns a hash of the set.
func (s Set) Hash() uint64 {
	h := uint64(0)
	for _, x := range s {
		h = Mix(h, x)
	}
	return h
}

// Set returns the number that identifies a set of labels. A new set gets the next number.
func (a *Arcs) Set(labels Set) int32 { return a.sets.Find(labels) }

// Join returns the index of the union of two sets.
func (a *Arcs) Join(i, j int32) int32 {
	k := [2]int32{min(i, j), max(i, j)}
	n, ok := a.joined[k]
	if !ok {
		union := a.sets.Values[i]
		for w, x := range a.sets.Values[j] {
			union[w] |= x
		}
		n = a.Set(union)
		if a.joined == nil {
			a.joined = map[[2]int32]int32{}
		}
		a.joined[k] = n
	}
	return n
}

// Add adds an arc from one element to another. The argument set identifies the labels of the arc;
// it is a result of [Arcs.Set].
func (a *Arcs) Add(from, set, to int32) { a.edges.Add(from, set, to) }

// Grow increases the capacity of a by n arcs.
func (a *Arcs) Grow(n int) { a.edges.Grow(n) }

// Refine is like [Edges.Refine] for the graph with the arcs a and the edges e. Elements with arcs
// and elements with edges must be in different blocks from the beginning. The labels of arcs are
// not treated one by one. For each element, Refine collects the labels of all arcs to another
// block, and then divides once by these sets of labels. It therefore takes O(m log k) steps for k
// elements with m arcs and edges.
func (a *Arcs) Refine(ctx context.Context, e *Edges, initial []int32, blocks int) (block []int32, n int, err error) {
	var meter poll.Meter
	meter.Watch(ctx)
	if meter.Poll() != nil {
		return nil, 0, meter.Err()
	}
	elements := newPartition(&meter, initial, blocks)
	into, incoming := group(&meter, a.edges.head, len(initial))
	intoBy, incomingBy := group(&meter, e.head, len(initial))
	none := int32(-1)
	labels := slices.Repeat([]int32{none}, len(initial)) // index of the set of labels that lead to the splitter
	var tails []int32
	var edges []uint64 // label and tail of each
	for splitter := 0; meter.Err() == nil && splitter < elements.sets(); splitter++ {
		tails, edges = tails[:0], edges[:0]
		for _, s := range elements.members(splitter) {
			for _, i := range incoming[into[s]:into[s+1]] {
				t := a.edges.tail[i]
				if labels[t] == none {
					labels[t] = a.edges.label[i]
					tails = append(tails, t)
				} else {
					labels[t] = a.Join(labels[t], a.edges.label[i])
				}
			}
			for _, i := range incomingBy[intoBy[s]:intoBy[s+1]] {
				edges = append(edges, uint64(e.label[i])<<32|uint64(e.tail[i]))
			}
			if meter.Done(1 + int(into[s+1]-into[s]+intoBy[s+1]-intoBy[s])) {
				return nil, 0, meter.Err()
			}
		}
		for _, t := range tails {
			elements.mark(t)
		}
		elements.divide(labels)
		for _, t := range tails {
			labels[t] = none
		}
		slices.Sort(edges)
		for i, x := range edges {
			elements.mark(int32(uint32(x)))
			if i+1 == len(edges) || edges[i+1]>>32 != x>>32 {
				elements.split()
			}
		}
	}
	return elements.set, elements.sets(), meter.Err()
}

// Group groups the indices of a slice by their values in it, which must be less than n. The group
// of value k consists of the indices
//
//	list[from[k]:from[k+1]],
//
// in ascending order. Indices with a negative value are omitted.
func Group(values []int32, n int) (from, list []int32) { return group(nil, values, n) }

// group implements Group with a meter. If the meter's context ends, the results are incomplete.
func group(meter *poll.Meter, key []int32, keys int) (from, list []int32) {
	from = make([]int32, keys+1)
	if meter.Done(2 * len(key)) {
		return from, nil
	}
	for _, k := range key {
		if k >= 0 {
			from[k+1]++
		}
	}
	for k := range keys {
		from[k+1] += from[k]
	}
	if meter.Done(2 * len(key)) {
		return from, nil
	}
	list = make([]int32, from[keys])
	fill := slices.Clone(from)
	for i, k := range key {
		if k >= 0 {
			list[fill[k]] = int32(i)
			fill[k]++
		}
	}
	return from, list
}

func maxOf(x []int32) int32 {
	most := int32(-1)
	for _, v := range x {
		most = max(most, v)
	}
	return most
}

// partition divides elements into sets. An algorithm marks elements and then calls split, which
// separates the marked from the unmarked elements of each set.
type partition struct {
	elem        []int32 // elements, ordered by set
	place       []int32 // position of each element: elem[place[e]] = e
	set         []int32 // set of each element
	first, past []int32 // set s is elem[first[s]:past[s]]
	marked      []int32 // number of marked elements in each set; they come first in the set
	touched     []int32 // sets with marked elements
	meter       *poll.Meter
}

// newPartition returns a partition with one set for each key in 0…keys−1 that occurs. If the
// meter's context ends, the partition is incomplete and must not be used.
func newPartition(meter *poll.Meter, key []int32, keys int) *partition {
	p := &partition{place: make([]int32, len(key)), set: make([]int32, len(key)), meter: meter}
	var from []int32
	if from, p.elem = group(meter, key, keys); meter.Err() != nil {
		return p
	}
	for i, e := range p.elem {
		p.place[e] = int32(i)
	}
	for k := range keys {
		if from[k] == from[k+1] {
			continue
		}
		if meter.Done(int(from[k+1] - from[k])) {
			return p
		}
		for _, e := range p.elem[from[k]:from[k+1]] {
			p.set[e] = int32(len(p.first))
		}
		p.first, p.past, p.marked = append(p.first, from[k]), append(p.past, from[k+1]), append(p.marked, 0)
	}
	return p
}

func (p *partition) sets() int { return len(p.first) }

func (p *partition) members(s int) []int32 { return p.elem[p.first[s]:p.past[s]] }

// mark marks the element e, which must not be marked yet.
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

// split makes a new set of the smaller part of every set with marked elements, and clears all
// marks. If the meter's context ends, it stops early.
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
		moved := p.members(int(fresh))
		if p.meter.Done(len(moved)) {
			return
		}
		for _, e := range moved {
			p.set[e] = fresh
		}
	}
	p.touched = p.touched[:0]
}

// divide divides every set with marked elements into the unmarked elements and the marked elements
// of each value. The largest part keeps the index of the set. All marks are cleared. If the
// meter's context ends, it stops early.
func (p *partition) divide(value []int32) {
	var ends []int32
	for _, s := range p.touched {
		from, cut, past := p.first[s], p.first[s]+p.marked[s], p.past[s]
		p.marked[s] = 0
		marked := p.elem[from:cut]
		if p.meter.Done(2 * len(marked)) {
			return
		}
		if slices.ContainsFunc(marked, func(e int32) bool { return value[e] != value[marked[0]] }) {
			slices.SortFunc(marked, func(a, b int32) int { return int(value[a] - value[b]) })
			for i, e := range marked {
				p.place[e] = from + int32(i)
			}
		}
		ends = ends[:0]
		for i := 1; i < len(marked); i++ {
			if value[marked[i]] != value[marked[i-1]] {
				ends = append(ends, from+int32(i))
			}
		}
		if ends = append(ends, cut); cut < past {
			ends = append(ends, past)
		}
		p.first[s], p.past[s] = from, ends[0]
		for i, end := range ends[1:] {
			begin := ends[i]
			fresh := int32(len(p.first))
			p.first, p.past, p.marked = append(p.first, begin), append(p.past, end), append(p.marked, 0)
			if end-begin > p.past[s]-p.first[s] { // the parts change places
				p.first[s], p.first[fresh] = begin, p.first[s]
				p.past[s], p.past[fresh] = end, p.past[s]
			}
			for _, e := range p.members(int(fresh)) {
				p.set[e] = fresh
			}
		}
	}
	p.touched = p.touched[:0]
}
