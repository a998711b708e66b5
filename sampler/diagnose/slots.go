package diagnose

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// slots finds the record of a chain by its number, in two steps so that a run's
// last thousand chains cost no room for those before. Records are read without a
// lock and added under one.
type slots struct {
	grow  sync.Mutex
	pages atomic.Pointer[[]atomic.Pointer[page]]
}

// page holds the records of consecutive chains, nil where there is none.
type page [pageChains]atomic.Pointer[record]

const (
	pageChains = 256
	mostChains = 1 << 28 // bounds what is made for a number that is wrong, 8 MB
)

// find returns the record of a chain, nil if there is none. It panics if no
// chain can have that number.
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
		// Who still reads the old list finds no record there and comes here.
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

// clear forgets all records.
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
