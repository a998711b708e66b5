package main

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// study is a question about the methods, with the variants to run. Its name is an argument of
// -study.
type study struct {
	name, words string
	variants    func(o options) []variant
}

var studies = []study{
	{"schedules", "primal–dual inference on four noise schedules", schedules},
	{"multipliers", "multipliers fixed where a run of primal–dual inference ended, or at their averages over its last steps", frozen},
	{"temperatures", "primal–dual inference at inverse temperatures of ¹⁄₁₀ to 10", temperatures},
	{"bounds", "the networks trained for -least at higher minimum rates", outside},
}

// Largest and smallest signal-to-noise ratio ᾱ/(1 − ᾱ) of the schedules that state it.
const loud, faint = 1e3, 1e-3

func schedules(options) []variant {
	var all []variant
	for _, s := range []struct {
		name, words string
		schedule    noise.Schedule
	}{
		{"cosine", "cosine", noise.CosineBar{}}, {"linear", "linear β, as DDPM", noise.LinearBeta{}},
		{"snr", "linear signal-to-noise ratio", noise.PolynomialSNR{Power: 1, Max: loud, MinAlpha: faint / (1 + faint)}},
		{"snr2", "quadratic signal-to-noise ratio", noise.PolynomialSNR{Power: 2, Max: loud, MinAlpha: faint / (1 + faint)}},
	} {
		all = append(all, variant{name: s.name, words: s.words, draw: func(ctx context.Context, p *problem) ([]float32, error) {
			p.schedule = s.schedule
			defer func() { p.schedule = nil }()
			return paper(ctx, p)
		}})
	}
	return all
}

// frozen returns variants that use one constant λ throughout the diffusion.
func frozen(options) []variant {
	all := []variant{methods[0], {name: "last", words: "the last", draw: staying(0)}}
	for _, part := range []float64{0.2, 0.4, 0.6, 0.8, 1} {
		words := fmt.Sprintf("averages over the last %g %%", 100*part)
		all = append(all, variant{name: fmt.Sprintf("last%g", 100*part), words: words, draw: staying(part)})
	}
	return all
}

// staying returns a method that draws at the average of λ over the last part of a run, or at its
// last value if part is 0.
func staying(part float64) func(ctx context.Context, p *problem) ([]float32, error) {
	return func(ctx context.Context, p *problem) ([]float32, error) {
		if p.reference == nil {
			if _, err := paper(ctx, p); err != nil {
				return nil, err
			}
			p.reference = p.path
		}
		few := p.reference[len(p.reference)-max(1, int(part*float64(len(p.reference)))):]
		mean := make([]float64, p.users)
		for _, s := range few {
			for i, l := range s.lambda {
				mean[i] += l / float64(len(few))
			}
		}
		return p.infer(ctx, p.score, p.fixed(mean), nil)
	}
}

func temperatures(options) []variant {
	var all []variant
	for _, cold := range []float64{0.1, 0.5, 1, 5, 10} {
		all = append(all, variant{name: fmt.Sprintf("cold%g", cold), words: fmt.Sprintf("1/β = %g", cold), draw: func(ctx context.Context, p *problem) ([]float32, error) {
			score, err := p.estimate(cold, p.least)
			if err != nil {
				return nil, err
			}
			return p.infer(ctx, score, p.moving(), nil)
		}})
	}
	return all
}

// outside returns variants that run the networks at least rates for which they were not trained.
// Dual training is tied to one λ, so that its samples are the same for all rates.
func outside(o options) (all []variant) {
	for _, least := range o.bounds {
		at := func(name, words string, draw func(ctx context.Context, p *problem) ([]float32, error)) {
			all = append(all, variant{fmt.Sprintf("%s@%g", name, least), fmt.Sprintf("%s, %g", words, least), draw, least})
		}
		at("pdi", "primal–dual inference", func(ctx context.Context, p *problem) ([]float32, error) {
			score, err := p.estimate(p.cold, least)
			if err != nil {
				return nil, err
			}
			return p.infer(ctx, score, p.moving(), nil)
		})
		at("pdi-net", "by a network", func(ctx context.Context, p *problem) ([]float32, error) {
			return p.inferNet(ctx, false, least)
		})
		at("dt", "dual training", tied(false))
		at("dt+", "for half as long again", tied(true))
	}
	return all
}
