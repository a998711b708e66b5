package novelty

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/lead"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// corpusSearch finds the cheapest sequence that is not in a corpus, by branch and bound. It
// follows the sequences of the corpus and tries the tokens of each site in ascending order of
// cost. When a token leaves the corpus, the rest of the sequence is free and consists of the
// cheapest tokens. A branch ends when it costs as much as the best sequence found. Corpora are
// sparse, so most searches follow one path along the likeliest tokens and a few short side
// paths.
type corpusSearch struct {
	corpus Corpus
	rows   []*lead.Row
	rest   []float64 // rest[i] is the cost of the cheapest tokens from site i on
	x      []int32   // tokens of the current branch
	best   []int32
	cost   float64 // cost of best
	meter  poll.Meter
}

// find stores the cheapest new sequence in s.best. It returns false if there is none or the
// meter's context has ended. Every row must have a token of finite cost.
func (s *corpusSearch) find(corpus Corpus, all []*lead.Row) bool {
	s.corpus, s.rows = corpus, all
	n := len(all)
	if s.x == nil {
		s.x, s.best, s.rest = make([]int32, n), make([]int32, n), make([]float64, n+1)
	}
	for i := n - 1; i >= 0; i-- {
		_, c, _ := all[i].At(0)
		s.rest[i] = s.rest[i+1] + c
	}
	s.cost = math.Inf(1)
	s.walk(0, corpus.Start(), 0)
	return !math.IsInf(s.cost, 1) && s.meter.Err() == nil
}

// walk visits the sequences that begin with x[:i]. That prefix leads to the given state and has the
// cost so.
func (s *corpusSearch) walk(i, state int, so float64) {
	if i == len(s.x) {
		if !s.corpus.Accepting(state) && so < s.cost {
			s.keep(i, so)
		}
		return
	}
	for rank := 0; ; rank++ {
		token, cost, ok := s.rows[i].At(rank)
		if !ok || s.meter.Done(searchWork) || so+cost+s.rest[i+1] >= s.cost {
			return
		}
		s.x[i] = token
		next := s.corpus.Next(state, token)
		if next < 0 { // later tokens cost more, wherever they lead
			s.keep(i+1, so+cost+s.rest[i+1])
			return
		}
		s.walk(i+1, next, so+cost)
	}
}

// searchWork is the maximum cost of a token in a search, in operations.
const searchWork = 64

// keep makes x[:i], followed by the cheapest tokens, the best sequence.
func (s *corpusSearch) keep(i int, cost float64) {
	s.cost = cost
	copy(s.best, s.x[:i])
	for ; i < len(s.x); i++ {
		s.best[i] = s.rows[i].Token(0)
	}
}
