package novelty

import (
	"cmp"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/heap"
	"github.com/gibbsite-go/gibbsite/internal/lead"
)

// ranked enumerates all sequences in ascending order of cost, without a language. A sequence
// consists of one token from each row, and its cost is the sum of the tokens' costs.
//
// Sites are sorted by the gap between their two cheapest tokens. A pick is a choice of a rank for
// each site. All ranks after the site in its field at are 0. Its successors
//
//   - take the next rank at its site,
//   - take rank 1 at the next site,
//   - if its rank is 1, go back to 0 and take rank 1 at the next site,
//
// reach every pick exactly once. They never cost less than the pick itself, because the gaps
// ascend. The k-th sequence therefore takes O(log k) steps, after O(sites·levels) steps for the
// costs. The partition of Lawler (1972) for general problems would push one successor per site.
type ranked struct {
	rows []*lead.Row // row of each site
	site []int       // sites ordered by gap; only those with a second token
	base float64     // cost of the cheapest sequence

	heap  []pick
	ranks []int32 // ranks of all picks, in runs of len(site)
	free  []int32 // unused runs
}

// pick is a candidate sequence.
type pick struct {
	cost float64 // cost in excess of the cheapest sequence
	at   int32   // index in site of the last site with a rank above 0, −1 if there is none
	run  int32   // index of its run in the slice ranks
}

// before orders picks by cost and then by run, so that the order is the same in every
// execution.
func (p pick) before(o pick) bool {
	return p.cost < o.cost || p.cost == o.cost && p.run < o.run
}

// start begins with the cheapest sequence of the loaded rows, each of which must have a token
// of finite cost.
func (e *ranked) start(all []*lead.Row) {
	e.rows = all
	e.site = e.site[:0]
	e.base = 0
	for i, r := range all {
		_, c, _ := r.At(0)
		e.base += c
		if _, _, ok := r.At(1); ok {
			e.site = append(e.site, i)
		}
	}
	slices.SortFunc(e.site, func(i, j int) int {
		if c := cmp.Compare(e.step(i, 1), e.step(j, 1)); c != 0 {
			return c
		}
		return cmp.Compare(i, j)
	})
	e.heap, e.ranks, e.free = e.heap[:0], e.ranks[:0], e.free[:0]
	e.heap = append(e.heap, pick{at: -1, run: e.newRun()})
}

// step returns the cost of rank n at site i, minus the cost of rank n−1 there.
func (e *ranked) step(i int, n int) float64 {
	_, c, _ := e.rows[i].At(n)
	return c - e.rows[i].Cost(n-1)
}

// newRun returns an unused run of ranks, all 0.
func (e *ranked) newRun() int32 {
	if n := len(e.free); n > 0 {
		run := e.free[n-1]
		e.free = e.free[:n-1]
		clear(e.run(run))
		return run
	}
	n := len(e.site)
	run := int32(0)
	if n > 0 {
		run = int32(len(e.ranks) / n)
	}
	e.ranks = slices.Grow(e.ranks, n)[:len(e.ranks)+n]
	clear(e.run(run))
	return run
}

func (e *ranked) run(i int32) []int32 {
	n := len(e.site)
	return e.ranks[int(i)*n : (int(i)+1)*n]
}

// next stores in x the next sequence and returns the cost of that sequence. The result ok is false
// if there are no more sequences.
func (e *ranked) next(x []int32) (cost float64, ok bool) {
	if len(e.heap) == 0 {
		return 0, false
	}
	var p pick
	e.heap, p = heap.Pop(e.heap, pick.before)
	for i, r := range e.rows {
		x[i] = r.Token(0)
	}
	for j, rank := range e.run(p.run) {
		x[e.site[j]] = e.rows[e.site[j]].Token(int(rank))
	}
	e.pushSuccessors(p)
	return e.base + p.cost, true
}

// pushSuccessors pushes the successors of p and frees the run of p.
func (e *ranked) pushSuccessors(p pick) {
	if up := int(p.at) + 1; up < len(e.site) {
		step := e.step(e.site[up], 1)
		e.push(p, up, 1, p.cost+step, -1)
		if p.at >= 0 && e.run(p.run)[p.at] == 1 {
			e.push(p, up, 1, p.cost-e.step(e.site[p.at], 1)+step, int(p.at))
		}
	}
	if p.at >= 0 {
		i := e.site[p.at]
		rank := int(e.run(p.run)[p.at]) + 1
		if _, _, ok := e.rows[i].At(rank); ok {
			e.push(p, int(p.at), int32(rank), p.cost+e.step(i, rank), -1)
		}
	}
	e.free = append(e.free, p.run)
}

// push pushes a copy of p with another rank at the site with index at. If back ≥ 0, the copy also
// has rank 0 at the site with index back.
func (e *ranked) push(p pick, at int, rank int32, cost float64, back int) {
	run := e.newRun()
	copy(e.run(run), e.run(p.run))
	e.run(run)[at] = rank
	if back >= 0 {
		e.run(run)[back] = 0
	}
	e.heap = heap.Push(e.heap, pick{cost: max(cost, p.cost), at: int32(at), run: run}, pick.before)
}
