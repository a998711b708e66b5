package novelty

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/lead"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/projection"
)

// Projection is a [Projector] compiled for given numbers of sites and levels. In its methods, v
// holds log-weights (sites × levels), with the same meaning, errors and panics as in
// [projection.PathProjection]. A Projection is safe for concurrent use. Commit runs alone: it waits
// for other calls, and they wait for it.
type Projection struct {
	name          string
	sites, levels int
	// compiled language, which contains all sequences if free is true
	within *projection.PathProjection
	free   bool // true if there is no language
	rule   lead.Rule

	mu       sync.RWMutex // guards seen
	seen     Seen
	corpus   Corpus   // seen if it implements Corpus, otherwise nil
	fallible Fallible // seen if it implements Fallible, otherwise nil

	idle scratch.Stock[work]
}

// work is the scratch of one search.
type work struct {
	rows   []*lead.Row // row of each site
	x      []int32
	search corpusSearch
	ranked ranked
	cost   []float64
}

// Shape returns the number of sites and of levels.
func (s *Projection) Shape() (sites, levels int) { return s.within.Shape() }

// Seen returns the set of known sequences.
func (s *Projection) Seen() Seen { return s.seen }

// Project replaces v by the nearest distribution whose likeliest sequence is new; see
// [Projection.Nearest]. The returned violation is always 0. Project does not add to the set, so
// samples of one batch may be equal. Commit resolves such conflicts.
func (s *Projection) Project(ctx context.Context, sample int, v []float32, start, end float64, src rand.Source) (violation float64, err error) {
	check.Len("novelty", "v", len(v), s.sites*s.levels)
	w := s.take()
	defer s.give(w)
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, err = s.nearest(ctx, w, w.x, v)
	return 0, err
}

// Nearest replaces v by the nearest distribution whose likeliest sequence is none of the known
// ones. It stores that sequence in x and returns the cost. The cost is the divergence in nats, or
// the sum of gaps if the [Projector]'s field Gap is set. At every site, the token in x is likelier
// than any other by the Projector's margin. If Nearest returns an error, v is unchanged.
func (s *Projection) Nearest(ctx context.Context, x []int32, v []float32) (cost float64, err error) {
	check.Len("novelty", "x", len(x), s.sites)
	check.Len("novelty", "v", len(v), s.sites*s.levels)
	w := s.take()
	defer s.give(w)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.nearest(ctx, w, x, v)
}

// Commit adds the finished sequence x to the set. If the set already contains x, Commit first
// replaces x by the new sequence of least cost (see [Projection.Nearest]). The slice v holds the
// last log-weights of the sample, which determine the cost. Commit does not modify v. If it returns
// an error, the set is unchanged.
//
// Call Commit for one sample at a time. Results depend on the order of the calls, so the order must
// not depend on scheduling.
func (s *Projection) Commit(ctx context.Context, x []int32, v []float32, src rand.Source) error {
	check.Len("novelty", "x", len(x), s.sites)
	v = s.weights(v)
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.seen.Contains(x)
	if err := s.failed(); err != nil {
		return err
	}
	if known {
		w := s.take()
		defer s.give(w)
		if _, err := s.cheapest(ctx, w, x, v); err != nil {
			return err
		}
	}
	s.seen.Add(x)
	return s.failed()
}

// Recall adds to the set a sequence x that an earlier run added by [Projection.Commit]. Recall does
// not change x. A resumed run calls it for the samples of its checkpoint (see diffusion.Committer).
// Recall returns an error if the set already contains the sequence, unless the set is [Lasting].
func (s *Projection) Recall(x []int32) error {
	check.Len("novelty", "x", len(x), s.sites)
	s.mu.Lock()
	defer s.mu.Unlock()
	if lasting, ok := s.seen.(Lasting); ok {
		lasting.Recall(x)
		return s.failed()
	}
	if s.seen.Contains(x) {
		return fmt.Errorf("novelty: %s: Recall: the set has the sequence already", s.name)
	}
	if err := s.failed(); err != nil {
		return err
	}
	s.seen.Add(x)
	return s.failed()
}

// weights checks the length of v and returns v. If v is nil, weights returns zeros.
func (s *Projection) weights(v []float32) []float32 {
	if v == nil {
		return make([]float32, s.sites*s.levels)
	}
	check.Len("novelty", "v", len(v), s.sites*s.levels)
	return v
}

