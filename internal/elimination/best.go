package elimination

import (
	"context"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/heap"
)

// Best returns the k most probable states x of the late variables, most probable first, and their
// energies e. Late variables are those eliminated last (see [Options]); if none is late, all
// variables count as late. The energy of such a state is −log Σ exp(−E). Here E is the sum of the
// tables' entries, and Σ runs over the levels of all other variables. Best returns fewer than k
// states if fewer have a finite energy. The states are rows of the slice x, with one entry for each
// variable. Entries of variables that are not late are 0.
//
// A backward pass chooses the first state, one variable after another. Every level that is not
// chosen is an alternative. For the next state, Best takes the alternative with the least energy
// and repeats the rest of the pass (Flerova, Marinescu and Dechter 2016).
func (r *Run) Best(ctx context.Context, tables [][]float64, k int) (x []int32, e []float64, err error) {
	best, err := r.start(ctx, tables, maximal, true)
	if err != nil {
		return nil, nil, err
	}
	r.meter.Watch(ctx)
	defer r.meter.Unwatch()
	n := len(r.p.cards)
	var queue []branch
	next := branch{from: -1, at: n}
	var w []float64
	var index [][]int32
	for {
		row := make([]int32, n)
		if next.from >= 0 {
			copy(row, x[next.from*n:(next.from+1)*n])
			row[r.p.order[next.at]] = next.level
		}
		for s := len(r.p.cuts) - 2; s >= 0; s-- {
			if r.p.cuts[s] >= next.at {
				continue
			}
			if err := r.segment(s); err != nil {
				return nil, nil, err
			}
			for at := min(r.p.cuts[s+1], next.at) - 1; at >= r.p.cuts[s]; at-- {
				b := &r.p.buckets[at]
				if r.p.summed(b.v) {
					continue
				}
				card := int(r.p.cards[b.v])
				if r.meter.Done(card * (len(b.ops) + 1)) {
					return nil, nil, r.meter.Poll()
				}
				if _, _, err := r.operands(b, false); err != nil {
					return nil, nil, err
				}
				for len(index) < len(b.ops) {
					index = append(index, make([]int32, 1))
				}
				for i := range b.ops {
					r.places(index[i], &b.ops[i], row)
				}
				w = slices.Grow(w[:0], card)[:card]
				r.conditional(w, index, 0)
				r.drop(b)
				level := 0
				for l, v := range w {
					if v > w[level] {
						level = l
					}
				}
				row[b.v] = int32(level)
				for l, v := range w {
					if l != level && k > 1 && !math.IsInf(v, -1) {
						queue = heap.Push(queue, branch{next.regret + (w[level] - v), len(e), at, int32(l)}, branch.before)
					}
				}
			}
		}
		x, e = append(x, row...), append(e, next.regret-best)
		if len(e) == k || len(queue) == 0 {
			return x, e, nil
		}
		queue, next = heap.Pop(queue, branch.before)
	}
}

// branch is a candidate state that departs from an earlier state at one variable.
type branch struct {
	regret float64 // energy above that of the best state
	from   int     // index of the earlier state from which the branch departs
	// bucket at which it takes another level; it agrees with the earlier state in later buckets
	at    int
	level int32
}

func (b branch) before(c branch) bool {
	if b.regret != c.regret {
		return b.regret < c.regret
	}
	if b.from != c.from {
		return b.from < c.from
	}
	return b.at > c.at || b.at == c.at && b.level < c.level
}
