package main

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/distance"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// mixing measures how far a kernel's chains are from a machine's distribution a number of steps
// after random states. The distance is the squared maximum mean discrepancy between their states
// and the same number of states of long block Gibbs chains.
type mixing struct {
	Method string `json:"method"`
	Steps  int    `json:"steps"`
	// unbiased estimate: about 0 at the target, possibly negative
	MMD float64 `json:"mmd"`
	// log of the biased statistic, which includes each state's pair with itself
	LogBias float64 `json:"log_biased"`
}

const judged = 500 // number of chains per kernel

// mixings repeats the comparison of Zhang, Liu and Liu 2022, section 6.2, on the machine p. It
// runs DULA and DMALA with step sizes 0.1 and 0.2, Gibbs with gradients, which changes one site
// per step, and Gibbs sampling. A Gibbs step is a sweep here and one site in the paper. Block
// Gibbs chains with another seed show the noise level.
func mixings(ctx context.Context, p energy.Model, seed uint64) ([]mixing, error) {
	chains := func(m sampler.Method, seed uint64) (*sampler.Chains, error) {
		return sampler.NewChains(ctx, p, m, sampler.Config{Chains: judged, Seed: seed, Warmup: -1})
	}
	truth, err := chains(mcmc.BlockGibbs{}, seed)
	if err != nil {
		return nil, err
	}
	if err := truth.Run(ctx, 1000); err != nil {
		return nil, err
	}
	var all []mixing
	for _, k := range []struct {
		name   string
		method sampler.Method
		most   int // steps
	}{
		{"gibbs", mcmc.Gibbs{}, 100}, // of 100 sites each
		{"gwg", mcmc.GWG{}, 1000},
		{"dula", mcmc.DULA{StepSize: 0.1}, 1000},
		{"dmala", mcmc.DMALA{StepSize: 0.2}, 1000},
		{"block-gibbs", mcmc.BlockGibbs{}, 1000},
	} {
		c, err := chains(k.method, seed+1)
		if err != nil {
			return nil, err
		}
		for steps := 1; steps <= k.most; steps *= 10 {
			if err := c.Run(ctx, steps-c.Len()); err != nil {
				return nil, fmt.Errorf("%s: %w", k.name, err)
			}
			d, err := distance.MMD(c.States(), truth.States(), visible)
			if err != nil {
				return nil, err
			}
			all = append(all, mixing{k.name, steps, d, math.Log(biased(c.States(), truth.States()))})
		}
	}
	return all, nil
}

// biased returns the statistic whose logarithm the paper shows: the mean over all pairs of
// states, including each state with itself, for which the kernel is 1.
func biased(a, b []int32) float64 {
	rows := func(x []int32) float64 { return float64(len(x) / visible) }
	between := func(x, y []int32) float64 {
		sum := 0.0
		for ; len(x) > 0; x = x[visible:] {
			for z := y; len(z) > 0; z = z[visible:] {
				apart := 0
				for i, v := range x[:visible] {
					if v != z[i] {
						apart++
					}
				}
				sum += math.Exp(-float64(apart) / visible)
			}
		}
		return sum
	}
	n, m := rows(a), rows(b)
	return between(a, a)/(n*n) + between(b, b)/(m*m) - 2*between(a, b)/(n*m)
}