// failed returns the error of the set if the set implements Fallible, and otherwise nil.
func (s *Projection) failed() error {
	if s.fallible == nil {
		return nil
	}
	if err := s.fallible.Err(); err != nil {
		return fmt.Errorf("novelty: %s: %w", s.name, err)
	}
	return nil
}

func (s *Projection) take() *work {
	return s.idle.Take(func() *work {
		w := &work{x: make([]int32, s.sites), rows: make([]*lead.Row, s.sites)}
		for i := range w.rows {
			w.rows[i] = lead.New(s.levels, s.rule)
		}
		return w
	})
}

func (s *Projection) give(w *work) { s.idle.Give(w) }

// nearest finds the cheapest new sequence and then projects the rows of v so that this sequence
// leads.
func (s *Projection) nearest(ctx context.Context, w *work, x []int32, v []float32) (float64, error) {
	cost, err := s.cheapest(ctx, w, x, v)
	if err != nil {
		return 0, err
	}
	levels := s.levels
	for i, token := range x {
		if row := v[i*levels : (i+1)*levels]; !w.rows[i].Satisfied(row, token) {
			w.rows[i].Pool(row, token)
		}
	}
	return cost, nil
}

// cheapest stores in x the cheapest new sequence and returns the cost of this sequence.
func (s *Projection) cheapest(ctx context.Context, w *work, x []int32, v []float32) (float64, error) {
	if err := poll.Err(ctx); err != nil {
		return 0, err
	}
	levels := s.levels
	for i, r := range w.rows {
		row := v[i*levels : (i+1)*levels]
		bad, ok := r.Load(row)
		switch {
		case ok:
		case bad >= 0:
			return 0, fmt.Errorf("novelty: %s: %w", s.name, &projection.WeightError{Site: i, Level: bad, Weight: float64(row[bad])})
		default:
			return 0, &projection.InfeasibleError{Constraint: s.name, Site: i}
		}
	}
	if !s.free {
		return s.inLanguage(ctx, w, x)
	}
	if s.corpus != nil {
		w.search.meter.Watch(ctx)
		found := w.search.find(s.corpus, w.rows)
		ended := w.search.meter.Err()
		w.search.meter.Unwatch()
		if ended != nil {
			return 0, ended
		}
		if err := s.failed(); err != nil {
			return 0, err
		}
		if !found {
			return 0, s.exhausted()
		}
		copy(x, w.search.best)
		return w.search.cost, nil
	}
	w.ranked.start(w.rows)
	for n := 0; ; n++ {
		cost, ok := w.ranked.next(x)
		if !ok {
			return 0, s.exhausted()
		}
		if done, err := s.new(ctx, n, x); done {
			return cost, err
		}
	}
}

// inLanguage is cheapest, restricted to sequences of the language.
func (s *Projection) inLanguage(ctx context.Context, w *work, x []int32) (float64, error) {
	levels := s.levels
	if w.cost == nil {
		w.cost = make([]float64, len(w.rows)*levels)
	}
	for i, r := range w.rows {
		r.Costs(w.cost[i*levels : (i+1)*levels])
	}
	seq, err := s.within.Ascending(ctx, w.cost)
	if err != nil {
		return 0, err
	}
	n := 0
	for y, cost := range seq {
		if done, err := s.new(ctx, n, y); done {
			copy(x, y)
			return cost, err
		}
		n++
	}
	if poll.Err(ctx) != nil {
		return 0, context.Cause(ctx)
	}
	return 0, s.exhausted()
}

// new reports whether the search may end with its n-th sequence x, because x is new or because
// of an error.
func (s *Projection) new(ctx context.Context, n int, x []int32) (done bool, err error) {
	if n%256 == 255 { // a check costs as much as a step of the search
		if err := poll.Err(ctx); err != nil {
			return true, err
		}
	}
	known := s.seen.Contains(x)
	if err := s.failed(); err != nil {
		return true, err
	}
	return !known, nil
}

// exhausted returns the error for the case that all possible sequences are known.
func (s *Projection) exhausted() error {
	return &projection.InfeasibleError{Constraint: s.name, Site: s.sites}
}
