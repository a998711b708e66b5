package diagnose

import (
	"fmt"
	"slices"
)

// span is a range of chain numbers, first … end−1.
type span struct{ first, end int }

// String returns the number of a single chain, or the first and the last number of a range of
// chains.
func (s span) String() string {
	if s.end == s.first+1 {
		return fmt.Sprint(s.first)
	}
	return fmt.Sprintf("%d … %d", s.first, s.end-1)
}

// spans is a set of chains, stored as ranges in ascending order that neither overlap nor touch.
// Every set therefore has exactly one representation.
type spans []span

// overlap returns the first chain of s that is in the set a; some is false if there is none.
func (a spans) overlap(s span) (chain int, some bool) {
	at := a.search(s)
	if at > 0 && a[at-1].end > s.first {
		return s.first, true
	}
	if at < len(a) && a[at].first < s.end {
		return a[at].first, true
	}
	return 0, false
}

// search returns the index of the first span in the set that does not begin before s.
func (a spans) search(s span) int {
	at, _ := slices.BinarySearchFunc(a, s.first, func(b span, first int) int { return b.first - first })
	return at
}

// add adds the chains of s to the set; none of them may be in the set already.
func (a *spans) add(s span) {
	list, at := *a, a.search(s)
	before := at > 0 && list[at-1].end == s.first
	after := at < len(list) && list[at].first == s.end
	switch {
	case before && after:
		list[at-1].end = list[at].end
		list = slices.Delete(list, at, at+1)
	case before:
		list[at-1].end = s.end
	case after:
		list[at].first = s.first
	default:
		list = slices.Insert(list, at, s)
	}
	*a = list
}

// union adds the chains of b to a and returns ok = true. If some chains are in both sets, it
// returns the first of them and false, and leaves a unchanged.
func (a *spans) union(b spans) (twice int, ok bool) {
	for _, s := range b {
		if chain, some := a.overlap(s); some {
			return chain, false
		}
	}
	for _, s := range b {
		a.add(s)
	}
	return 0, true
}

// gaps returns the chains of 0 … n−1 that are not in the set.
func (a spans) gaps(n int) (missing spans) {
	next := 0
	for _, s := range a {
		if s.first > next {
			missing = append(missing, span{next, s.first})
		}
		next = s.end
	}
	if next < n {
		missing = append(missing, span{next, n})
	}
	return missing
}

// chains returns the number of chains in the set.
func (a spans) chains() int {
	n := 0
	for _, s := range a {
		n += s.end - s.first
	}
	return n
}
