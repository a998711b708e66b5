package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// study is a question about primal–dual inference, with the variants to run. Its name is an
// argument of -study.
type study struct {
	name, words string
	variants    func(o options) []variant
}

var studies = []study{
	{"schedules", "primal–dual inference on four noise schedules", schedules},
	{"multipliers", "multipliers fixed where a run of primal–dual inference ended, or at their averages over its last steps", frozen},
	{"temperatures", "primal–dual inference at inverse temperatures of ¼ to 4 times -cold", temperatures},
	{"budgets", "budgets for which the network was not trained", budgets},
}

// questions describes the studies for messages.
func questions() string {
	var all []string
	for _, s := range studies {
		all = append(all, fmt.Sprintf("%s (%s)", s.name, s.words))
	}
	return strings.Join(all, "; ")
}

func schedules(options) (all []variant) {
	for _, s := range []struct {
		name, words string
		schedule    noise.Schedule
	}{
		{"cosine", "cosine", noise.CosineBar{}}, {"linear", "linear β, as DDPM", noise.LinearBeta{}},
		{"snr2", "quadratic signal-to-noise ratio", noise.PolynomialSNR{Power: 2}}, {"snr4", "quartic signal-to-noise ratio", noise.PolynomialSNR{}},
	} {
		all = append(all, variant{s.name, s.words, "pdi", func(_ context.Context, p *problem) error {
			p.schedule = s.schedule
			return nil
		}})
	}
	return all
}

// frozen returns variants that use one constant λ throughout the diffusion: the last one of a run
// of primal–dual inference, or its averages.
func frozen(options) []variant {
	all := []variant{{"pdi", explain["pdi"], "pdi", nil}, {"last", "the last", "fixed", freeze(0)}}
	for _, part := range []float64{0.2, 0.4, 0.6, 0.8, 1} {
		all = append(all, variant{fmt.Sprintf("last%g", 100*part), fmt.Sprintf("averages over the last %g %%", 100*part), "fixed", freeze(part)})
	}
	return all
}

// freeze returns a change that fixes the multipliers at their average over the last part of the run
// of primal–dual inference before, or at their last value if part is 0.
func freeze(part float64) func(ctx context.Context, p *problem) error {
	return func(_ context.Context, p *problem) error {
		few := p.path[len(p.path)-max(1, int(part*float64(len(p.path)))):]
		p.frozen = make([]float64, p.law.Len())
		for _, lambda := range few {
			for j, l := range lambda {
				p.frozen[j] += l / float64(len(few))
			}
		}
		return nil
	}
}

func temperatures(options) (all []variant) {
	for _, times := range []float64{0.25, 0.5, 1, 2, 4} {
		all = append(all, variant{fmt.Sprintf("cold%g", times), fmt.Sprintf("%g times the inverse temperature", times), "pdi", func(_ context.Context, p *problem) (err error) {
			p.law, err = newLaw(p.law.market, p.law.budget, p.law.beta/times)
			return err
		}})
	}
	return all
}

// budgets returns variants that run primal–dual inference at the budgets of -budgets, with the
// Gaussian fit and with the network, which is trained for -budget alone.
func budgets(o options) (all []variant) {
	for _, b := range o.budgets {
		for _, method := range []string{"pdi", "pdi-net", "equal"} {
			all = append(all, variant{fmt.Sprintf("%s@%g", method, b), fmt.Sprintf("%s, %g", explain[method], b), method, func(_ context.Context, p *problem) (err error) {
				p.law, err = newLaw(p.law.market, b, p.law.beta)
				return err
			}})
		}
	}
	return all
}
