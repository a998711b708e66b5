package main

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
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

// Step size, start and maximum of the multipliers in the paper.
const (
	eta        = 0.05 // step size of the multipliers
	firstPrice = 10.0 // initial value of the multipliers
	topPrice   = 50.0 // maximum of the multipliers
)

// Settings of the methods to compare with. Those of Langevin chains are the paper's (appendix
// E), with multipliers starting at 0 and powers at half. The guidance weight is the one of 1/32
// … 1 that leaves the least violation for 50 users.
const (
	langevinStep = 1e-4 // step size of the chains
	langevinEta  = 1.0  // step size of the multipliers
	guidance     = 1.0  // weight of the penalty
)

// enough is the amount by which a rate may miss the least rate and still count as feasible, as
// in the paper.
const enough = 0.01

// variant is a method for drawing samples, with the name and the description used in reports.
type variant struct {
	name, words string
	draw        func(ctx context.Context, p *problem) ([]float32, error)
	least       float64 // least rate for evaluating the samples; 0 for -least
}

var methods = []variant{
	{name: "pdi", words: "primal–dual inference", draw: paper},
	{name: "pdi-net", words: "the same by a network", draw: inferred(false)},
	{name: "pdi-net-st", words: "by a network that learns from ST first", draw: inferred(true)},
	{name: "dt", words: "dual training", draw: tied(false)},
	{name: "dt+", words: "dual training, half as long again", draw: tied(true)},
	{name: "pdl", words: "primal–dual Langevin, multipliers per sample", draw: langevinOf(false)},
	{name: "pdl-shared", words: "primal–dual Langevin, shared multipliers", draw: langevinOf(true)},
	{name: "pdm", words: "projected diffusion", draw: projected},
	{name: "dps", words: "penalty guidance", draw: guided},
	{name: "st", words: "ST, a network that learns from Langevin chains", draw: supervised},
	{name: "unconstrained", words: "no constraints", draw: unconstrained},
}

// problem is a network of users with the data that the methods share.
type problem struct {
	options
	net      *radio
	score    *pdi.GibbsScore
	schedule noise.Schedule // noise schedule of diffusions; nil for the cosine schedule

	doubt     string // warning of the last diffusion; "" for none
	path      []step // multipliers and violations in the last batch of the last diffusion
	reference []step // path of the run over which multipliers are averaged

	lessons
}

// step holds the multipliers at one diffusion step and the mean violations there.
type step struct{ lambda, violation []float64 }

func newProblem(o options) (*problem, error) {
	p := &problem{options: o}
	var err error
	if p.net, err = newRadio(o.users, o.fades, o.spacing, o.seed); err != nil {
		return nil, err
	}
	p.score, err = p.estimate(o.cold, o.least)
	return p, err
}

// estimate returns the Monte Carlo score at the inverse temperature cold and the given least
// rate.
func (p *problem) estimate(cold, least float64) (*pdi.GibbsScore, error) {
	return pdi.NewGibbsScore(newTarget(p.net, least, cold), pdi.GibbsOptions{Candidates: p.candidates, Score: true})
}

// solve draws samples by one variant and evaluates them.
func (p *problem) solve(ctx context.Context, v variant) (*figures, error) {
	start := command.Processor()
	p.doubt, p.path = "", nil
	x, err := v.draw(ctx, p)
	if err != nil {
		return nil, err
	}
	seconds := command.Processor() - start
	f := p.measure(x, cmp.Or(v.least, p.least))
	f.Method, f.words, f.Warning, f.Seconds, f.path, f.powers = v.name, v.words, p.doubt, seconds, p.path, x
	return f, nil
}

// moving returns the paper's inference settings: ascent with a constant step. It suppresses the
// error for few effective candidates, because the paper, too, uses only eight.
func (p *problem) moving() pdi.Config {
	return pdi.Config{
		Rule: dual.Ascent{Step: dual.Constant(eta)}, Start: slices.Repeat([]float64{firstPrice}, p.users), Max: new(topPrice),
		Domain: pdi.Box(-0.5, 0.5), Again: p.again, Scarce: true,
	}
}

// fixed returns the settings of a diffusion with constant multipliers, all 0 if lambda is nil.
func (p *problem) fixed(lambda []float64) pdi.Config {
	return pdi.Config{Fixed: true, Start: lambda, Domain: pdi.Box(-0.5, 0.5), Scarce: true}
}

func paper(ctx context.Context, p *problem) ([]float32, error) {
	return p.infer(ctx, p.score, p.moving(), nil)
}

func unconstrained(ctx context.Context, p *problem) ([]float32, error) {
	return p.infer(ctx, p.score, p.fixed(nil), nil)
}

func projected(ctx context.Context, p *problem) ([]float32, error) {
	return p.infer(ctx, p.score, p.fixed(nil), func(d energy.Denoiser[float32]) energy.Denoiser[float32] {
		return pdi.Projected{Base: d, Onto: p.raise}
	})
}

func guided(ctx context.Context, p *problem) ([]float32, error) {
	return p.infer(ctx, p.score, p.fixed(nil), func(d energy.Denoiser[float32]) energy.Denoiser[float32] {
		return pdi.Guided{Base: d, Terms: []energy.Scored{shortfall{newTarget(p.net, p.least, 1)}}, Weight: guidance}
	})
}

