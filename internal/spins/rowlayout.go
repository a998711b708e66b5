package spins

import (
	"cmp"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// RowLayout describes the sites of a [RowGraph].
type RowLayout struct {
	Start, Adj []int32        // the neighbours of each site, in compressed rows
	Against    []bool         // by entry of Adj: it is subtracted from the sum; nil: none is
	Order      []int32        // sweep order of the sites that are not fixed; nil: one that redraws many at once
	Bias       []int32        // of each site: the start value of the sum of its neighbours
	Kind       []int32        // of each site; negative: fixed, redraws leave it as it is
	Odds       []simd.RowOdds // of state 1, by kind and sum
}

const (
	// nearStep: numbers of neighbours are padded to multiples of it.
	nearStep = 4

	// eight is the number of sites in a group that is redrawn at once, see simd.RowVisit.
	eight = 8

	// A group of eight is chosen from eightChunk consecutive sites, so that sites that are
	// near each other in a large graph stay so. The search for one looks at up to
	// eightWindow sites.
	eightChunk, eightWindow = 1 << 12, 256

	// eightSpread bounds the difference between numbers of neighbours in a group: lists are
	// padded to the longest.
	eightSpread = 2 * nearStep
)

// eights returns an order of all sites that are not fixed. The first together of them form
// groups of eight: sites of one kind with about equally many neighbours of either sign, no
// two of which are neighbours.
func (l *RowLayout) eights() (order []int32, together int) {
	sites := len(l.Start) - 1
	plus, minus := make([]int32, sites), make([]int32, sites)
	list := make([]int32, 0, sites)
	for i := range plus {
		if l.Kind[i] >= 0 {
			list = append(list, int32(i))
		}
		for n := l.Start[i]; n < l.Start[i+1]; n++ {
			if l.Against != nil && l.Against[n] {
				minus[i]++
			} else {
				plus[i]++
			}
		}
	}
	slices.SortStableFunc(list, func(a, b int32) int {
		return cmp.Or(cmp.Compare(l.Kind[a], l.Kind[b]), cmp.Compare(a/eightChunk, b/eightChunk), cmp.Compare(minus[a], minus[b]), cmp.Compare(plus[a], plus[b]))
	})
	alike := func(a, b int32) bool {
		return l.Kind[a] == l.Kind[b] && max(plus[a]-plus[b], plus[b]-plus[a], minus[a]-minus[b], minus[b]-minus[a]) <= eightSpread
	}
	// A doubly linked list of the sites left. The extra last entry is its head.
	n := len(list)
	before, after := make([]int32, n+1), make([]int32, n+1)
	for at := range after {
		before[at], after[at] = int32((at+n)%(n+1)), int32((at+1)%(n+1))
	}
	var singles []int32
	excluded := make([]int32, sites) // the number of the group that a site cannot join: it has a neighbour there
	chosen := make([]int32, 0, eight)
	end := int32(n)
	for number := int32(1); after[end] != end; number++ {
		chosen = chosen[:0]
		first := list[after[end]]
		for at, seen := after[end], 0; at != end && seen < eightWindow && len(chosen) < eight; at, seen = after[at], seen+1 {
			i := list[at]
			if !alike(first, i) || excluded[i] == number {
				continue
			}
			chosen = append(chosen, at)
			for _, j := range l.Adj[l.Start[i]:l.Start[i+1]] {
				excluded[j] = number
			}
		}
		if len(chosen) < eight {
			chosen = chosen[:1]
			singles = append(singles, first)
		}
		for _, at := range chosen {
			if len(chosen) == eight {
				order = append(order, list[at])
			}
			after[before[at]], before[after[at]] = after[at], before[at]
		}
	}
	return append(order, singles...), len(order)
}
