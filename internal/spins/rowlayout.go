package spins

import (
	"cmp"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// RowLayout says what a [RowGraph] is made from.
type RowLayout struct {
	Start, Adj []int32        // the neighbours of each site, in compressed rows
	Against    []bool         // of each entry of Adj: it is taken away from the sum; nil: of none
	Order      []int32        // of a sweep of those that are not fixed; nil: one in which many sites are redrawn at once
	Bias       []int32        // of each site: what the sum of its neighbours begins with
	Kind       []int32        // of each site; negative: redraws leave it as it is
	Odds       []simd.RowOdds // of each kind, by the sum
}

const (
	// nearStep is what numbers of neighbours are filled up to multiples of.
	nearStep = 4

	// octet is the number of sites that simd.RowVisit says of.
	octet = 8

	// octetChunk are the sites that an octet is chosen from, so that sites which are near
	// each other in a large graph stay so; octetWindow are those looked at for each.
	octetChunk, octetWindow = 1 << 12, 256

	// octetSpread is by how much numbers of neighbours may differ in an octet: lists are
	// filled up to the longest.
	octetSpread = 2 * nearStep
)

// octets returns an order of all sites that are not fixed, in which the first so many come in octets: eight
// sites of a kind and of about as many neighbours of either sign, none of which is a
// neighbour of another.
func (l *RowLayout) octets() (order []int32, together int) {
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
		return cmp.Or(cmp.Compare(l.Kind[a], l.Kind[b]), cmp.Compare(a/octetChunk, b/octetChunk), cmp.Compare(minus[a], minus[b]), cmp.Compare(plus[a], plus[b]))
	})
	alike := func(a, b int32) bool {
		return l.Kind[a] == l.Kind[b] && max(plus[a]-plus[b], plus[b]-plus[a], minus[a]-minus[b], minus[b]-minus[a]) <= octetSpread
	}
	// What is left of the list: before and after have one place more, which is its ends.
	n := len(list)
	before, after := make([]int32, n+1), make([]int32, n+1)
	for at := range after {
		before[at], after[at] = int32((at+n)%(n+1)), int32((at+1)%(n+1))
	}
	var singles []int32
	beside := make([]int32, sites) // the number of the octet that a site cannot be of
	chosen := make([]int32, 0, octet)
	end := int32(n)
	for number := int32(1); after[end] != end; number++ {
		chosen = chosen[:0]
		first := list[after[end]]
		for at, seen := after[end], 0; at != end && seen < octetWindow && len(chosen) < octet; at, seen = after[at], seen+1 {
			i := list[at]
			if !alike(first, i) || beside[i] == number {
				continue
			}
			chosen = append(chosen, at)
			for _, j := range l.Adj[l.Start[i]:l.Start[i+1]] {
				beside[j] = number
			}
		}
		if len(chosen) < octet {
			chosen = chosen[:1]
			singles = append(singles, first)
		}
		for _, at := range chosen {
			if len(chosen) == octet {
				order = append(order, list[at])
			}
			after[before[at]], before[after[at]] = after[at], before[at]
		}
	}
	return append(order, singles...), len(order)
}
