package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
	"github.com/gibbsite-go/gibbsite/sampler/langevin"
)

// Settings of the methods to compare with, chosen on the market of seed 2 among nearby powers of
// √10: the Langevin step by the return, the weight of the penalty by the mean violation.
const (
	langevinStep = 3e-3 // step size of Langevin chains
	guidance     = 1e-3 // weight of the penalty
)

var names = []string{"pdi", "pdi-net", "pdi-mc", "pdl", "pdm", "dps", "unconstrained", "equal", "minimum-variance", "convex"}

// made and read list the default methods for a generated market and for a file.
var (
	made = []string{"pdi", "pdl", "pdm", "dps", "unconstrained", "equal"}
	read = []string{"pdi", "equal", "minimum-variance", "convex"}
)

var explain = map[string]string{
	"pdi":           "primal–dual inference",
	"pdi-net":       "the same by a network",
	"pdi-mc":        "the same, Monte Carlo",
	"pdl":           "primal–dual Langevin",
	"pdm":           "projected diffusion",
	"dps":           "penalty guidance",
	"unconstrained": "no budgets",
	"equal":         "equal weights",

	"minimum-variance": "minimum variance",
	"convex":           "convex optimum",
}

// variant is a method with the name and the description used in reports. If change is set, the
// method solves a copy of the problem that change has modified.
type variant struct {
	name, words, method string
	change              func(ctx context.Context, p *problem) error
}

// problem is a market with risk budgets for its assets.
type problem struct {
	options
	law      *law
	held     [][]float64 // returns in the held-out periods, one row each
	notes    []string
	schedule noise.Schedule // noise schedule of diffusions; nil for the cosine schedule
	frozen   []float64      // the multipliers of method fixed

	*lessons // shared by copies of the problem
}

func newProblem(o options) (*problem, error) {
	m, held, notes, err := o.market()
	if err != nil {
		return nil, err
	}
	if o.cold == 0 {
		o.cold = 4 * float64(len(m.mean))
	}
	l, err := newLaw(m, o.budget, 1/o.cold)
	return &problem{options: o, law: l, held: held, notes: notes, lessons: &lessons{}}, err
}

// scale returns the number of periods per year, 1 without a file.
func (p *problem) scale() float64 {
	if p.csv == "" {
		return 1
	}
	return p.year
}

// all solves the problem by every chosen variant.
func (p *problem) all(ctx context.Context) (all []figures, err error) {
	for _, v := range p.variants {
		f, err := p.solve(ctx, v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.name, err)
		}
		all = append(all, *f)
	}
	return all, nil
}

// solve draws samples by one variant and evaluates them.
func (p *problem) solve(ctx context.Context, by variant) (*figures, error) {
	start, f := command.Processor(), &figures{}
	if by.change != nil {
		own := *p
		if err := by.change(ctx, &own); err != nil {
			return nil, err
		}
		p = &own
	}
	var x []float64 // weights
	var z []float32 // or their logarithms
	var err error
	switch by.method {
	case "equal":
		z = make([]float32, p.law.Sites())
	case "minimum-variance":
		x, err = newQuadratic(p.law.market).least(ctx)
	case "convex":
		b := p.law.budget / p.law.unit * float64(p.law.Sites())
		var bound float64
		if x, bound, err = newQuadratic(p.law.market).within(ctx, b); err == nil {
			f.Bound = &bound
		}
	case "pdl":
		z, err = p.langevin(ctx)
	default:
		z, err = p.diffuse(ctx, by.method, f)
		if by.method == "pdi" {
			p.path = f.path
		}
	}
	if err != nil {
		return nil, err
	}
	if x == nil {
		n := p.law.Sites()
		x = make([]float64, len(z))
		for k := 0; k < len(z); k += n {
			softmax(x[k:k+n], z[k:k+n])
		}
	}
	f.Method, f.words, f.Seconds = by.name, by.words, command.Processor()-start
	p.measure(f, x)
	return f, nil
}

// prices returns the initial multipliers.
func (p *problem) prices() []float64 {
	n := p.law.Sites()
	return slices.Repeat([]float64{start / float64(n)}, n)
}

