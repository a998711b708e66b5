package ground

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// seeker is a searcher with integer or real energies.
type seeker interface {
	// begin sets the initial state; nil selects a random state.
	begin(levels []int32)

	// round makes or continues one annealing run with the given number of sweeps. It returns done
	// = false if stop interrupted it. If ahead is true, it first improves the best state by a
	// window.
	round(stop func() bool, sweeps int, ahead bool) (done bool, err error)

	// rounds returns the number of completed rounds.
	rounds() int

	// borrow adopts the clusters in which the best state of another search is better. It returns
	// false if it was stopped.
	borrow(stop func() bool, other seeker) (done bool)

	// levels sets x to the levels of the best state.
	levels(x []int32)

	// fields reads or writes the search. The argument sweeps is the length of the current round.
	fields(f *wire.Fields, sweeps int)
}

// Stages of a round.
const (
	rest    = iota // between two rounds
	anneal         // the state is annealed
	descend        // the annealed state descends to a local minimum
	take           // the best state adopts better clusters of the annealed state
	polish         // the best state descends to a local minimum
	stages         // number of stages
)

// searcher is one search: a best state and the current round of annealing.
type searcher[T number] struct {
	g         *system[T]
	lattice   *lattice    // lattice whose windows are optimised; nil if the model is not one
	pairs     *pairs[T]   // partners of sites; nil if pairs are not flipped
	forests   []forest[T] // forests that sweeps redraw; nil unless the model is sparse
	scale     scale
	crowd     *crowd // 64 annealed states; nil if one state is annealed
	state     []int32
	best, now *spins[T]
	clusters  *clusters[T]
	table     []uint32
	gardener  gardener[T]
	words     words

	made        int     // number of completed rounds
	found       bool    // best is the result of a round or an initial state, not random
	stage       int     // stage of the current round
	sweep, site int     // position within the stage
	member      int     // member of the crowd whose annealed state descends
	moved       bool    // the current pass of descend or polish has flipped a site
	from        float64 // position on the scale, 0 … 1, at which the round began

	ask  func() bool
	work int // work since the last check for a stop
}

func newSearcher[T number](g *system[T], l *lattice, p *pairs[T], forests []forest[T], w *crowd, c scale, seed, chain uint64) *searcher[T] {
	s := &searcher[T]{g: g, lattice: l, pairs: p, forests: forests, crowd: w.empty(), scale: c, state: make([]int32, g.sites()), best: newSpins(g), now: newSpins(g), clusters: newClusters[T](g.sites())}
	s.words.stream = *sampler.NewStream(seed, chain)
	s.words.at = len(s.words.buf)
	return s
}

func (s *searcher[T]) begin(levels []int32) {
	if levels == nil {
		s.best.random(s.g, &s.words.stream)
		return
	}
	s.best.set(s.g, levels)
	s.found = true
}

// chunk is the number of sites between two counts of work. The variable pollWork is the work
// between two checks for a stop, about a millisecond. Tests lower both. Results do not depend on
// either.
var chunk, pollWork = 1 << 12, 1 << 18

// stop adds to the count of work done and reports whether to stop.
func (s *searcher[T]) stop(work int) bool {
	if s.work += work; s.work < pollWork || s.ask == nil {
		return false
	}
	s.work = 0
	return s.ask()
}

func (s *searcher[T]) round(ask func() bool, sweeps int, ahead bool) (done bool, err error) {
	s.ask = ask
	if s.stage == rest {
		if ahead && s.lattice != nil && s.found {
			if err := s.window(); err != nil {
				return false, err
			}
		}
		// The first round starts at the hot end of the scale.
		if s.from = 0; s.found {
			s.from = s.words.unit()
		}
		if s.crowd != nil {
			s.best.levels(s.state)
			s.crowd.set(s.state)
		} else {
			s.now.copy(s.best)
		}
		s.enter(anneal)
	}
	if s.crowd != nil {
		sweeps *= crowdSweeps
	}
	for ; s.stage == anneal && s.sweep < sweeps; s.sweep, s.site = s.sweep+1, 0 {
		if !s.heat(sweeps) {
			return false, nil
		}
	}
	if s.stage == anneal {
		s.look(0)
	}
	for {
		if s.stage == descend {
			if !s.descend(s.now) {
				return false, nil
			}
			s.enter(take)
		}
		if s.stage == take {
			if !s.found {
				s.best, s.now, s.found = s.now, s.best, true
			} else if _, ok := s.clusters.takeOver(s.g, s.best, s.now, true, s.stop); !ok {
				return false, nil
			}
			s.enter(polish)
		}
		if !s.descend(s.best) {
			return false, nil
		}
		if s.crowd == nil || s.member == crowdMembers-1 {
			break
		}
		s.look(s.member + 1)
	}
	s.enter(rest)
	s.made++
	return true, nil
}

// look sets the current state to that of a member of the crowd and begins its descent.
func (s *searcher[T]) look(member int) {
	if s.member = member; s.crowd != nil {
		s.crowd.member(s.state, member)
		s.now.set(s.g, s.state)
	}
	s.enter(descend)
}

