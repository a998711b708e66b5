package corpus

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/projection/novelty"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// Seen is a projector for diffusions that makes samples novel: it excludes the known strings of a
// corpus and the samples drawn before. Two strings are the same if [Corpus].Identity maps them to
// the same identity. The known strings themselves are excluded by conditioning on their complement.
// Other spellings of known molecules, and of samples drawn before, are rejected and redrawn, so the
// samples remain exact. If the data are molecules from a file, strings that are not molecules are
// rejected as well.
type Seen struct {
	corpus *Corpus
	novel  novelty.Projector
}

// NewSeen returns a projector to samples that are not in the corpus c and that belong to the
// language of the argument path.
func NewSeen(c *Corpus, path projection.Path) *Seen {
	lexicon := new(constraint.Lexicon)
	for _, s := range c.old {
		lexicon.Add(c.Tokens(s))
	}
	return &Seen{c, novelty.Projector{Seen: lexicon, Path: path}}
}

// Bind returns a projection for one run, which remembers the samples drawn in the run. It
// implements [diffusion.Projector].
func (s *Seen) Bind(ctx context.Context, sites, levels, samples int) (diffusion.Projection, error) {
	p, err := s.novel.Bind(ctx, sites, levels, samples)
	if err != nil {
		return nil, err
	}
	return &unseen{p.(*novelty.CorpusProjection), s.corpus, make(map[string]bool)}, nil
}

// Judge returns a function that reports whether a string is new. A string is new if its identity
// is not among the known ones and was not passed to the function before.
func (s *Seen) Judge() func(string) bool {
	made := make(map[string]bool)
	return func(text string) bool {
		id := s.corpus.Identity(text)
		if made[id] {
			return false
		}
		made[id] = true
		return !s.corpus.Known[id]
	}
}

// unseen is a projection that rejects samples whose identity is in the corpus or was drawn
// before in the run.
type unseen struct {
	*novelty.CorpusProjection
	corpus *Corpus
	made   map[string]bool
}

// Commit records a sample as drawn. It rejects a sample that is not new by returning an error that
// wraps constraint.ErrInfeasible. It implements [diffusion.Committer].
func (u *unseen) Commit(ctx context.Context, x []int32, v []float32, src rand.Source) error {
	text := u.corpus.Text(x)
	id := u.corpus.Identity(text)
	if u.corpus.ofFile && u.corpus.Chemical && !u.corpus.Valid(text) {
		return fmt.Errorf("%q is no molecule: %w", text, constraint.ErrInfeasible)
	}
	if u.corpus.Known[id] || u.made[id] {
		return fmt.Errorf("%s is known: %w", id, constraint.ErrInfeasible)
	}
	if err := u.CorpusProjection.Commit(ctx, x, v, src); err != nil {
		return err
	}
	u.made[u.corpus.Identity(u.corpus.Text(x))] = true
	return nil
}

// Recall records a sample that an earlier part of the run has drawn, so that it is not drawn again.
// It implements [diffusion.Committer].
func (u *unseen) Recall(x []int32) error {
	if err := u.CorpusProjection.Recall(x); err != nil {
		return err
	}
	u.made[u.corpus.Identity(u.corpus.Text(x))] = true
	return nil
}
