package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// marks is the number of times that the training log-likelihood is recorded during a run.
const marks = 40

// compare runs the samplers chosen by -method.
func compare(ctx context.Context, o options, d *data) (*report, error) {
	if o.batch > len(d.train.y) {
		return nil, fmt.Errorf("-batch = %d, want at most the %d rows for training", o.batch, len(d.train.y))
	}
	m, err := neural.NewPosterior(d.train.x, d.train.y, o.hidden, o.weight, o.batch)
	if err != nil {
		return nil, err
	}
	r := &report{
		Problem: d.name, Rows: len(d.train.y), TestRows: len(d.test.y), Inputs: len(d.train.x) / len(d.train.y),
		Hidden: o.hidden, Chains: o.chains, Steps: o.steps, Batch: o.batch, paper: o.csv == "" && o.shape == "compas",
	}
	r.Weights, _ = m.Shape()
	average := mean(d.train.y)
	for _, y := range d.train.y {
		r.Baseline -= (float64(y) - average) * (float64(y) - average) / float64(len(d.train.y))
	}
	for _, name := range methods {
		if !o.chosen[name] {
			continue
		}
		v, err := sample(ctx, o, name, m, d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		r.Runs = append(r.Runs, v)
	}
	return r, r.draw()
}

// sample runs one sampler from random weights and evaluates its final states.
func sample(ctx context.Context, o options, name string, m *neural.Posterior, d *data) (outcome, error) {
	v := outcome{Method: name}
	at := 0 // steps made
	bar := progress.New(name)
	cfg := sampler.Config{Chains: o.chains, Seed: o.seed, Warmup: -1}
	cfg.Progress = func(done, _ int) { bar.Set(at+done, o.steps) }
	chains, err := sampler.NewChains(ctx, m, o.recipe(name), cfg)
	if err != nil {
		return v, err
	}
	e, spent := make([]float64, o.chains), time.Duration(0)
	likelihood := func() float64 {
		chains.Energy(e, chains.States())
		sum := 0.0
		for _, e := range e {
			sum -= e / o.weight / float64(o.chains)
		}
		return sum
	}
	v.trace = []mark{{0, likelihood()}}
	for at < o.steps {
		n := max(1, o.steps/marks)
		n = min(n, o.steps-at)
		start := time.Now()
		if err := chains.Run(ctx, n); err != nil {
			return v, err
		}
		spent += time.Since(start)
		at += n
		v.trace = append(v.trace, mark{at, likelihood()})
	}
	bar.Done()
	v.TrainLogLik = v.trace[len(v.trace)-1].value
	v.MsPerStep = spent.Seconds() * 1e3 / float64(o.steps)
	v.Acceptance = chains.Stats().Accept
	v.judge(m, chains.States(), d.test)
	return v, nil
}

// judge stores in v the test results of the chains' mean prediction.
func (v *outcome) judge(m *neural.Posterior, states []int32, test part) {
	n, _ := m.Shape()
	chains := len(states) / n
	p, sum := make([]float32, len(test.y)), make([]float64, len(test.y))
	for s := range chains {
		m.Predict(p, states[s*n:(s+1)*n], test.x)
		for i, f := range p {
			sum[i] += float64(f) / float64(chains)
		}
	}
	square, right := 0.0, 0
	for i, y := range test.y {
		square += (sum[i] - float64(y)) * (sum[i] - float64(y)) / float64(len(test.y))
		if (sum[i] > 0.5) == (y > 0.5) {
			right++
		}
	}
	v.TestLogLik, v.TestRMSE = -square, math.Sqrt(square)
	v.Accuracy = float64(right) / float64(len(test.y))
}

func mean(y []float32) float64 {
	sum := 0.0
	for _, v := range y {
		sum += float64(v)
	}
	return sum / float64(len(y))
}
