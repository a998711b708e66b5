package main

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/shard"
)

// args are those of the builder: what is made.
type args struct{ Kind string }

func init() { shard.Register("digests", build) }

func job(kind string) shard.Job {
	return shard.Job{Target: "digests", Args: fmt.Appendf(nil, `{"Kind": %q}`, kind)}
}

// build makes 3200 chains or weights of spins on a square lattice, in 100 blocks, or
// 3200 samples of a chain of tokens.
func build(a args) (shard.Run, error) {
	m, err := model.NewIsing(model.Lattice{10, 10}, 0.2, 0.05)
	if err != nil {
		return nil, err
	}
	switch a.Kind {
	case "chains":
		return shard.Chains{
			Model: m, Method: mcmc.DMALA{}, Config: sampler.Config{Chains: 3200, Seed: 1, Warmup: 20}, Draws: 20,
			Functions: []func([]int32) float64{energy.Magnetization}, Names: []string{"magnetisation"},
		}, nil
	case "ais":
		return shard.AIS{Model: m, Method: mcmc.Gibbs{}, Config: anneal.AISConfig{Chains: 3200, Seed: 1, Stages: 20}}, nil
	case "samples":
		chain, err := model.NewMarkov(24, 2, 1, []float64{0.5, 0.5}, []float64{0.9, 0.1, 0.1, 0.9})
		if err != nil {
			return nil, err
		}
		d, err := denoise.NewMarkov(chain, denoise.Absorbing)
		return shard.Samples[int32]{
			Samples: 3200, Block: 32,
			New: func(ctx context.Context, first, count int) (shard.Sampler[int32], error) {
				return diffusion.New(ctx, d, diffusion.Masked{Mask: 2}, diffusion.Config{Steps: 16, Seed: 1, First: first, Count: count})
			},
			Functions: []func([]int32) float64{func(x []int32) float64 { return float64(x[0] + x[12]) }},
		}, err
	}
	return nil, fmt.Errorf("Kind = %q, want chains, samples or ais", a.Kind)
}
