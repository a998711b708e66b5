package main

import (
	"context"
	"fmt"
	"time"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/examples/internal/corpus"
	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// job is one run: how to generate and what must hold.
type job struct {
	name, what string
	projector  diffusion.Projector // nil: no constraint
	holds      func(text string) bool
}

// jobs lists the runs. All but the first are within the syntax.
func jobs(ctx context.Context, c *corpus.Corpus, o options) ([]job, error) {
	language, err := corpus.Syntax(c)
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
		{"unconstrained", "balanced, but nothing asks for it", nil, corpus.Balanced},
		{"syntax", "brackets balanced, ring digits in pairs", projection.Path{Language: language}, corpus.Balanced},
		{"novel", "not in the training set", novel, both(novel.Judge())},
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
		all = append(all, job{j.name, j.what, projection.Path{Language: within}, both(j.holds)})
	}
	return all, nil
}

// both returns a judge of the syntax and of more.
func both(f func(string) bool) func(string) bool {
	return func(s string) bool { return corpus.Balanced(s) && f(s) }
}

// generate makes the samples of a job, one token per step in random order.
func generate(ctx context.Context, c *corpus.Corpus, net *neural.Transformer, j job, o options) (out []string, seconds float64, err error) {
	model, err := neural.NewMasked(net, mask(c), neural.Options{TimeFree: true})
	if err != nil {
		return nil, 0, err
	}
	bar := progress.New(j.name)
	defer bar.Done()
	d, err := diffusion.New(ctx, model, diffusion.Masked{Mask: mask(c), FirstHitting: true}, diffusion.Config{
		Seed: o.seed, Projector: j.projector, Progress: bar.Set,
	})
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", j.name, err)
	}
	start := time.Now()
	x := make([]int32, o.n*c.Sites)
	if err := d.Sample(ctx, x); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", j.name, err)
	}
	seconds = time.Since(start).Seconds()
	for i := range o.n {
		out = append(out, c.Text(x[i*c.Sites:(i+1)*c.Sites]))
	}
	return out, seconds, nil
}
