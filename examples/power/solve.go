package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
	"github.com/gibbsite-go/gibbsite/sampler/langevin"
)

// The settings of the paper's multipliers: step, start and bound.
const (
	eta        = 0.05
	firstPrice = 10.0
	topPrice   = 50.0
)

// Settings of what it is compared with. Those of Langevin chains are the paper's (appendix E):
// a step of 10⁻⁴ for powers from −½ to ½, which is four times as much from −1 to 1, and
// multipliers that begin at 0, half power. The guidance weight is the best of ⅛ … 4 by the
// violation left at 50 users.
const (
	langevinStep = 4e-4
	langevinEta  = 1.0
	guidance     = 4.0
)

// enough is by how much a rate may be below the least one and count as feasible, as in the
// paper.
const enough = 0.01

var names = []string{"pdi", "pdl", "pdl-shared", "pdm", "dps", "unconstrained"}

var explain = map[string]string{
	"pdi":           "primal–dual inference",
	"pdl":           "primal–dual Langevin, multipliers per sample",
	"pdl-shared":    "primal–dual Langevin, shared multipliers",
	"pdm":           "projected diffusion",
	"dps":           "penalty guidance",
	"unconstrained": "no constraints",
}

// problem is a network with its energies.
type problem struct {
	options
	net   *network
	lag   *dual.RealLagrangian
	score *pdi.GibbsScore
	doubt string // about the last diffusion
}

func newProblem(o options) (*problem, error) {
	p := &problem{options: o}
	var err error
	if p.net, err = newNetwork(o.users, o.fades, o.spacing, o.seed); err != nil {
		return nil, err
	}
	if p.lag, err = p.lagrangian(); err != nil {
		return nil, err
	}
	p.score, err = pdi.NewGibbsScore(p.lag, pdi.GibbsOptions{Candidates: o.candidates, Score: true})
	return p, err
}

// lagrangian has a row for every user.
func (p *problem) lagrangian() (*dual.RealLagrangian, error) {
	users := make([]dual.Constraint[float32], p.users)
	for i := range users {
		users[i] = dual.AtMost(service{p.net, i, p.least}, 0).Named(fmt.Sprint("user ", i), "", 0)
	}
	return dual.NewRealLagrangian(utility{p.net}, 1, users...)
}

// solve draws samples by one method and measures them.
func (p *problem) solve(ctx context.Context, name string) (*figures, error) {
	start := time.Now()
	var x []float32
	var err error
	p.doubt = ""
	switch name {
	case "pdl":
		for k := range p.samples {
			own, err := p.langevin(ctx, 1, uint64(k))
			if err != nil {
				return nil, err
			}
			x = append(x, own...)
		}
	case "pdl-shared":
		x, err = p.langevin(ctx, p.samples, 0)
	default:
		x, err = p.diffuse(ctx, name)
	}
	if err != nil {
		return nil, err
	}
	f := p.measure(x)
	f.Method, f.Warning, f.Seconds = name, p.doubt, time.Since(start).Seconds()
	return f, nil
}

// diffuse runs the reverse diffusion of a method.
func (p *problem) diffuse(ctx context.Context, name string) ([]float32, error) {
	cfg := pdi.Config{Fixed: true, Domain: pdi.Box(-1, 1), Scarce: true} // eight candidates, as in the paper
	if name == "pdi" {
		cfg.Fixed = false
		cfg.Rule = dual.Ascent{Step: dual.Constant(eta)}
		cfg.Start = slices.Repeat([]float64{firstPrice}, p.users)
		cfg.Max = new(topPrice)
		cfg.Again = true // the order of the paper
	}
	primalDual, err := pdi.New(ctx, p.score, cfg)
	if err != nil {
		return nil, err
	}
	var d energy.Denoiser[float32] = primalDual
	switch name {
	case "pdm":
		d = pdi.Projected{Base: d, Onto: p.raise}
	case "dps":
		d = pdi.Guided{Base: d, Terms: p.lag.Terms(), Weight: guidance}
	}
	bar := progress.New(name)
	defer bar.Done()
	run, err := diffusion.New(ctx, d, diffusion.Process[float32](diffusion.Gaussian{Eta: 1, Schedule: noise.CosineBar{}}),
		diffusion.Config{Steps: p.steps, Batch: p.samples, Seed: p.seed, Progress: bar.Set})
	if err != nil {
		return nil, err
	}
	x := make([]float32, p.samples*p.users)
	err = run.Sample(ctx, x)
	p.doubt = primalDual.Warning()
	return x, err
}

// langevin runs projected chains whose multipliers, which all of them share, move with them.
func (p *problem) langevin(ctx context.Context, chains int, number uint64) ([]float32, error) {
	lag, err := p.lagrangian()
	if err != nil {
		return nil, err
	}
	run, err := langevin.New(ctx, lag, langevin.Config{
		Chains: chains, Seed: p.seed<<20 + number, Warmup: -1, Init: make([]float32, p.users),
		Unadjusted: true, StepSize: langevinStep, Project: pdi.Box(-1, 1),
	})
	if err != nil {
		return nil, err
	}
	inf, err := dual.NewInference(ctx, lag, run, dual.Config{Rule: dual.Ascent{Step: dual.Constant(langevinEta)}, Max: new(topPrice), Diverge: math.Inf(1)})
	if err != nil {
		return nil, err
	}
	var bound *dual.NotConverged // users whom no power serves
	if err := inf.Run(ctx, p.steps); err != nil && !errors.As(err, &bound) {
		return nil, err
	}
	return run.States(), nil
}

// raises bounds the rounds of raise: an infeasible network ends at full powers.
const raises = 50

// raise gives every user the least rate in the one sample x by power control as of Foschini
// and Miljanic (1993), with powers capped: it raises the power of those who miss the rate by
// what they miss in effective SINR, 2^rate − 1, until nobody does or nobody can. Without
// fading the set of such powers is a polytope; this is a point of it near x, not the nearest.
func (p *problem) raise(x []float32) {
	need := math.Exp2(p.least) - 1
	for range raises {
		moved := false
		for i := range x {
			if x[i] >= 1 {
				continue
			}
			have := math.Exp2(p.net.rate(i, x)) - 1
			if have >= need*(1-1e-6) {
				continue
			}
			now := max(power(x[i]), 1e-3)
			if to := float32(2*min(now*min(need/max(have, 1e-9), 10), 1) - 1); to > x[i] {
				x[i], moved = to, true
			}
		}
		if !moved {
			return
		}
	}
}

// measure averages rates over samples and compares users.
func (p *problem) measure(x []float32) *figures {
	rates := make([]float64, p.users)
	for s := 0; s < len(x); s += p.users {
		for i := range rates {
			rates[i] += p.net.rate(i, x[s:s+p.users]) * float64(p.users) / float64(len(x))
		}
	}
	f := &figures{}
	for _, r := range rates {
		f.MeanRate += r / float64(p.users)
		f.SumViolation += max(p.least-r, 0)
		if r >= p.least-enough {
			f.Feasible += 1 / float64(p.users)
		}
	}
	slices.Sort(rates)
	f.rates = rates
	f.P5, f.P1 = percentile(rates, 0.05), percentile(rates, 0.01)
	return f
}

// percentile interpolates between sorted values, as numpy does by default.
func percentile(sorted []float64, part float64) float64 {
	at := part * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}
