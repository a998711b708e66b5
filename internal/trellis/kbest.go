package trellis

import (
	"iter"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/heap"
)

// Ascending yields the accepted sequences of finite cost with their costs, in ascending order. The
// cost of a sequence x is Σ_i cost[i,x_i], as in [Runner.Cheapest]. The order of sequences of equal
// cost is the same in every run. The next iteration overwrites the yielded slice. Do not change
// cost during the iteration. Errors are the same as for Cheapest.
//
// Sequences are found by recursive enumeration (Jiménez and Marzal 1999). After the first one, each
// takes O(sites) memory and O(sites·log h) time, where h is the size of the largest heap.
func (r *Runner) Ascending(cost []float64) (iter.Seq2[[]int32, float64], error) {
	r.g.checkTable("cost", len(cost))
	return ascending(r, cost, 1)
}

// Descending yields the accepted sequences of positive weight with their log-weights, in descending
// order of weight. The log-weight of a sequence x is Σ_i v[i,x_i], as in [Runner.MAP].
func (r *Runner) Descending(v []float32) (iter.Seq2[[]int32, float64], error) {
	r.g.checkTable("v", len(v))
	return ascending(r, v, -1)
}

// ascending yields the sequences in ascending order of the costs sign·v. With each sequence, it
// yields its cost multiplied by sign.
func ascending[W float32 | float64](r *Runner, v []W, sign float64) (iter.Seq2[[]int32, float64], error) {
	if err := costs(r, v, sign, nil); err != nil {
		return nil, err
	}
	// The enumeration outlives the next use of r.
	own := bestState{slices.Clone(r.best.cost), slices.Clone(r.best.arg), slices.Clone(r.best.value)}
	return func(yield func([]int32, float64) bool) {
		e := &enumeration[W]{
			g: r.g, sumAt: r.sumAt, best: own, v: v, sign: sign,
			nodes:   make([]suffixes, len(own.value)),
			classes: make([]ranking, len(own.cost)),
		}
		x := make([]int32, r.g.sites)
		for k := int32(0); e.has(0, 0, k); k++ {
			if !yield(x, 0+float64(sign*e.read(x, k))) { // never −0
				return
			}
		}
	}, nil
}

// enumeration is the state of one iteration over the sequences by cost.
type enumeration[W float32 | float64] struct {
	g       *Graph
	sumAt   []int
	best    bestState
	v       []W
	sign    float64
	nodes   []suffixes // suffixes of each node
	classes []ranking  // ranking of tokens by site and column
}

// suffixes holds the suffixes of one node that have been found so far.
type suffixes struct {
	found   []suffix // suffixes found, in increasing order of cost
	heap    []suffix // candidates for the next suffix; they include each successor of a found suffix
	started bool
	pushed  int // number of found suffixes whose successors are in the heap
}

// suffix is a path from a node to the end. It takes the rank-th cheapest token on edge e and
// then the k-th cheapest suffix of the node to which e leads.
type suffix struct {
	cost          float64
	e, rank, k    int32
	token, target int32
}

// before orders suffixes by cost, then by token and then by k, so that the order is the same in
// every run.
func (s suffix) before(o suffix) bool {
	switch {
	case s.cost != o.cost:
		return s.cost < o.cost
	case s.token != o.token:
		return s.token < o.token
	}
	return s.k < o.k
}

// has reports whether node q of site t has a k-th suffix, counting from 0. It computes that
// suffix if necessary. The suffixes before it must have been found.
func (e *enumeration[W]) has(t int, q, k int32) bool {
	if t == e.g.sites {
		return k == 0
	}
	n := &e.nodes[e.g.offset[t]+int(q)]
	if !n.started {
		n.started = true
		l := e.g.layers[t]
		for i := l.row[q]; i < l.row[q+1]; i++ {
			e.push(t, n, suffix{e: i})
		}
	}
	for len(n.found) <= int(k) {
		for ; n.pushed < len(n.found); n.pushed++ {
			s := n.found[n.pushed]
			next := s
			next.k++
			if e.has(t+1, s.target, next.k) {
				e.push(t, n, next)
			}
			if s.k == 0 {
				next = s
				next.rank++
				e.push(t, n, next)
			}
		}
		if len(n.heap) == 0 {
			return false
		}
		var s suffix
		n.heap, s = heap.Pop(n.heap, suffix.before)
		n.found = append(n.found, s)
	}
	return true
}

// push completes a candidate for a node of site t and adds it to the heap. If there is no such
// token, or if its cost is infinite, push does nothing.
func (e *enumeration[W]) push(t int, n *suffixes, s suffix) {
	l := e.g.layers[t]
	s.target = l.to[s.e]
	cost, token, ok := e.token(t, l.col[s.e], s.rank)
	if !ok {
		return
	}
	s.token = token
	s.cost = cost + e.cost(t+1, s.target, s.k)
	if !math.IsInf(s.cost, 1) {
		n.heap = heap.Push(n.heap, s, suffix.before)
	}
}

// cost returns the cost of the k-th suffix of node q at site t. Unless k is 0, that suffix must
// have been found.
func (e *enumeration[W]) cost(t int, q, k int32) float64 {
	i := e.g.offset[t] + int(q)
	if k == 0 {
		return e.best.value[i]
	}
	return e.nodes[i].found[k].cost
}

// read stores in x the sequence with index k and returns the cost of the sequence.
func (e *enumeration[W]) read(x []int32, k int32) float64 {
	q, cost := int32(0), 0.0
	for t := range x {
		e.has(t, q, k) // the first suffix of a node may not be listed yet
		s := e.nodes[e.g.offset[t]+int(q)].found[k]
		if t == 0 {
			cost = s.cost
		}
		x[t], q, k = s.token, s.target, s.k
	}
	return cost
}

// ranking is the order of the tokens of one class at one site by cost.
type ranking struct {
	found []int32
	heap  []int32
	ready bool
}

// token returns the cost and the number of the rank-th cheapest token of column c at site t. All
// lower ranks must have been requested. The result ok is false if there is no such token.
func (e *enumeration[W]) token(t int, c, rank int32) (cost float64, token int32, ok bool) {
	i := e.sumAt[t] + int(c)
	if rank == 0 {
		return e.best.cost[i], e.best.arg[i], e.best.arg[i] != none
	}
	l := e.g.layers[t]
	row := e.v[t*e.g.levels : (t+1)*e.g.levels]
	before := func(a, b int32) bool {
		ca, cb := e.sign*float64(row[a]), e.sign*float64(row[b])
		return ca < cb || ca == cb && a < b
	}
	n := &e.classes[i]
	if !n.ready {
		n.ready = true
		n.heap = append(n.heap, l.class(int(c))...)
		for j := len(n.heap)/2 - 1; j >= 0; j-- {
			heap.Down(n.heap, j, before)
		}
	}
	for len(n.found) <= int(rank) {
		if len(n.heap) == 0 {
			return 0, none, false
		}
		var v int32
		n.heap, v = heap.Pop(n.heap, before)
		n.found = append(n.found, v)
	}
	token = n.found[rank]
	return e.sign * float64(row[token]), token, true
}
