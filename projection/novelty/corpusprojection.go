package novelty

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/trellis"
	"github.com/gibbsite-go/gibbsite/projection"
)

// CorpusProjection is a [Projection] whose set is a [Corpus]. It can also compute the probability
// that a draw is new, and draw new sequences from their joint distribution. Sums omit at most 1e-11
// of the result, and draws omit at most 6e-11 of the weight of the new sequences. Additions to the
// set take effect immediately. If the corpus is [Sparse], tokens without a transition cost nothing.
//
// The field Path.Limit of the [Projector] bounds the number of transitions that are stored for
// draws.
type CorpusProjection struct {
	*Projection
	trials int
	limit  int

	walks scratch.Stock[exits]

	mu sync.Mutex
	// compiled language of the new sequences, if the language is nested; nil until needed
	others   *projection.PathProjection
	othersAt int // number of sequences in the corpus when others was compiled, −1 if never
}

// defaultTrials is the number of rejections after which Draw stops rejecting. P(novel) is then
// probably below 5 %, and summing over the new sequences is faster.
const defaultTrials = 64

// defaultLimit is the default of Path.Limit.
const defaultLimit = 1 << 24

// certain is the probability of novelty below which the new sequences are summed directly,
// because 1 − P(known) loses too many digits. At 0.1, eleven digits are left
// (TestLexicalProbability requires ten).
const certain = 0.1

func newCorpus(s *Projection, trials, limit int) *CorpusProjection {
	c := &CorpusProjection{Projection: s, trials: trials, limit: limit, othersAt: -1}
	if c.trials == 0 {
		c.trials = defaultTrials
	}
	if c.limit == 0 {
		c.limit = defaultLimit
	}
	return c
}

// LogZ returns the log of the total weight of the new sequences,
//
//	log Σ_{x ∈ C, x ∉ D} ∏_i exp(v[i,x_i]),
//
// where C is the language and D is the set.
func (s *CorpusProjection) LogZ(ctx context.Context, v []float32) (float64, error) {
	v = s.weights(v)
	s.Projection.mu.RLock()
	defer s.Projection.mu.RUnlock()
	all, err := s.within.LogZ(ctx, v)
	if err != nil {
		return 0, err
	}
	novel, err := s.novel(ctx, v, all)
	return all + novel, err
}

// LogProb returns log(1 − P(D)), the exact log-probability that a draw is new. Here D is the set,
// and P is the distribution with log-weights v, restricted to the [Projector]'s language, if any.
func (s *CorpusProjection) LogProb(ctx context.Context, v []float32) (float64, error) {
	v = s.weights(v)
	s.Projection.mu.RLock()
	defer s.Projection.mu.RUnlock()
	all, err := s.within.LogZ(ctx, v)
	if err != nil {
		return 0, err
	}
	return s.novel(ctx, v, all)
}

// Draw stores in x0 an exact draw from the distribution with log-weights v, restricted to new
// sequences. It returns the result of [CorpusProjection.LogZ]. Draw first draws from all sequences
// and rejects the known ones. After too many rejections, it draws the site and token at which the
// new sequence first differs from all known ones. Then it draws the rest.
func (s *CorpusProjection) Draw(ctx context.Context, x0 []int32, v []float32, src rand.Source) (logZ float64, err error) {
	check.Len("novelty", "x0", len(x0), s.sites)
	v = s.weights(v)
	s.Projection.mu.RLock()
	defer s.Projection.mu.RUnlock()
	all, ok, err := s.within.DrawUntil(ctx, x0, v, src, s.trials, func(x []int32) bool { return !s.corpus.Contains(x) })
	if err == nil {
		err = s.failed()
	}
	if err != nil {
		return 0, err
	}
	novel, err := s.novel(ctx, v, all)
	if err != nil || ok {
		return all + novel, err
	}
	g, finite := s.graph()
	if !finite {
		others, err := s.complement(ctx)
		if err == nil {
			_, err = others.Sample(ctx, x0, v, src)
		}
		return all + novel, err
	}
	w := s.walk(ctx)
	defer s.rest(w)
	if _, err := s.leave(w, g, v); err != nil {
		return 0, err
	}
	w.draw(g, x0, v, src)
	return all + novel, s.failed()
}

