package simd

// Visits redraw sites of two levels on a graph one after the other, by how many of their
// neighbours are in state 1. It is for one goroutine at a time.
type Visits struct {
	asm     visitsASM // what it counts is of the last call
	odds    []uint64
	accept  [2][]uint64
	table   []uint64 // heat bath: odds; else of each entry those of state 0 and 1, and what accept has
	propose bool
	largest int // number of neighbours
}

// visitsASM is what assembly reads and writes.
type visitsASM struct {
	moved, ones, equal int64
	first, start, adj  *int32
	slices             [3][]int32
}

// NewVisits returns visits of the graph whose neighbours are given in compressed rows.
// Site i with m neighbours in state 1 has the entry first[i] + m of the tables: a number
// u < 2⁶⁴ makes its state 1 where u < odds[entry], else 0. If there are odds1, they are
// for sites in state 1, odds for those in state 0, and accept has for either what a visit adds to the
// sum that Visit returns. It panics unless the tables have one length, or odds1 and accept none.
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
	v.asm.first, v.asm.start, v.asm.adj = &first[0], &start[0], &start[0] // where there are no neighbours, any
	if len(adj) > 0 {
		v.asm.adj = &adj[0]
	}
	return v
}

// Visited is what visits have changed: sites, how many more of them are in state 1 and
// edges between two equals, and the sum of accept, modulo 2⁶⁴.
type Visited struct {
	Moved, Ones, Equal int
	Accept             uint64
}
