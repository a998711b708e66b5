package novelty

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/projection"
)

// CorpusProjection is a [Projection] whose set is a [Corpus]. The trellis of the
// corpus gives the exact probability of the set, hence of novelty, and with it
// exact joint draws of new sequences.
//
// The trellis is compiled when it is first needed; sequences that Commit adds
// are summed one by one for a while. A corpus that grows in another way is
// compiled again.
type CorpusProjection struct {
	*Projection
	trials int

	mu       sync.Mutex
	compiled int                        // words in the corpus when known was compiled, −1: never
	known    *projection.PathProjection // the language without novelty; nil if empty
	added    []int32                    // sequences committed since, one after the other
	others   *projection.PathProjection // the language of novelty itself, for hard cases
	othersAt int                        // words when others was compiled, −1: never
}

// defaultTrials is when rejection ends: after as many rejections P(novel) is
// likely below 5 %, and compiling the exact distribution pays.
const defaultTrials = 64

// addedShare is when committed sequences enter the trellis: one in eight of the
// words, or 256 where there are few, so that their cost stays below that of the
// trellis and compiling is rare.
const (
	addedShare = 8
	addedLeast = 256
)

// certain is the probability of novelty below which 1 − P(known) has lost too
// many digits, and the trellis of the complement is summed instead: twelve of
// sixteen are left at 1e-4 (TestLexicalProbability asks for ten).
const certain = 1e-4

func newCorpus(s *Projection, corpus Corpus, trials int) *CorpusProjection {
	if trials == 0 {
		trials = defaultTrials
	}
	return &CorpusProjection{Projection: s, trials: trials, compiled: -1, othersAt: -1}
}

// Commit is [Projection.Commit].
func (s *CorpusProjection) Commit(x []int32, v []float32, src rand.Source) error {
	if err := s.Projection.Commit(x, v, src); err != nil {
		return err
	}
	s.grown(x)
	return nil
}

// Recall is [Projection.Recall].
func (s *CorpusProjection) Recall(x []int32) error {
	if err := s.Projection.Recall(x); err != nil {
		return err
	}
	s.grown(x)
	return nil
}

// grown notes that x has come to the set.
func (s *CorpusProjection) grown(x []int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.compiled >= 0 {
		s.added = append(s.added, x...)
	}
}

// LogZ returns the log of the total weight of the new sequences,
//
//	log Σ_{x ∈ C, x ∉ D} ∏_i exp(v[i,x_i]).
func (s *CorpusProjection) LogZ(v []float32) (float64, error) {
	check.Len("novelty", "v", len(v), s.sites*s.levels)
	s.Projection.mu.RLock()
	defer s.Projection.mu.RUnlock()
	all, novel, err := s.split(v)
	return all + novel, err
}

// LogProb returns the exact log-probability that a draw from p, restricted to
// the language if there is one, is new: log(1 − P(D)).
func (s *CorpusProjection) LogProb(v []float32) (float64, error) {
	check.Len("novelty", "v", len(v), s.sites*s.levels)
	s.Projection.mu.RLock()
	defer s.Projection.mu.RUnlock()
	_, novel, err := s.split(v)
	return novel, err
}

// Draw stores in x0 an exact draw from p restricted to new sequences, and
// returns LogZ. It draws without regard to novelty first and rejects what is
// known; after too many rejections it draws from the trellis of the complement.
func (s *CorpusProjection) Draw(x0 []int32, v []float32, src rand.Source) (logZ float64, err error) {
	check.Len("novelty", "x0", len(x0), s.sites)
	check.Len("novelty", "v", len(v), s.sites*s.levels)
	s.Projection.mu.RLock()
	defer s.Projection.mu.RUnlock()
	all, novel, err := s.split(v)
	if err != nil {
		return 0, err
	}
	_, ok, err := s.within.DrawUntil(x0, v, src, s.trials, func(x []int32) bool { return !s.corpus.Contains(x) })
	if err == nil {
		err = s.failed()
	}
	if err != nil {
		return 0, err
	}
	if ok {
		return all + novel, nil
	}
	others, err := s.complement()
	if err != nil {
		return 0, err
	}
	if _, err := others.Sample(x0, v, src); err != nil {
		return 0, err
	}
	return all + novel, nil
}

// split returns the log of the weight of the language and the log-probability
// of novelty within it.
func (s *CorpusProjection) split(v []float32) (all, novel float64, err error) {
	if all, err = s.within.LogZ(v); err != nil {
		return 0, 0, err
	}
	known, err := s.knownLogZ(v)
	if err != nil {
		return 0, 0, err
	}
	p := known - all
	if p < math.Log1p(-certain) {
		return all, simd.Log1p(-simd.Exp(p)), nil
	}
	others, err := s.complement()
	if err != nil {
		return 0, 0, err
	}
	logZ, err := others.LogZ(v)
	return all, logZ - all, err
}

// knownLogZ returns the log of the weight of the known sequences.
func (s *CorpusProjection) knownLogZ(v []float32) (float64, error) {
	known, added, err := s.current()
	if err != nil {
		return 0, err
	}
	logZ := math.Inf(-1)
	if known != nil {
		logZ, err = known.LogZ(v)
		if err != nil && !errors.Is(err, constraint.ErrInfeasible) {
			return 0, err
		}
		if err != nil { // the weights leave none of them
			logZ = math.Inf(-1)
		}
	}
	levels := s.levels
	for x := range slices.Chunk(added, s.sites) {
		if !s.within.Accepts(x) {
			continue
		}
		weight := 0.0
		for i, token := range x {
			weight += float64(v[i*levels+int(token)])
		}
		logZ = simd.LogAdd(logZ, weight)
	}
	return logZ, nil
}

// current returns the trellis of the known sequences of the language, nil if
// there are none, and those added since it was compiled.
func (s *CorpusProjection) current() (known *projection.PathProjection, added []int32, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	beside := len(s.added) / s.sites
	stale := s.compiled < 0 || s.compiled+beside != s.corpus.Len() ||
		beside > max(addedLeast, s.compiled/addedShare)
	if stale {
		if s.known, err = s.compile(s.corpus); err != nil {
			return nil, nil, err
		}
		s.compiled, s.added = s.corpus.Len(), s.added[:0]
	}
	return s.known, s.added, nil
}

// complement returns the trellis of the new sequences of the language.
func (s *CorpusProjection) complement() (*projection.PathProjection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.othersAt != s.corpus.Len() {
		others, err := s.compile(constraint.Complement(s.corpus))
		if err != nil {
			return nil, err
		}
		s.others, s.othersAt = others, s.corpus.Len()
	}
	if s.others == nil {
		return nil, s.exhausted()
	}
	return s.others, nil
}

// compile unrolls a part of the language, nil if it is empty. The automaton
// reads padding as a token, because the set holds whole rows of tokens.
func (s *CorpusProjection) compile(part constraint.Automaton) (*projection.PathProjection, error) {
	if !s.free {
		both, err := constraint.Intersect(s.within.Automaton(), part)
		if err != nil {
			return nil, fmt.Errorf("novelty: %s: %w", s.name, err)
		}
		part = both
	}
	e, err := projection.Path{Language: part, Name: s.name}.Compile(context.Background(), s.sites, s.levels)
	if err := s.failed(); err != nil {
		return nil, err
	}
	var dead *projection.InfeasibleError
	if errors.As(err, &dead) {
		return nil, nil
	}
	return e, err
}
