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
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/examples/internal/corpus"
	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/projection/lagrange"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/scored"
)

// job is one run: how to generate samples and which condition they must satisfy.
type job struct {
	name, what string
	projector  diffusion.Projector // constraint; nil for none
	process    string              // name of the noise process, one of processes
	judge      constraint.Set      // score that guides the samples; nil for none
	holds      func(text string) bool
}

// exact says which distribution the samples follow with this number of particles.
func (j job) exact(particles int) string {
	_, language := j.projector.(projection.Path)
	switch {
	case j.projector == nil:
		return command.Free
	case j.judge != nil:
		return command.Ahead
	case j.process == uniform:
		return command.Moved
	case !language:
		return command.Excluding(command.Steps)
	case particles > 1:
		return command.Weighted
	}
	return command.Steps
}

// jobs returns the runs. All except the first are restricted to the syntax.
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

// The noise processes of the score run.
const (
	masked       = "masked"        // masked noise, with several tokens unmasked per step
	firstHitting = "first-hitting" // masked noise, with one token unmasked per step
	remask       = "remask"        // masked noise, with tokens that can be masked again
	uniform      = "uniform"       // uniform noise, which replaces tokens by random ones
)

var processes = []string{masked, firstHitting, remask, uniform}

// scoreJob returns the run that is constrained by a score. Under masked noise, the score is
// evaluated for each candidate token before it is drawn. Under uniform noise, the gradient of
// the fitted model guides the samples.
func scoreJob(m *property, c *corpus.Corpus, threshold float64, path projection.Path, process string, holds func(string) bool) job {
	score := m.score(c, threshold)
	if process == uniform {
		what := fmt.Sprintf("polarity ≥ %.3g, uniform noise, led by a model that explains %.0f %%", threshold, 100*m.fit)
		return job{"score", what, lagrange.Projector{Constraint: score, Path: path}, process, nil, holds}
	}
	return job{"score", fmt.Sprintf("polarity ≥ %.3g, %s, looking ahead", threshold, process), path, process, score, holds}
}

// processOf returns the noise process of a job.
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

// runner draws samples. It is a diffusion or a set of particles.
type runner interface {
	Sample(ctx context.Context, x []int32) error
	LoadFile(ctx context.Context, path string) error
}

// newRunner returns particles if -particles asks for them and the job is conditioned on a
// language, whose distribution they correct. Otherwise it returns a diffusion.
func newRunner(ctx context.Context, model energy.Denoiser[int32], process diffusion.Process[int32], j job, o options, cfg diffusion.Config) (runner, error) {
	if _, language := j.projector.(projection.Path); language && o.particles > 1 {
		return diffusion.NewParticles(ctx, model, process, diffusion.ParticlesConfig{Config: cfg, Particles: o.particles})
	}
	return diffusion.New(ctx, model, process, cfg)
}

// generate draws the samples of a job. It returns the tokens of the successful samples in x and
// the number of failures in failed.
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

// sample fills x with a runner's samples. It returns the successful samples and the number of
// failures.
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

// keep returns the successful rows of x and the number of failed ones, given the error of the
// call that drew them. If all failed, it returns the error of the last one.
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

// nothing explains that no string reaches the threshold.
const nothing = "no string of that polarity found; a lower -threshold is easier"

// lookAhead fills x with a sampler that evaluates the score ahead of each token. It returns the
// samples that satisfy the constraint and the number of the others. It writes no checkpoint.
func lookAhead(ctx context.Context, model energy.Denoiser[int32], process diffusion.Process[int32], j job, o options, x []int32, bar *progress.Bar) (made []int32, failed int, err error) {
	d, err := scored.New(ctx, model, process, scored.Config{
		Judge: j.judge, Within: j.projector, Seed: o.seed, Steps: o.steps, Progress: bar.Set,
	})
	if err != nil {
		return nil, 0, err
	}
	return keep(x, d.Sample(ctx, x))
}
