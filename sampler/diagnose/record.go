package diagnose

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// record holds the data that a [Trace] keeps of one chain. Only one goroutine at a time may use it.
type record struct {
	chain    int // index of the chain in the run
	draws    int
	moves    int
	invalid  int
	accepts  int     // number of draws whose acceptance probability is known
	accept   float64 // sum of the known acceptance probabilities
	sites    int     // number of sites of a state; 0 before the first state
	rows     []float64
	states   []int32
	condense []series  // in streaming mode, the condensed draws of each function
	values   []float64 // values of the functions at the current draw

	best       []int32 // state of the lowest energy so far; nil before the first one
	bestEnergy float64
	counts     []int64 // sites × levels: number of draws with the level at the site
}

// Columns of a row of record.rows. The columns of the functions start at columnFirst.
const (
	columnEnergy = iota
	columnAccept
	columnMoves
	columnFirst // index of the first column that holds a function
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

// mostReserved limits the entries that [Trace.Reserve] allocates in advance to 256 MB per chain.
// Memory beyond that grows as it fills.
const mostReserved = 1 << 25

func (r *record) reserve(draws, columns int, states bool) {
	r.rows = slices.Grow(r.rows, min(draws, mostReserved/columns)*columns)
	if states && r.sites > 0 {
		r.states = slices.Grow(r.states, min(draws, mostReserved/r.sites)*r.sites)
	}
}

// reset discards all draws and keeps the allocated memory.
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

// improve stores a copy of x as the best state if its energy is lower than the energies of all
// earlier states.
func (r *record) improve(x []int32, energy float64) {
	if math.IsNaN(energy) || r.best != nil && energy >= r.bestEnergy {
		return
	}
	r.best, r.bestEnergy = append(r.best[:0], x...), energy
}

// count increments the count of the level of every site of x.
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

// slots is a two-level table of the records of chains by chain number. The last thousand chains of
// a run thus cost no memory for the chains before them. Records are read without a lock and added
// under a lock.
type slots struct {
	grow  sync.Mutex
	pages atomic.Pointer[[]atomic.Pointer[page]]
}

// page holds the records of pageChains consecutive chains; nil means that a chain has no record.
type page [pageChains]atomic.Pointer[record]

const (
	pageChains = 256
	mostChains = 1 << 28 // limit of chain numbers; it keeps the list of pages below 8 MB
)

// find returns the record of a chain, or nil if there is none. It panics unless 0 ≤ chain <
// mostChains.
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

// place stores r under its chain number.
func (s *slots) place(r *record) {
	s.grow.Lock()
	defer s.grow.Unlock()
	var pages []atomic.Pointer[page]
	if old := s.pages.Load(); old != nil {
		pages = *old
	}
	at := r.chain / pageChains
	if at >= len(pages) {
		// A concurrent caller that still reads the old list finds no record there and then runs
		// this code.
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

// list returns the records of the chains that have at least one draw, ordered by chain number.
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