// novel returns the log-probability that a draw from the language is new. The argument total is the
// log of the total weight of the language.
func (s *CorpusProjection) novel(ctx context.Context, v []float32, total float64) (float64, error) {
	w := s.walk(ctx)
	defer s.rest(w)
	known, ok := w.known(v, total)
	if err := w.meter.Err(); err != nil {
		return 0, err
	}
	if err := s.failed(); err != nil {
		return 0, err
	}
	if ok && known-total < math.Log1p(-certain) {
		return simd.Log1p(-simd.Exp(known - total)), nil
	}
	if g, finite := s.graph(); finite {
		return s.leave(w, g, v)
	}
	others, err := s.complement(ctx)
	if err != nil {
		return 0, err
	}
	logZ, err := others.LogZ(ctx, v)
	return logZ - total, err
}

// leave computes the log-probability of novelty by summing over the places where new sequences
// leave the corpus.
func (s *CorpusProjection) leave(w *exits, g *trellis.Graph, v []float32) (float64, error) {
	novel, err := w.novel(g, v, s.limit)
	if err == nil {
		err = s.failed()
	}
	switch {
	case w.meter.Err() != nil:
		return 0, w.meter.Err()
	case err != nil:
		return 0, fmt.Errorf("novelty: %s: %w", s.name, err)
	case math.IsInf(novel, -1):
		return 0, s.exhausted()
	}
	return novel, nil
}

// graph returns the unrolled language. It returns false if the language is nested.
func (s *CorpusProjection) graph() (*trellis.Graph, bool) {
	g, ok := s.within.Automaton().(*trellis.Graph)
	return g, ok
}

// walk returns scratch that no other call uses, and makes it watch ctx.
func (s *CorpusProjection) walk(ctx context.Context) *exits {
	w := s.walks.Take(func() *exits {
		w := &exits{walk: walk{corpus: s.corpus, sites: s.sites, levels: s.levels}}
		w.sparse, _ = s.corpus.(Sparse)
		w.crowds, _ = s.corpus.(Crowded)
		if !s.free {
			w.language = s.within.Automaton()
			w.graph, _ = s.graph()
		}
		return w
	})
	w.meter.Watch(ctx)
	return w
}

// rest returns scratch for reuse.
func (s *CorpusProjection) rest(w *exits) {
	w.meter.Unwatch()
	if w.run != nil {
		w.run.Unwatch()
	}
	s.walks.Give(w)
}

// complement returns the compiled language of the new sequences, for a nested language. The
// automaton reads padding as an ordinary token, because the set holds whole rows of tokens.
func (s *CorpusProjection) complement(ctx context.Context) (*projection.PathProjection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.othersAt != s.corpus.Len() {
		both, err := constraint.Intersect(s.within.Automaton(), constraint.Complement(s.corpus))
		if err != nil {
			return nil, fmt.Errorf("novelty: %s: %w", s.name, err)
		}
		others, err := projection.Path{Language: both, Name: s.name, Limit: s.limit}.Compile(ctx, s.sites, s.levels)
		if failed := s.failed(); failed != nil {
			return nil, failed
		}
		var dead *projection.InfeasibleError
		if err != nil && !errors.As(err, &dead) {
			return nil, err
		}
		s.others, s.othersAt = others, s.corpus.Len()
	}
	if s.others == nil {
		return nil, s.exhausted()
	}
	return s.others, nil
}

// Sample fills dst with new and different sequences, one after the other, and adds them to the set.
// Each is a draw from the distribution with log-weights v, restricted to the sequences that are new
// at that point. Starting from an empty set, this is sampling without replacement. Sample returns
// the number of sequences made. If dst is not full, the error explains why. It is an
// *[projection.InfeasibleError] if no new sequence is left.
func (s *CorpusProjection) Sample(ctx context.Context, dst []int32, v []float32, src rand.Source) (made int, err error) {
	v = s.weights(v)
	if len(dst)%s.sites != 0 {
		panic(fmt.Sprintf("novelty: len(dst) = %d, want a multiple of %d", len(dst), s.sites))
	}
	for ; len(dst) > 0; dst = dst[s.sites:] {
		if _, err := s.Draw(ctx, dst[:s.sites], v, src); err != nil {
			return made, err
		}
		if err := s.Commit(ctx, dst[:s.sites], v, src); err != nil {
			return made, err
		}
		made++
	}
	return made, nil
}
