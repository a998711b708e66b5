package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/examples/internal/corpus"
	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/projection/lagrange"
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
func jobs(ctx context.Context, c *corpus.Corpus, o options) ([]job, error) {
	language, err := corpus.Syntax(c)
	if err != nil {
		return nil, fmt.Errorf("syntax: %w", err)
	}
	within := func(a constraint.Automaton) (projection.Path, error) {
		both, err := constraint.Intersect(language, a)
		return projection.Path{Language: both}, err
	}
	counted, isCount, countText, err := corpus.Count(c, o.count)
	if err != nil {
		return nil, err
	}
	countPath, err := within(counted)
	if err != nil {
		return nil, err
	}
	matching, matches, regexText, err := corpus.Expression(ctx, c, o.regex)
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
	novel := corpus.NewSeen(c, projection.Path{Language: language})
	both := func(f func(string) bool) func(string) bool {
		return func(s string) bool { return corpus.Balanced(s) && f(s) }
	}
	return []job{
		{"unconstrained", "balanced, but nothing asks for it", nil, false, corpus.Balanced},
		{"syntax", "brackets balanced, ring digits in pairs", projection.Path{Language: language}, false, corpus.Balanced},
		{"novel", "not in the training set", novel, false, both(novel.Judge())},
		{"count", countText, countPath, false, both(isCount)},
		{"regex", regexText, regexPath, false, both(matches)},
		{"score", fmt.Sprintf("polarity ≥ %.3g, led by a model that explains %.0f %%", threshold, 100*model.fit),
			lagrange.Projector{Constraint: model.score(c, threshold), Path: projection.Path{Language: language, Name: "polarity"}},
			true, both(func(s string) bool { return corpus.Polarity(s) >= threshold })},
	}, nil
}

// runner is what draws samples: a diffusion, or particles.
type runner interface {
	Sample(ctx context.Context, x []int32) error
	Len() int
	LoadFile(path string) error
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
func generate(ctx context.Context, c *corpus.Corpus, m *model.Markov, j job, o options) (out []string, x []int32, seconds float64, err error) {
	corruption, process := denoise.Absorbing, diffusion.Process[int32](diffusion.Masked{Mask: int32(c.Levels), FirstHitting: true})
	if j.uniform {
		corruption, process = denoise.Noisy, diffusion.Uniform{}
	}
	model, err := denoise.NewMarkov(m, corruption)
	if err != nil {
		return nil, nil, 0, err
	}
	bar := progress.New(j.name)
	defer bar.Done()
	cfg := diffusion.Config{Seed: o.seed, Steps: o.steps, Projector: j.projector, Progress: bar.Set}
	cfg.Checkpoint.Path, cfg.Checkpoint.Every = o.Path(j.name), max(1, o.n/20)
	d, err := newRunner(ctx, model, process, j, o, cfg)
	if err == nil {
		err = o.Load(j.name, d.LoadFile)
	}
	if err != nil {
		return nil, nil, 0, fmt.Errorf("%s: %w", j.name, err)
	}
	start := time.Now()
	x = make([]int32, o.n*c.Sites)
	if err := d.Sample(ctx, x); err != nil {
		var not *projection.NotConverged
		if errors.As(err, &not) {
			return nil, nil, 0, fmt.Errorf("%s: sample %d: no string of that polarity found; a lower -threshold is easier: %w", j.name, d.Len(), err)
		}
		return nil, nil, 0, fmt.Errorf("%s: %w", j.name, err)
	}
	seconds = time.Since(start).Seconds()
	for i := range o.n {
		out = append(out, c.Text(x[i*c.Sites:(i+1)*c.Sites]))
	}
	return out, x, seconds, nil
}
