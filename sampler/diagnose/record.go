package diagnose

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// record holds what a Trace knows about one chain; it must be used by one goroutine at a time.
type record struct {
	chain    int // its number in the run
	draws    int
	moves    int
	invalid  int
	accepts  int     // draws whose acceptance probability is known
	accept   float64 // the sum of these probabilities
	sites    int     // of the states, once there is one
	rows     []float64
	states   []int32
	condense []series  // streaming mode: per function
	values   []float64 // of the functions at the present draw

	best       []int32 // the state of the lowest energy, nil: none yet
	bestEnergy float64
	counts     []int64 // sites × levels: draws that had the level there
}

// Columns of a row of record.rows before the functions, and their names.
const (
	columnEnergy = iota
	columnAccept
	columnMoves
	columnFirst // of the functions
)

var columnNames = [columnFirst]string{"energy", "accept", "moves"}

func newRecord(chain, functions int, streaming bool) *record {
	r := &record{chain: chain, values: make([]float64, functions)}
	if streaming {
		r.condense = make([]series, functions)
		for i := range r.condense {
			r.condense[i] = newSeries()
		}
	}
	return r
}

// mostReserved limits the entries that Reserve allocates in advance, 256 MB per chain; beyond that,
// memory grows as it fills.
const mostReserved = 1 << 25

func (r *record) reserve(draws, columns int, states bool) {
	r.rows = slices.Grow(r.rows, min(draws, mostReserved/columns)*columns)
	if states && r.sites > 0 {
		r.states = slices.Grow(r.states, min(draws, mostReserved/r.sites)*r.sites)
	}
}

// reset discards all draws.
func (r *record) reset() {
	for i := range r.condense {
		r.condense[i] = newSeries()
	}
	clear(r.counts)
	*r = record{
		chain: r.chain, rows: r.rows[:0], states: r.states[:0], sites: r.sites,
		condense: r.condense, values: r.values, counts: r.counts,
	}
}

// improve records x if no earlier state had an energy as low.
func (r *record) improve(x []int32, energy float64) {
	if math.IsNaN(energy) || r.best != nil && energy >= r.bestEnergy {
		return
	}
	r.best, r.bestEnergy = append(r.best[:0], x...), energy
}

// count adds x to the counts of levels.
func (r *record) count(x []int32, levels int) {
	if len(x) == 0 || levels > len(r.counts) || len(r.counts) != len(x)*levels {
		if err := check.Entries("diagnose: KeepMarginals", "sites × levels", len(x), levels); err != nil {
			panic(err.Error())
		}
		r.counts = make([]int64, len(x)*levels)
	}
	for i, l := range x {
		if l < 0 || int(l) >= levels {
			panic(fmt.Sprintf("diagnose: x[%d] = %d, want 0 … %d: KeepMarginals was given %d levels", i, l, levels-1, levels))
		}
		r.counts[i*levels+int(l)]++
	}
}

// slots finds the record of a chain by its number, in two steps, so that the last thousand chains
// of a run cost no memory for the chains before them. Records are read without a lock and added
// under a lock.
type slots struct {
	grow  sync.Mutex
	pages atomic.Pointer[[]atomic.Pointer[page]]
}

// page holds the records of consecutive chains, nil for a chain without a record.
type page [pageChains]atomic.Pointer[record]

const (
	pageChains = 256
	mostChains = 1 << 28 // bounds what is made for a number that is wrong, 8 MB
)

// find returns the record of a chain, or nil if there is none. It panics if no chain can have that
// number.
func (s *slots) find(chain int) *record {
	if chain < 0 || chain >= mostChains {
		panic(fmt.Sprintf("diagnose: chain = %d, want 0 ≤ chain < %d", chain, mostChains))
	}
	if pages := s.pages.Load(); pages != nil && chain/pageChains < len(*pages) {
		if p := (*pages)[chain/pageChains].Load(); p != nil {
			return p[chain%pageChains].Load()
		}
	}
	return nil
}

// place gives a record its slot.
func (s *slots) place(r *record) {
	s.grow.Lock()
	defer s.grow.Unlock()
	var pages []atomic.Pointer[page]
	if old := s.pages.Load(); old != nil {
		pages = *old
	}
	at := r.chain / pageChains
	if at >= len(pages) {
		// A reader of the old list finds no record there and then gets here.
		wider := make([]atomic.Pointer[page], max(at+1, 2*len(pages)))
		for i := range pages {
			wider[i].Store(pages[i].Load())
		}
		pages = wider
		s.pages.Store(&wider)
	}
	if pages[at].Load() == nil {
		pages[at].Store(new(page))
	}
	pages[at].Load()[r.chain%pageChains].Store(r)
}

// clear discards all records.
func (s *slots) clear() { s.pages.Store(nil) }

// list returns the records of chains with a draw, in the order of their numbers.
func (s *slots) list() []*record {
	var list []*record
	pages := s.pages.Load()
	if pages == nil {
		return nil
	}
	for i := range *pages {
		p := (*pages)[i].Load()
		if p == nil {
			continue
		}
		for c := range p {
			if r := p[c].Load(); r != nil && r.draws > 0 {
				list = append(list, r)
			}
		}
	}
	return list
}