// window improves the best state of a lattice by optimising a window of it.
func (s *searcher[T]) window() error {
	next := s.words.stream // the stream of the search itself does not advance
	x := make([]int32, s.g.sites())
	s.best.levels(x)
	if err := s.lattice.improve(x, sampler.NewStream(next.Uint64(), math.MaxUint64)); err != nil {
		return err
	}
	s.now.set(s.g, x)
	s.clusters.takeOver(s.g, s.best, s.now, true, func(int) bool { return false })
	return nil
}

func (s *searcher[T]) rounds() int { return s.made }

func (s *searcher[T]) enter(stage int) { s.stage, s.sweep, s.site, s.moved = stage, 0, 0, false }

// heat continues the current sweep of annealing. It returns false if it was stopped.
func (s *searcher[T]) heat(sweeps int) bool {
	beta := s.scale.at(s.from, float64(s.sweep)/float64(max(1, sweeps-1)))
	if n := s.g.sites(); len(s.forests) > 0 && beta*float64(s.g.reach) <= mostExponent {
		if s.site < n {
			s.gardener.draw(s.g, s.now, s.forests[s.sweep%len(s.forests)], beta, &s.words)
			s.site = n
		}
		return !s.stop(forestWork * n)
	}
	if s.crowd != nil {
		s.table = acceptances(s.table, float64(beta*s.crowd.half), s.crowd.most)
	} else if _, integers := any(s.now).(*spins[int32]); integers {
		most := int(s.g.reach)
		if s.pairs != nil {
			most *= 2
		}
		s.table = acceptances(s.table, beta, most)
	}
	for n := s.g.sites(); s.site < n; {
		end := min(s.site+chunk, n)
		work := (end - s.site) * s.g.siteWork()
		switch {
		case s.crowd != nil:
			s.crowd.sweep(s.site, end, s.table, &s.words)
			work *= crowdWork
		case s.pairs != nil && s.sweep%2 == 1:
			s.pairs.sweep(s.g, s.now, s.site, end, beta, s.table, &s.words)
		default:
			s.now.sweep(s.g, s.site, end, beta, s.table, &s.words)
		}
		if s.site = end; s.stop(work) {
			return false
		}
	}
	return true
}

// descend flips sites of x in turn until no flip lowers the energy. It returns false if it was
// stopped.
func (s *searcher[T]) descend(x *spins[T]) bool {
	for n := s.g.sites(); ; {
		for s.site < n {
			end := min(s.site+chunk, n)
			s.moved = x.descend(s.g, s.site, end) || s.moved
			work := (end - s.site) * s.g.siteWork()
			if s.site = end; s.stop(work) {
				return false
			}
		}
		if !s.moved {
			return true
		}
		s.site, s.moved = 0, false
	}
}

// borrow implements [seeker]. It adopts clusters of another search's best state. It must be called
// between rounds.
func (s *searcher[T]) borrow(ask func() bool, other seeker) (done bool) {
	s.ask = ask
	if s.stage == rest {
		_, ok := s.clusters.takeOver(s.g, s.best, other.(*searcher[T]).best, false, s.stop)
		if !ok {
			return false
		}
		s.enter(polish)
	}
	if !s.descend(s.best) {
		return false
	}
	s.enter(rest)
	return true
}

func (s *searcher[T]) levels(x []int32) { s.best.levels(x) }

func (s *searcher[T]) fields(f *wire.Fields, sweeps int) {
	f.Bool("a state found", &s.found)
	f.Bool("a site moved", &s.moved)
	f.Int("stage", &s.stage, 0, stages-1)
	if s.crowd != nil {
		sweeps *= crowdSweeps
	}
	f.Int("sweep", &s.sweep, 0, sweeps)
	f.Int("member", &s.member, 0, crowdMembers-1)
	f.Int("site", &s.site, 0, s.g.sites())
	f.Int("random word", &s.words.at, 0, len(s.words.buf))
	f.Counts("rounds", &s.made)
	f.Float64(&s.from)
	if !(s.from >= 0 && s.from <= 1) {
		f.Fail(fmt.Errorf("a round begins at %v of the scale, want 0 … 1", s.from))
	}
	f.Binary(&s.words.stream, streamSize)
	for i := range s.words.buf {
		f.Uint32("random word", &s.words.buf[i])
	}
	if s.crowd != nil {
		s.crowd.fields(f)
	}
	for _, x := range []*spins[T]{s.best, s.now} {
		numbers(f, x.s)
		for i, v := range x.s {
			// s.now is zero before the first round
			if v != 1 && v != -1 && !(v == 0 && x == s.now) {
				f.Fail(fmt.Errorf("spin %d = %v, want 1 or −1", i, v))
			}
		}
		numbers(f, x.loss)
		for i, v := range x.loss {
			if w := float64(v); math.IsNaN(w) || math.Abs(w) > 2*float64(s.g.reach) {
				f.Fail(fmt.Errorf("loss of site %d = %v, want at most %v", i, v, s.g.reach))
			}
		}
	}
}

const streamSize = 24 // bytes of a marshalled stream

func numbers[T number](f *wire.Fields, v []T) {
	switch v := any(v).(type) {
	case []int32:
		f.Int32s(v)
	case []float64:
		f.Float64s(v)
	}
}