// diffuse runs the reverse diffusion of a method.
func (p *problem) diffuse(ctx context.Context, name string, f *figures) ([]float32, error) {
	var predictor pdi.Predictor = newFit(p.law)
	cfg := pdi.Config{Fixed: true, Start: p.frozen}
	var err error
	switch name {
	case "pdi-mc":
		predictor, err = pdi.NewGibbsScore(p.law, pdi.GibbsOptions{Candidates: p.candidates, Center: []float64{0}, Spread: []float64{1}, Score: true})
	case "pdi-net":
		predictor, err = p.network(ctx)
	}
	if err != nil {
		return nil, err
	}
	if name == "pdi" || name == "pdi-mc" || name == "pdi-net" {
		cfg = pdi.Config{Rule: relative{p.law.budget, p.steps}, Start: p.prices(), Scarce: true} // Warning is printed
	}
	primalDual, err := pdi.New(ctx, predictor, cfg)
	if err != nil {
		return nil, err
	}
	var d energy.Denoiser[float32] = primalDual
	switch name {
	case "pdm":
		d = pdi.Projected{Base: d, Onto: p.law.within}
	case "dps":
		d = guided{d, p.law}
	}
	bar := progress.New(name)
	defer bar.Done()
	schedule := p.schedule
	if schedule == nil {
		schedule = noise.CosineBar{}
	}
	run, err := diffusion.New(ctx, d, diffusion.Process[float32](diffusion.Gaussian{Eta: 1, Schedule: schedule}),
		diffusion.Config{Steps: p.steps, Batch: p.samples, Seed: p.seed, Progress: bar.Set})
	if err != nil {
		return nil, err
	}
	z := make([]float32, p.samples*p.law.Sites())
	if err := run.Sample(ctx, z); err != nil {
		return nil, err
	}
	f.warning = primalDual.Warning()
	if name == "pdi-mc" {
		for _, e := range primalDual.Effective() {
			f.Candidates += e / float64(primalDual.Steps())
		}
	}
	if !cfg.Fixed {
		f.course = p.course(primalDual)
		f.path = make([][]float64, primalDual.Steps())
		for k := range f.path {
			lambda, _ := primalDual.At(k)
			f.path[k] = slices.Clone(lambda)
		}
	}
	return z, nil
}

// course returns, for every step of the last batch, the number of budgets that the mean
// predictions exceed by more than 1 %.
func (p *problem) course(d *pdi.Denoiser) []float64 {
	c := make([]float64, d.Steps())
	for t := range c {
		_, mean := d.At(t)
		for _, g := range mean {
			if g > tolerance*p.law.budget {
				c[t]++
			}
		}
	}
	return c
}

// langevin runs Langevin chains with multipliers that are updated along with them.
func (p *problem) langevin(ctx context.Context) ([]float32, error) {
	bar := progress.New("pdl")
	defer bar.Done()
	chains, err := langevin.New(ctx, p.law, langevin.Config{Chains: p.samples, Seed: p.seed, Warmup: -1, Unadjusted: true, StepSize: langevinStep})
	if err != nil {
		return nil, err
	}
	inf, err := dual.NewInference(ctx, p.law, chains, dual.Config{Rule: relative{p.law.budget, p.steps}, Start: p.prices(),
		Observe: func(step int, _, _ []float64) { bar.Set(step+1, p.steps) }})
	if err != nil {
		return nil, err
	}
	if err := inf.Run(ctx, p.steps); err != nil {
		return nil, err
	}
	return chains.States(), nil
}

// cuts is the maximum number of rounds of within.
const cuts = 200

// within moves a portfolio to one in which every asset keeps its budget, if possible. It
// multiplies the weights of assets over budget by √(b/c_j), with c_j the contribution of asset
// j, and rescales all weights to sum 1. The feasible set is not convex; the result is a point of
// it near z, but not the nearest.
func (l *law) within(z []float32) {
	p := l.scratch.Get().(*space)
	defer l.scratch.Put(p)
	for range cuts {
		softmax(p.x, z)
		l.cov.times(p.s, p.x, nil, nil)
		moved := false
		for j, x := range p.x {
			if c := l.unit * x * p.s[j]; c > l.budget*(1+1e-6) {
				z[j] += float32(math.Log(l.budget/c) / 2)
				moved = true
			}
		}
		if !moved {
			return
		}
	}
}

// guided is the penalty baseline: pdi.Guided with all terms at once. It moves predictions down
// the gradient of ½Σ_j max(0, g_j)².
type guided struct {
	energy.Denoiser[float32]
	law *law
}

// Denoise stores the guided predictions in v. It implements energy.Denoiser.
func (d guided) Denoise(ctx context.Context, v []float32, q energy.Noised[float32]) error {
	if err := d.Denoiser.Denoise(ctx, v, q); err != nil {
		return err
	}
	p := d.law.scratch.Get().(*space)
	defer d.law.scratch.Put(p)
	n := d.law.Sites()
	w := make([]float64, n)
	for k := 0; k < len(v); k += n {
		z := v[k : k+n]
		d.law.Violation(w, z)
		for j := range w {
			w[j] = max(w[j], 0)
		}
		d.law.pull(p, z, w, 0)
		for i, g := range p.t {
			z[i] -= float32(min(max(guidance*g, -farthest), farthest))
		}
	}
	return nil
}
