package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/examples/internal/corpus"
	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/scored"
)

// job is one run: how to generate samples and which condition they must satisfy.
type job struct {
	name, what string
	projector  diffusion.Projector // constraint; nil for none
	holds      func(text string) bool
	judge      constraint.Set // score; nil for none
	guide      string         // name of the guidance; "" for none
}

// exact says which distribution the samples follow. everyStep tells whether every step of the
// diffusion is projected.
func (j job) exact(everyStep bool) string {
	if j.projector == nil {
		return command.Free
	}
	if j.judge != nil {
		return command.Ahead
	}
	text := command.Steps
	if !everyStep {
		text = command.SomeSteps
	}
	if _, language := j.projector.(projection.Path); !language {
		text = command.Excluding(text)
	}
	if j.guide != "" {
		text = command.Changed("guidance", text)
	}
	return text
}

// jobs returns the runs. All except the first are restricted to the syntax. score is that of
// [inaccessibility].
func jobs(ctx context.Context, c *corpus.Corpus, least float64, score func(string) float64, o options) ([]job, error) {
	language, err := corpus.Syntax(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("syntax: %w", err)
	}
	count, isCount, countText, err := corpus.Count(c, o.count)
	if err != nil {
		return nil, err
	}
	expression, matches, regexText, err := corpus.Expression(ctx, c, o.regex)
	if err != nil {
		return nil, err
	}
	novel := corpus.NewSeen(c, projection.Path{Language: language})
	all := []job{
		{name: "unconstrained", what: "balanced, but nothing asks for it", holds: corpus.Balanced},
		{name: "syntax", what: "brackets balanced, ring digits in pairs", projector: projection.Path{Language: language}, holds: corpus.Balanced},
		{name: "novel", what: c.Novel(), projector: novel, holds: both(novel.Judge())},
	}
	for _, j := range []struct {
		name, what string
		language   constraint.Automaton
		holds      func(string) bool
	}{{"count", countText, count, isCount}, {"regex", regexText, expression, matches}} {
		within, err := constraint.Intersect(language, j.language)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", j.name, err)
		}
		all = append(all, job{name: j.name, what: j.what, projector: projection.Path{Language: within}, holds: both(j.holds)})
	}
	if c.Chemical {
		within := projection.Path{Language: language}
		all = append(all, surfaces(c, within, o.shares)...)
		all = append(all, accessibles(c, within, score, o.thresholds)...)
		all = append(all, leaning(c, within, novel, least, o)...)
	}
	return all, nil
}

// both returns a function that checks the syntax and f.
func both(f func(string) bool) func(string) bool {
	return func(s string) bool { return corpus.Balanced(s) && f(s) }
}

// generate draws the samples of a job, one token per step in random order. It returns the number
// of failures in failed.
func generate(ctx context.Context, c *corpus.Corpus, n *networks, j job, o options) (out []string, failed int, seconds float64, err error) {
	model, err := n.denoiser(c, j.guide, o.scale)
	if err != nil {
		return nil, 0, 0, err
	}
	bar := progress.New(j.name)
	defer bar.Done()
	start := time.Now()
	x := make([]int32, o.n*c.Sites)
	process := diffusion.Masked{Mask: mask(c), FirstHitting: true}
	if j.judge == nil {
		err = sample(ctx, model, process, j, o, x, bar)
	} else {
		err = lookAhead(ctx, model, process, j, o, x, bar)
	}
	each := make(diffusion.SampleErrors, o.n)
	if err != nil && (!errors.As(err, &each) || j.judge == nil && each.Failed() == o.n) {
		return nil, 0, 0, fmt.Errorf("%s: %w", j.name, err)
	}
	seconds = time.Since(start).Seconds()
	for i, v := range each {
		if v != nil {
			failed++
			continue
		}
		out = append(out, c.Text(x[i*c.Sites:(i+1)*c.Sites]))
	}
	return out, failed, seconds, nil
}

// sample fills x with samples of a job without a score. The error may be a
// diffusion.SampleErrors.
func sample(ctx context.Context, model energy.Denoiser[int32], process diffusion.Masked, j job, o options, x []int32, bar *progress.Bar) error {
	d, err := diffusion.New(ctx, model, process, diffusion.Config{
		Seed: o.seed, Projector: j.projector, ProjectEvery: o.every, ProjectStart: o.start, Progress: bar.Set,
	})
	if err != nil {
		return err
	}
	return d.Sample(ctx, x)
}

// lookAhead fills x with samples that the job's score accepts. The error may be a
// diffusion.SampleErrors.
func lookAhead(ctx context.Context, model energy.Denoiser[int32], process diffusion.Process[int32], j job, o options, x []int32, bar *progress.Bar) error {
	d, err := scored.New(ctx, model, process, scored.Config{Judge: j.judge, Within: j.projector, Seed: o.seed, Progress: bar.Set})
	if err != nil {
		return err
	}
	return d.Sample(ctx, x)
}
