package simd

import (
	"fmt"
	"math/bits"
)

// Visits redraws sites of a two-level model on a graph, one after the other. The probability of a
// new state depends on the number of neighbours in state 1. Only one goroutine at a time may use a
// Visits.
type Visits struct {
	asm    visitsASM // data for the assembly; its counts are those of the last call
	odds   []uint64
	accept [2][]uint64
	// Heat bath: odds; otherwise, for each entry, the odds of states 0 and 1 and the two values of
	// accept.
	table   []uint64
	propose bool
	largest int // largest number of neighbours of a site
}

// visitsASM holds the data that the assembly reads and writes.
type visitsASM struct {
	moved, ones, equal int64
	first, start, adj  *int32
	slices             [3][]int32
}

// NewVisits returns a Visits for the graph in which site i has the neighbours
// adj[start[i]:start[i+1]]. The slices odds, odds1, accept[0] and accept[1] are tables. A visit to
// site i with m neighbours in state 1 uses their entry k = first[i] + m. The new state is 1 if a
// random integer u < 2⁶⁴ is below odds[k], and otherwise 0.
//
// If odds1 is not nil, it replaces odds for a site that is in state 1 before the visit. The visit
// then also adds accept[s][k] to [Visited].Accept, where s is the state of the site before the
// visit. All four tables must then have the same length; otherwise NewVisits panics.
func NewVisits(start, adj, first []int32, odds, odds1 []uint64, accept [2][]uint64) *Visits {
	v := &Visits{odds: odds, accept: accept, table: odds, propose: odds1 != nil}
	if v.propose {
		checkLen("odds1", len(odds1), len(odds))
		checkLen("accept[0]", len(accept[0]), len(odds))
		checkLen("accept[1]", len(accept[1]), len(odds))
		v.table = make([]uint64, 0, 4*len(odds))
		for n, p := range odds {
			v.table = append(v.table, p, odds1[n], accept[0][n], accept[1][n])
		}
	}
	checkLen("first", len(first), len(start)-1)
	for i := range first {
		v.largest = max(v.largest, int(start[i+1]-start[i]))
	}
	v.asm.slices = [3][]int32{first, start, adj}
	// Without neighbours, adj may be any address.
	v.asm.first, v.asm.start, v.asm.adj = &first[0], &start[0], &start[0]
	if len(adj) > 0 {
		v.asm.adj = &adj[0]
	}
	return v
}

// Visited reports the changes made by a call of [Visits.Visit]. Moved is the number of changed
// sites. Ones is the change in the number of sites in state 1, and Equal is the change in the
// number of edges between equal states. Accept is the sum of the entries accept[s][k] of all visits
// (see [NewVisits]), modulo 2⁶⁴.
type Visited struct {
	Moved, Ones, Equal int
	Accept             uint64
}

// Visit redraws the given sites of the state x, one after the other. The random integer of site
// sites[j] has the lower half words[2j] and the upper half words[2j+1]. The slice look holds the
// index k (see [NewVisits]) of each site of the graph; Visit keeps it up to date. Visit panics
// unless words has two entries for each site to redraw and len(look) = len(x) is the number of
// sites of the graph. It does not check that the given sites are in the graph, or that the indices
// in look are in the tables.
func (v *Visits) Visit(look, x, sites []int32, words []uint32) Visited {
	if len(words) != 2*len(sites) {
		panic(fmt.Sprintf("simd: len(words) = %d, want 2·%d", len(words), len(sites)))
	}
	checkLen("x", len(x), len(v.asm.slices[0]))
	checkLen("look", len(look), len(x))
	if best < visitLevel || v.largest > visitTerms {
		return refVisit(v, look, x, sites, words)
	}
	var sum Visited
	for most := max(1, visitTerms/(v.largest+8)); len(sites) > 0; {
		n := min(len(sites), most)
		v.asm.moved, v.asm.ones, v.asm.equal = 0, 0, 0
		sum.Accept += visitRun(v, look, x, sites[:n], words)
		sum.Moved += int(v.asm.moved)
		sum.Ones += int(v.asm.ones)
		sum.Equal += int(v.asm.equal)
		sites, words = sites[n:], words[2*n:]
	}
	return sum
}

func refVisit(v *Visits, look, x, sites []int32, words []uint32) (sum Visited) {
	first, start, adj := v.asm.slices[0], v.asm.slices[1], v.asm.slices[2]
	for n, i := range sites {
		u := uint64(words[2*n+1])<<32 | uint64(words[2*n])
		old := x[i] & 1
		p := v.table[look[i]]
		if v.propose {
			row := v.table[4*look[i]:][:4]
			p = row[old]
			sum.Accept += row[2+old]
		}
		_, below := bits.Sub64(u, p, 0)
		l := int32(below)
		if l == old {
			continue
		}
		x[i] = l
		by, near := 2*l-1, adj[start[i]:start[i+1]]
		sum.Moved++
		sum.Ones += int(by)
		sum.Equal += int(by) * int(2*(look[i]-first[i])-int32(len(near)))
		for len(near) >= 4 {
			look[near[0]] += by
			look[near[1]] += by
			look[near[2]] += by
			look[near[3]] += by
			near = near[4:]
		}
		for _, j := range near {
			look[j] += by
		}
	}
	return sum
}

// visitTerms is the largest number of neighbours that a call of visit may change, at up to 1 ns
// each.
const visitTerms = 1 << 15