// infer runs a diffusion with the predictions of by. If wrap is not nil, it modifies the
// denoiser.
func (p *problem) infer(ctx context.Context, by pdi.Predictor, cfg pdi.Config, wrap func(energy.Denoiser[float32]) energy.Denoiser[float32]) ([]float32, error) {
	primalDual, err := pdi.New(ctx, by, cfg)
	if err != nil {
		return nil, err
	}
	var d energy.Denoiser[float32] = primalDual
	if wrap != nil {
		d = wrap(d)
	}
	x, err := p.diffuse(ctx, d)
	if err != nil {
		return nil, err
	}
	p.doubt = primalDual.Warning()
	for k := range primalDual.Steps() {
		lambda, mean := primalDual.At(k)
		p.path = append(p.path, step{slices.Clone(lambda), slices.Clone(mean)})
	}
	return x, nil
}

// diffuse runs the reverse diffusion of a denoiser. The samples of a batch share their
// multipliers.
func (p *problem) diffuse(ctx context.Context, d energy.Denoiser[float32]) ([]float32, error) {
	bar := progress.New("diffusion")
	defer bar.Done()
	schedule := p.schedule
	if schedule == nil {
		schedule = noise.CosineBar{}
	}
	run, err := diffusion.New(ctx, d, diffusion.Process[float32](diffusion.Gaussian{Eta: 1, Schedule: schedule}),
		diffusion.Config{Steps: p.steps, Batch: min(p.chain, p.samples), Seed: p.seed, Progress: bar.Set})
	if err != nil {
		return nil, err
	}
	x := make([]float32, p.samples*p.users)
	return x, run.Sample(ctx, x)
}

// langevinOf returns a method that draws by primal–dual Langevin. If shared is set, groups of
// p.chain chains share their multipliers; otherwise every chain has its own.
func langevinOf(shared bool) func(ctx context.Context, p *problem) ([]float32, error) {
	return func(ctx context.Context, p *problem) (x []float32, err error) {
		together := 1
		if shared {
			together = p.chain
		}
		for from := 0; from < p.samples; from += together {
			own, err := p.langevin(ctx, min(together, p.samples-from), uint64(from), p.steps, nil)
			if err != nil {
				return nil, err
			}
			x = append(x, own...)
		}
		return x, nil
	}
}

// langevin runs projected chains that share their multipliers, which are updated along with
// them. If seen is not nil, it is called with the states after every step.
func (p *problem) langevin(ctx context.Context, chains int, number uint64, steps int, seen func(step int, x []float32)) ([]float32, error) {
	t := newTarget(p.net, p.least, p.cold)
	run, err := langevin.New(ctx, t, langevin.Config{
		Chains: chains, Seed: p.seed<<20 + number, Warmup: -1, Init: make([]float32, p.users),
		Unadjusted: true, StepSize: langevinStep, Project: pdi.Box(-0.5, 0.5),
	})
	if err != nil {
		return nil, err
	}
	inf, err := dual.NewInference(ctx, t, run, dual.Config{Rule: dual.Ascent{Step: dual.Constant(langevinEta)}, Max: new(topPrice), Diverge: math.Inf(1)})
	if err != nil {
		return nil, err
	}
	each := steps
	if seen != nil {
		each = 1
	}
	var bound *dual.NotConverged // users whom no power serves
	for at := 0; at < steps; at += each {
		if err := inf.Run(ctx, each); err != nil && !errors.As(err, &bound) {
			return nil, err
		}
		if seen != nil {
			seen(at, run.States())
		}
	}
	return run.States(), nil
}

// raises is the maximum number of rounds of raise. For an infeasible network, raise ends at full
// powers.
const raises = 20

// raise modifies the sample x so that every user has the least rate, by power control with
// capped powers (Foschini and Miljanic 1993). It raises each power by the factor that its user
// lacks in effective SINR, 2^rate − 1. It stops when all users have the rate or no power can be
// raised. Without fading, the feasible powers form a polytope; the result is a point of it near
// x, but not the nearest.
func (p *problem) raise(x []float32) {
	need, rates := math.Exp2(p.least)-1, make([]float64, len(x))
	for range raises {
		moved := false
		p.net.rates(rates, x)
		for i, r := range rates {
			have := math.Exp2(r) - 1
			if x[i] >= 0.5 || have >= need*(1-1e-6) {
				continue
			}
			now := max(float64(power(x[i])), 1e-3)
			if to := float32(min(now*min(need/max(have, 1e-9), 10), 1) - 0.5); to > x[i] {
				x[i], moved = to, true
			}
		}
		if !moved {
			return
		}
	}
}

// measure averages rates over samples and computes statistics over users. If there are slots, it
// uses fresh draws of the fading.
func (p *problem) measure(x []float32, least float64) *figures {
	rates, own := make([]float64, p.users), make([]float64, len(x))
	add := func(w *radio, share float64) {
		w.rates(own, x)
		for k, r := range own {
			rates[k%p.users] += r * share * float64(p.users) / float64(len(x))
		}
	}
	r := rand.New(rand.NewPCG(p.seed, 1<<32+uint64(p.users)))
	for range p.slots {
		w := &radio{n: p.users, mean: p.net.mean}
		w.fade(r)
		add(w, 1/float64(p.slots))
	}
	if p.slots == 0 {
		add(p.net, 1)
	}
	f := &figures{}
	for _, r := range rates {
		f.MeanRate += r / float64(p.users)
		f.SumViolation += max(least-r, 0)
		if r >= least-enough {
			f.Feasible += 1 / float64(p.users)
		}
	}
	slices.Sort(rates)
	f.rates = rates
	f.P5, f.P1 = percentile(rates, 0.05), percentile(rates, 0.01)
	return f
}

// percentile returns a quantile of sorted values by linear interpolation, the default of numpy.
func percentile(sorted []float64, part float64) float64 {
	at := part * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}
