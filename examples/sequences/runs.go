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
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/scored"
)

// job is one run: how to generate and what must hold.
type job struct {
	name, what string
	projector  diffusion.Projector // nil: no constraint
	process    string              // of the noise, one of processes
	judge      constraint.Set      // nil: no score
	holds      func(text string) bool
}

// jobs lists the runs. All but the first are within the syntax.
func jobs(ctx context.Context, c *corpus.Corpus, o options) ([]job, error) {
	language, err := corpus.Syntax(ctx, c)
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
		{"unconstrained", "balanced, but nothing asks for it", nil, firstHitting, nil, corpus.Balanced},
		{"syntax", "brackets balanced, ring digits in pairs", projection.Path{Language: language}, firstHitting, nil, corpus.Balanced},
		{"novel", c.Novel(), novel, firstHitting, nil, both(novel.Judge())},
		{"count", countText, countPath, firstHitting, nil, both(isCount)},
		{"regex", regexText, regexPath, firstHitting, nil, both(matches)},
		scoreJob(model, c, threshold, projection.Path{Language: language, Name: "polarity"}, o.process,
			both(func(s string) bool { return corpus.Polarity(s) >= threshold })),
	}, nil
}

// The processes of the score run.
const (
	masked       = "masked"
	firstHitting = "first-hitting"
	remask       = "remask"
	uniform      = "uniform"
)

var processes = []string{masked, firstHitting, remask, uniform}

// scoreJob is the run that only a score describes. Under masks its judge is asked
// ahead of every token; under uniform noise a fitted model leads by derivatives.
func scoreJob(m *property, c *corpus.Corpus, threshold float64, path projection.Path, process string, holds func(string) bool) job {
	score := m.score(c, threshold)
	if process == uniform {
		what := fmt.Sprintf("polarity ≥ %.3g, uniform noise, led by a model that explains %.0f %%", threshold, 100*m.fit)
		return job{"score", what, lagrange.Projector{Constraint: score, Path: path}, process, nil, holds}
	}
	return job{"score", fmt.Sprintf("polarity ≥ %.3g, %s, looking ahead", threshold, process), path, process, score, holds}
}

// processOf is the process of a job.
func processOf(j job, c *corpus.Corpus) diffusion.Process[int32] {
	mask := int32(c.Levels)
	switch j.process {
	case masked:
		return diffusion.Masked{Mask: mask}
	case remask:
		return diffusion.Remask{Mask: mask}
	case uniform:
		return diffusion.Uniform{}
	}
	return diffusion.Masked{Mask: mask, FirstHitting: true}
}

// runner is what draws samples: a diffusion, or particles.
type runner interface {
	Sample(ctx context.Context, x []int32) error
	LoadFile(ctx context.Context, path string) error
}

// newRunner returns particles where they are asked for and can be had: they
// correct the distribution of runs that are conditioned on a language.
func newRunner(ctx context.Context, model energy.Denoiser[int32], process diffusion.Process[int32], j job, o options, cfg diffusion.Config) (runner, error) {
	if _, language := j.projector.(projection.Path); language && o.particles > 1 {
		return diffusion.NewParticles(ctx, model, process, diffusion.ParticlesConfig{Config: cfg, Particles: o.particles})
	}
	return diffusion.New(ctx, model, process, cfg)
}

// generate makes the samples of a job: x holds the tokens of those that could be
// made, failed is the number of the others.
func generate(ctx context.Context, c *corpus.Corpus, m *model.Markov, j job, o options) (out []string, x []int32, failed int, seconds float64, err error) {
	corruption, process := denoise.Absorbing, processOf(j, c)
	if j.process == uniform {
		corruption = denoise.Noisy
	}
	model, err := denoise.NewMarkov(m, corruption)
	if err != nil {
		return nil, nil, 0, 0, err
	}
	bar := progress.New(j.name)
	defer bar.Done()
	start := time.Now()
	x = make([]int32, o.n*c.Sites)
	if j.judge != nil {
		x, failed, err = lookAhead(ctx, model, process, j, o, x, bar)
	} else {
		x, failed, err = sample(ctx, model, process, j, o, x, bar)
	}
	if err != nil {
		return nil, nil, 0, 0, fmt.Errorf("%s: %w", j.name, err)
	}
	seconds = time.Since(start).Seconds()
	for i := range len(x) / c.Sites {
		out = append(out, c.Text(x[i*c.Sites:(i+1)*c.Sites]))
	}
	return out, x, failed, seconds, nil
}

// sample fills x by a runner, and returns the samples that could be made and how
// many could not.
func sample(ctx context.Context, model energy.Denoiser[int32], process diffusion.Process[int32], j job, o options, x []int32, bar *progress.Bar) (made []int32, failed int, err error) {
	cfg := diffusion.Config{Seed: o.seed, Steps: o.steps, Projector: j.projector, Progress: bar.Set}
	cfg.Checkpoint.Path, cfg.Checkpoint.Every = o.Path(j.name), max(1, o.n/20)
	d, err := newRunner(ctx, model, process, j, o, cfg)
	if err == nil {
		err = o.Load(ctx, j.name, d.LoadFile)
	}
	if err != nil {
		return nil, 0, err
	}
	return keep(x, d.Sample(ctx, x))
}

// keep returns the rows of x that could be made and how many could not, by the error
// of the call that made them; if none could, why.
func keep(x []int32, call error) (made []int32, failed int, err error) {
	var each diffusion.SampleErrors
	if !errors.As(call, &each) {
		return x, 0, call
	}
	sites := len(x) / len(each)
	for i, v := range each {
		if v == nil {
			made = append(made, x[i*sites:(i+1)*sites]...)
			continue
		}
		failed, err = failed+1, v
	}
	if len(made) > 0 {
		return made, failed, nil
	}
	var led *projection.NotConverged
	var ahead *scored.NotConverged
	if errors.As(err, &led) || errors.As(err, &ahead) {
		err = fmt.Errorf("%s: %w", nothing, err)
	}
	return nil, 0, err
}

// nothing is what a threshold beyond reach comes to.
const nothing = "no string of that polarity found; a lower -threshold is easier"

// lookAhead fills x by a runner that asks the judge, and returns the samples that
// satisfy it and how many do not. It keeps no checkpoint.
func lookAhead(ctx context.Context, model energy.Denoiser[int32], process diffusion.Process[int32], j job, o options, x []int32, bar *progress.Bar) (made []int32, failed int, err error) {
	d, err := scored.New(ctx, model, process, scored.Config{
		Judge: j.judge, Within: j.projector, Seed: o.seed, Steps: o.steps, Progress: bar.Set,
	})
	if err != nil {
		return nil, 0, err
	}
	return keep(x, d.Sample(ctx, x))
}
