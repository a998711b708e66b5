package projection

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/trellis"
)

// Lexical is a [Novelty] whose set is a [constraint.Lexicon]. The trellis of the
// lexicon gives the exact probability of the set, hence of novelty, and with it
// exact joint draws of new sequences.
//
// The trellis is compiled when it is first needed; sequences that Commit adds
// are carried beside it for a while. A lexicon that grows otherwise is compiled
// anew.
type Lexical struct {
	*Novelty
	lexicon *constraint.Lexicon
	trials  int

	mu       sync.Mutex
	compiled int     // words in the lexicon when known was compiled, −1: never
	known    *Exact  // the language without novelty; nil if empty
	added    []int32 // sequences committed since, one after the other
	others   *Exact  // the language of novelty itself, for hard cases
	othersAt int     // words when others was compiled, −1: never
}

// addedShare is when sequences beside the trellis enter it: one in eight of the
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

func newLexical(s *Novelty, lexicon *constraint.Lexicon, trials int) *Lexical {
	if trials == 0 {
		trials = defaultTrials
	}
	return &Lexical{Novelty: s, lexicon: lexicon, trials: trials, compiled: -1, othersAt: -1}
}

// Commit is [Novelty.Commit].
func (s *Lexical) Commit(x []int32, v []float32, src rand.Source) error {
	if err := s.Novelty.Commit(x, v, src); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.compiled >= 0 {
		s.added = append(s.added, x...)
	}
	return nil
}

// LogZ returns the log of the total weight of the new sequences,
//
//	log Σ_{x ∈ C, x ∉ D} ∏_i exp(v[i,x_i]).
func (s *Lexical) LogZ(v []float32) (float64, error) {
	check.Len("projection", "v", len(v), s.within.sites*s.within.levels)
	s.Novelty.mu.RLock()
	defer s.Novelty.mu.RUnlock()
	all, novel, err := s.split(v)
	return all + novel, err
}

// LogProb returns the exact log-probability that a draw from p, restricted to
// the language if there is one, is new: log(1 − P(D)).
func (s *Lexical) LogProb(v []float32) (float64, error) {
	check.Len("projection", "v", len(v), s.within.sites*s.within.levels)
	s.Novelty.mu.RLock()
	defer s.Novelty.mu.RUnlock()
	_, novel, err := s.split(v)
	return novel, err
}

// Draw stores in x0 an exact draw from p restricted to new sequences, and
// returns LogZ. It draws without regard to novelty first and rejects what is
// known; after too many rejections it draws from the trellis of the complement.
func (s *Lexical) Draw(x0 []int32, v []float32, src rand.Source) (logZ float64, err error) {
	check.Len("projection", "x0", len(x0), s.within.sites)
	check.Len("projection", "v", len(v), s.within.sites*s.within.levels)
	s.Novelty.mu.RLock()
	defer s.Novelty.mu.RUnlock()
	all, novel, err := s.split(v)
	if err != nil {
		return 0, err
	}
	w := s.within.take()
	defer s.within.give(w)
	if _, err := w.run.Filter(v); err != nil {
		return 0, explain(s.within.name, err)
	}
	for range s.trials {
		w.run.Draw(x0, src)
		if !s.lexicon.Contains(x0) {
			return all + novel, nil
		}
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
func (s *Lexical) split(v []float32) (all, novel float64, err error) {
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
func (s *Lexical) knownLogZ(v []float32) (float64, error) {
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
	levels := s.within.levels
	for x := range slices.Chunk(added, s.within.sites) {
		if !s.within.graph.Accepts(x) {
			continue
		}
		weight := 0.0
		for i, token := range x {
			weight += float64(v[i*levels+int(token)])
		}
		logZ = addLogs(logZ, weight)
	}
	return logZ, nil
}

// current returns the trellis of the known sequences of the language, nil if
// there are none, and those added since it was compiled.
func (s *Lexical) current() (known *Exact, added []int32, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	beside := len(s.added) / s.within.sites
	stale := s.compiled < 0 || s.compiled+beside != s.lexicon.Len() ||
		beside > max(addedLeast, s.compiled/addedShare)
	if stale {
		if s.known, err = s.compile(s.lexicon); err != nil {
			return nil, nil, err
		}
		s.compiled, s.added = s.lexicon.Len(), s.added[:0]
	}
	return s.known, s.added, nil
}

// complement returns the trellis of the new sequences of the language.
func (s *Lexical) complement() (*Exact, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.othersAt != s.lexicon.Len() {
		others, err := s.compile(constraint.Complement(s.lexicon))
		if err != nil {
			return nil, err
		}
		s.others, s.othersAt = others, s.lexicon.Len()
	}
	if s.others == nil {
		return nil, s.exhausted()
	}
	return s.others, nil
}

// compile unrolls a part of the language, nil if it is empty. The automaton
// reads padding as a token, because the set holds whole rows of tokens.
func (s *Lexical) compile(part constraint.Automaton) (*Exact, error) {
	if !s.free {
		both, err := constraint.Intersect(s.within.graph, part)
		if err != nil {
			return nil, explain(s.name, err)
		}
		part = both
	}
	config := trellis.Config{Sites: s.within.sites, Levels: s.within.levels}
	g, err := trellis.Compile(context.Background(), part, config)
	var dead *trellis.DeadError
	if errors.As(err, &dead) {
		return nil, nil
	}
	if err != nil {
		return nil, explain(s.name, err)
	}
	return &Exact{name: s.name, graph: g, sites: s.within.sites, levels: s.within.levels, rule: s.rule}, nil
}
