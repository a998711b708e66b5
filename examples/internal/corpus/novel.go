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

// Seen is a novelty whose identity is that of the corpus: strings that are not new are
// kept out by a lexicon, exactly; other spellings of what they stand for, and of what was
// drawn before, are drawn again, which is exact, too. Of molecules in a file, so is what is
// none: nothing that is no molecule is a new one.
type Seen struct {
	corpus *Corpus
	novel  novelty.Projector
}

// NewSeen returns the novelty of a corpus within a path.
func NewSeen(c *Corpus, path projection.Path) *Seen {
	lexicon := new(constraint.Lexicon)
	for _, s := range c.old {
		lexicon.Add(c.Tokens(s))
	}
	return &Seen{c, novelty.Projector{Seen: lexicon, Path: path}}
}

// Bind implements [diffusion.Projector].
func (s *Seen) Bind(ctx context.Context, sites, levels, samples int) (diffusion.Projection, error) {
	p, err := s.novel.Bind(ctx, sites, levels, samples)
	if err != nil {
		return nil, err
	}
	return &unseen{p.(*novelty.CorpusProjection), s.corpus, make(map[string]bool)}, nil
}

// Judge returns a judge that accepts what is new, once.
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

// unseen refuses what the corpus or the run knows by its identity.
type unseen struct {
	*novelty.CorpusProjection
	corpus *Corpus
	made   map[string]bool
}

// Commit implements [diffusion.Committer].
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

// Recall takes in what an earlier part of the run has made, see
// [diffusion.Committer].
func (u *unseen) Recall(x []int32) error {
	if err := u.CorpusProjection.Recall(x); err != nil {
		return err
	}
	u.made[u.corpus.Identity(u.corpus.Text(x))] = true
	return nil
}
