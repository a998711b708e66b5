package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/projection/lagrange"
	"github.com/gibbsite-go/gibbsite/projection/novelty"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// job is one run: how to generate and what must hold.
type job struct {
	name, what string
	projector  diffusion.Projector // nil: no constraint
	uniform    bool                // uniform noise instead of masks
	holds      func(text string) bool
}

// jobs lists the runs. All but the first are within the syntax.
func jobs(ctx context.Context, c *corpus, o options) ([]job, error) {
	language, err := syntax(c)
	if err != nil {
		return nil, fmt.Errorf("syntax: %w", err)
	}
	within := func(a constraint.Automaton) (projection.Path, error) {
		both, err := constraint.Intersect(language, a)
		return projection.Path{Language: both}, err
	}
	counted, isCount, countText, err := count(c, o)
	if err != nil {
		return nil, err
	}
	countPath, err := within(counted)
	if err != nil {
		return nil, err
	}
	matching, matches, regexText, err := expression(ctx, c, o)
	if err != nil {
		return nil, err
	}
	regexPath, err := within(matching)
	if err != nil {
		return nil, err
	}
	model, err := fitProperty(c)
	if err != nil {
		return nil, err
	}
	threshold := o.threshold
	if threshold < 0 {
		threshold = quantile(c, 0.9)
	}
	novel := newSeen(c, projection.Path{Language: language})
	both := func(f func(string) bool) func(string) bool {
		return func(s string) bool { return balanced(s) && f(s) }
	}
	return []job{
		{"unconstrained", "balanced, but nothing asks for it", nil, false, balanced},
		{"syntax", "brackets balanced, ring digits in pairs", projection.Path{Language: language}, false, balanced},
		{"novel", "not in the training set", novel, false, both(novel.new())},
		{"count", countText, countPath, false, both(isCount)},
		{"regex", regexText, regexPath, false, both(matches)},
		{"score", fmt.Sprintf("polarity ≥ %.3g, led by a model that explains %.0f %%", threshold, 100*model.fit),
			lagrange.Projector{Constraint: model.score(c, threshold), Path: projection.Path{Language: language, Name: "polarity"}},
			true, both(func(s string) bool { return polarity(s) >= threshold })},
	}, nil
}

// seen is a novelty whose identity is that of the corpus: strings are kept out
// by the lexicon of the training set, exactly; other spellings of what is known,
// which no lexicon lists, are drawn again.
type seen struct {
	corpus *corpus
	novel  novelty.Projector
}

func newSeen(c *corpus, path projection.Path) *seen {
	lexicon := new(constraint.Lexicon)
	for _, x := range c.trainX {
		lexicon.Add(x)
	}
	return &seen{c, novelty.Projector{Seen: lexicon, Path: path}}
}

// Bind implements [diffusion.Projector].
func (s *seen) Bind(ctx context.Context, sites, levels, samples int) (diffusion.Projection, error) {
	p, err := s.novel.Bind(ctx, sites, levels, samples)
	if err != nil {
		return nil, err
	}
	return &unseen{p.(*novelty.CorpusProjection), s.corpus, make(map[string]bool)}, nil
}

// new returns a judge that accepts what is not in the training set, once.
func (s *seen) new() func(string) bool {
	made := make(map[string]bool)
	return func(text string) bool {
		id := s.corpus.identity(text)
		if made[id] {
			return false
		}
		made[id] = true
		return !s.corpus.known[id]
	}
}

// unseen refuses what the corpus or the run knows by its identity.
type unseen struct {
	*novelty.CorpusProjection
	corpus *corpus
	made   map[string]bool
}

// Commit implements [diffusion.Committer].
func (u *unseen) Commit(x []int32, v []float32, src rand.Source) error {
	id := u.corpus.identity(u.corpus.text(x))
	if u.corpus.known[id] || u.made[id] {
		return fmt.Errorf("%s is known: %w", id, constraint.ErrInfeasible)
	}
	if err := u.CorpusProjection.Commit(x, v, src); err != nil {
		return err
	}
	u.made[u.corpus.identity(u.corpus.text(x))] = true
	return nil
}

// runner is what draws samples: a diffusion, or particles.
type runner interface {
	Sample(ctx context.Context, x []int32) error
	Len() int
}

// newRunner returns particles where they are asked for and can be had: they
// correct the distribution of runs that are conditioned on a language.
func newRunner(ctx context.Context, model energy.Denoiser[int32], process diffusion.Process[int32], j job, o options, cfg diffusion.Config) (runner, error) {
	if _, language := j.projector.(projection.Path); language && o.particles > 1 {
		return diffusion.NewParticles(ctx, model, process, diffusion.ParticlesConfig{Config: cfg, Particles: o.particles})
	}
	return diffusion.New(ctx, model, process, cfg)
}

// generate makes the samples of a job.
func generate(ctx context.Context, c *corpus, m *model.Markov, j job, o options) (out []string, x []int32, seconds float64, err error) {
	corruption, process := denoise.Absorbing, diffusion.Process[int32](diffusion.Masked{Mask: int32(c.levels), FirstHitting: true})
	if j.uniform {
		corruption, process = denoise.Noisy, diffusion.Uniform{}
	}
	model, err := denoise.NewMarkov(m, corruption)
	if err != nil {
		return nil, nil, 0, err
	}
	bar := progress.New(j.name)
	defer bar.Done()
	d, err := newRunner(ctx, model, process, j, o, diffusion.Config{
		Seed: o.seed, Steps: o.steps, Projector: j.projector, Progress: bar.Set,
	})
	if err != nil {
		return nil, nil, 0, fmt.Errorf("%s: %w", j.name, err)
	}
	start := time.Now()
	x = make([]int32, o.n*c.sites)
	if err := d.Sample(ctx, x); err != nil {
		var not *projection.NotConverged
		if errors.As(err, &not) {
			return nil, nil, 0, fmt.Errorf("%s: sample %d: no string of that polarity found; a lower -threshold is easier: %w", j.name, d.Len(), err)
		}
		return nil, nil, 0, fmt.Errorf("%s: %w", j.name, err)
	}
	seconds = time.Since(start).Seconds()
	for i := range o.n {
		out = append(out, c.text(x[i*c.sites:(i+1)*c.sites]))
	}
	return out, x, seconds, nil
}
