package conformance_test

import (
	"context"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/fit"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection/proximal"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/unmask"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

const (
	killSteps = 120 // of dual ascent, fits and training
	killEvery = 5
)

// stepwise is a run of steps.
func stepwise(c durable.Checkpointer, made func() int, run func(context.Context, int) error, digest func() string) resumable {
	return resumable{c,
		func(ctx context.Context) error { return run(ctx, min(killSteps/resumePieces, killSteps-made())) },
		func(ctx context.Context) error { return run(ctx, killSteps-made()) },
		digest,
	}
}

// resumableLearners are the loops that move multipliers, parameters and weights.
func resumableLearners() map[string]func(path string) resumable {
	ising := exact.Must(model.NewIsing(model.Lattice{4, 4}, 0.2, 0))
	fits := func(o fit.Objective) func(string) resumable {
		return func(path string) resumable {
			p := exact.Must(ising.Learn())
			data := make([]int32, 16*20)
			r := rand.New(rand.NewPCG(2, 3))
			for i := range data {
				data[i] = int32(r.IntN(2))
			}
			cfg := fit.Config{Objective: o, Batch: 7, L1: .01, Chains: exact.Must(sampler.NewChains(context.Background(), p, mcmc.Gibbs{}, sampler.Config{Chains: 40, Warmup: -1}))}
			cfg.Checkpoint.Path, cfg.Checkpoint.Every = path, killEvery
			f := exact.Must(fit.New(context.Background(), p, data, cfg))
			return stepwise(f, f.Len, f.Run, func() string { return digestOf(f.Params(), f.Average()) + digestOfSaved(f) })
		}
	}
	return map[string]func(path string) resumable{
		"fit":        fits(fit.Persistent{Buffer: 64, Restart: .1}),
		"fit pseudo": fits(fit.Pseudo{}),
		"dual inference": func(path string) resumable {
			l := exact.Must(dual.NewLagrangian(ising, constraint.Count{Levels: []int32{1}, Max: 5}))
			c := exact.Must(sampler.NewChains(context.Background(), l, mcmc.Gibbs{}, sampler.Config{Chains: 40, Warmup: -1}))
			var cfg dual.Config
			cfg.Checkpoint.Path, cfg.Checkpoint.Every = path, killEvery
			i := exact.Must(dual.NewInference(context.Background(), l, c, cfg))
			return stepwise(i, i.Len, i.Run, func() string { return digestOf(i.Lambda(), i.Average(), c.States()) + digestOfSaved(i) })
		},
		"training": func(path string) resumable {
			net := exact.Must(neural.New(neural.Config{Length: 3, Levels: 4, Width: 16, Heads: 2, Blocks: 1, Hidden: 32, Positions: true}, rand.NewPCG(1, 7)))
			var data []int32
			r := rand.New(rand.NewPCG(5, 5))
			for range 200 {
				a := int32(r.IntN(3))
				data = append(data, a, (a+1)%3, int32(r.IntN(3)))
			}
			cfg := train.Config{Steps: killSteps, Batch: 16, Seed: 1}
			cfg.Checkpoint.Path, cfg.Checkpoint.Every = path, killEvery
			t := exact.Must(train.New(net, train.Masked{Mask: 3}, data, cfg))
			return stepwise(t, t.Step, t.Run, func() string { return digestOf(net.Weights(), t.Loss()) + digestOfSaved(t) })
		},
	}
}

// killSeries are samples of reals.
func killSeries(p diffusion.Process[float32], edit func(*diffusion.Config) energy.Denoiser[float32]) func(string) resumable {
	return func(path string) resumable {
		cfg := diffusion.Config{Steps: 8, Batch: 5, Seed: 3}
		m := edit(&cfg)
		keepAt(&cfg, path)
		d := exact.Must(diffusion.New(context.Background(), m, p, cfg))
		sites, _ := m.Shape()
		x, at := make([]float32, 600*sites), 0
		run := func(ctx context.Context, to int) error {
			err := d.Sample(ctx, x[at:to])
			at = d.Len() * sites
			return unkept(path, err)
		}
		return resumable{d,
			func(ctx context.Context) error { return run(ctx, min(len(x), at+len(x)/resumePieces/sites*sites)) },
			func(ctx context.Context) error { return run(ctx, len(x)) },
			func() string { return digestOf(x) },
		}
	}
}

// resumableDiffusions are diffusions of reals and the samplers of masked tokens.
func resumableDiffusions() map[string]func(path string) resumable {
	base := exact.Must(continuous.NewDiagonal([]float64{2, 1}, []float64{-1, 0, 1.5, 0.5}, []float64{0.4, 0.3}))
	m := exact.Must(denoise.NewMixture(base))
	row := constraint.Linear{A: constraint.Rows([]float64{-1, 0}, 2), B: []float64{-.5}}
	plain := func(*diffusion.Config) energy.Denoiser[float32] { return m }
	hidden := func(p diffusion.Process[int32]) func(string) resumable {
		return killSamples(denoise.Absorbing, p, nil, 0)
	}
	return map[string]func(path string) resumable{
		"gaussian":  killSeries(diffusion.Gaussian{Eta: 1}, plain),
		"penalised": killSeries(diffusion.Penalised{Set: row}, plain),
		"proximal": killSeries(diffusion.Gaussian{}, func(c *diffusion.Config) energy.Denoiser[float32] {
			c.Projector = proximal.Projector{Set: row}
			return m
		}),
		"primal-dual": killSeries(diffusion.Gaussian{Eta: 1, Wide: true, Schedule: noise.CosineBar{}}, func(c *diffusion.Config) energy.Denoiser[float32] {
			atLeast := exact.Must(continuous.NewLinear([]float64{-1, 0}, .5))
			return exact.Must(pdi.New(context.Background(), exact.Must(pdi.NewMixture(base, 1, atLeast)), pdi.Config{}))
		}),
		"scheduled":     hidden(unmask.Scheduled{Mask: 3}),
		"entropy bound": hidden(unmask.EntropyBound{Mask: 3, Bound: 1}),
		"threshold":     hidden(unmask.Threshold{Mask: 3}),
		"planned":       hidden(unmask.Planned{Mask: 3, Noise: 1}),
		"blocks":        hidden(unmask.Blocks{Mask: 3, Size: 2}),
		"ordered":       hidden(diffusion.Ordered{Mask: 3}),
	}
}
