package projection

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Novelty is a [Novel] compiled for a shape. Log-weights v, errors and panics
// are those of [Exact]. Everything but Commit may be called from several
// goroutines at once; a Commit waits for the others and they for it.
type Novelty struct {
	name   string
	within *Exact // the language beside the set
	free   bool   // there is none
	rule   rule

	mu   sync.RWMutex // of seen
	seen Seen

	pool sync.Mutex
	idle []*novelist
}

// novelist is the scratch of one search.
type novelist struct {
	rows   []*rows // by site
	x      []int32
	search corpusSearch
	ranked ranked
	cost   []float64
}

// Shape returns the number of sites and of levels.
func (s *Novelty) Shape() (sites, levels int) { return s.within.Shape() }

// Seen returns the set.
func (s *Novelty) Seen() Seen { return s.seen }

// Project replaces v by the nearest distribution whose likeliest sequence is
// new, as [Novelty.Nearest] does. The violation that remains is always 0. The
// set does not change: samples of one batch may agree, which Commit mends.
func (s *Novelty) Project(ctx context.Context, sample int, v []float32, from, to float64, src rand.Source) (violation float64, err error) {
	check.Len("projection", "v", len(v), s.within.sites*s.within.levels)
	w := s.take()
	defer s.give(w)
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, err = s.nearest(ctx, w, w.x, v)
	return 0, err
}

// Nearest replaces v by the nearest distribution in which a new sequence leads
// every row by the margin, stores that sequence in x and returns its cost: the
// divergence in nats, or the sum of gaps if the Novel says so. On an error v is
// unchanged.
func (s *Novelty) Nearest(ctx context.Context, x []int32, v []float32) (cost float64, err error) {
	check.Len("projection", "x", len(x), s.within.sites)
	check.Len("projection", "v", len(v), s.within.sites*s.within.levels)
	w := s.take()
	defer s.give(w)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.nearest(ctx, w, x, v)
}

// Commit takes the finished sequence x into the set. If it is there already, x
// becomes the cheapest new sequence under its last log-weights v first. Commit
// must be called for one sample after the other, in an order that does not
// depend on scheduling, for results that do not either. v is not modified.
func (s *Novelty) Commit(x []int32, v []float32, src rand.Source) error {
	check.Len("projection", "x", len(x), s.within.sites)
	check.Len("projection", "v", len(v), s.within.sites*s.within.levels)
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.seen.Contains(x)
	if err := s.failed(); err != nil {
		return err
	}
	if known {
		w := s.take()
		defer s.give(w)
		if _, err := s.cheapest(context.Background(), w, x, v); err != nil {
			return err
		}
	}
	s.seen.Add(x)
	return s.failed()
}

// failed returns the error of a set that can fail.
func (s *Novelty) failed() error {
	if f, ok := s.seen.(interface{ Err() error }); ok {
		if err := f.Err(); err != nil {
			return fmt.Errorf("projection: %s: %w", s.name, err)
		}
	}
	return nil
}

func (s *Novelty) take() *novelist {
	s.pool.Lock()
	defer s.pool.Unlock()
	if n := len(s.idle); n > 0 {
		w := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return w
	}
	w := &novelist{x: make([]int32, s.within.sites), rows: make([]*rows, s.within.sites)}
	for i := range w.rows {
		w.rows[i] = newRows(s.within.levels, s.rule)
	}
	return w
}

func (s *Novelty) give(w *novelist) {
	s.pool.Lock()
	defer s.pool.Unlock()
	s.idle = append(s.idle, w)
}

// nearest is cheapest followed by the projection of the rows.
func (s *Novelty) nearest(ctx context.Context, w *novelist, x []int32, v []float32) (float64, error) {
	cost, err := s.cheapest(ctx, w, x, v)
	if err != nil {
		return 0, err
	}
	levels := s.within.levels
	for i, token := range x {
		if row := v[i*levels : (i+1)*levels]; !w.rows[i].satisfied(row, token) {
			w.rows[i].pool(row, token)
		}
	}
	return cost, nil
}

// cheapest stores the cheapest new sequence in x.
func (s *Novelty) cheapest(ctx context.Context, w *novelist, x []int32, v []float32) (float64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	levels := s.within.levels
	for i, r := range w.rows {
		row := v[i*levels : (i+1)*levels]
		bad, ok := r.load(row)
		switch {
		case ok:
		case bad >= 0:
			return 0, explain(s.name, &WeightError{Site: i, Level: bad, Weight: float64(row[bad])})
		default:
			return 0, &InfeasibleError{Constraint: s.name, Site: i}
		}
	}
	if !s.free {
		return s.inLanguage(ctx, w, x)
	}
	if lexicon, ok := s.seen.(*constraint.Lexicon); ok {
		if !w.search.find(lexicon, w.rows) {
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

// inLanguage is cheapest among the sequences of the language.
func (s *Novelty) inLanguage(ctx context.Context, w *novelist, x []int32) (float64, error) {
	levels := s.within.levels
	if w.cost == nil {
		w.cost = make([]float64, len(w.rows)*levels)
	}
	for i, r := range w.rows {
		r.sortAll()
		for rank := range levels {
			token, cost, _ := r.at(rank)
			w.cost[i*levels+int(token)] = cost
		}
	}
	inner := s.within.take()
	defer s.within.give(inner)
	seq, err := inner.run.Ascending(w.cost)
	if err != nil {
		return 0, explain(s.within.name, err)
	}
	n := 0
	for y, cost := range seq {
		if done, err := s.new(ctx, n, y); done {
			copy(x, y)
			return cost, err
		}
		n++
	}
	return 0, s.exhausted()
}

// new reports whether the search may end with its n-th sequence x: because it
// is new, or because of an error.
func (s *Novelty) new(ctx context.Context, n int, x []int32) (done bool, err error) {
	if n%256 == 255 { // a check costs as much as a step of the search
		if err := ctx.Err(); err != nil {
			return true, err
		}
	}
	known := s.seen.Contains(x)
	if err := s.failed(); err != nil {
		return true, err
	}
	return !known, nil
}

// exhausted says that all possible sequences are known.
func (s *Novelty) exhausted() error {
	return &InfeasibleError{Constraint: s.name, Site: s.within.sites}
}
