package sampler_test

import (
	"context"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/projection/novelty"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
	"github.com/gibbsite-go/gibbsite/sampler/langevin"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

func annealing(m energy.Model, method sampler.Method, cfg anneal.Config) maker {
	return func() (run, error) {
		a, err := anneal.New(context.Background(), m, method, cfg)
		if err != nil {
			return run{}, err
		}
		return saver(a, func() error { return a.Run(context.Background(), 8) }), nil
	}
}

func importance(m energy.Model, method sampler.Method, cfg anneal.AISConfig) maker {
	return func() (run, error) {
		a, err := anneal.NewAIS(m, method, cfg)
		if err != nil {
			return run{}, err
		}
		return saver(a, func() error { _, err := a.Run(context.Background()); return err }), nil
	}
}

// stones stop within a stage, so that the checkpoint has chains.
func stones(m energy.Model, method sampler.Method, cfg anneal.SteppingStoneConfig) maker {
	return func() (run, error) {
		a, err := anneal.NewSteppingStone(m, method, cfg)
		if err != nil {
			return run{}, err
		}
		return saver(a, func() error { _, err := a.Run(context.Background()); return err }), nil
	}
}

func letters(trans float64, c denoise.Corruption) *denoise.Markov {
	chain := exact.Must(model.NewMarkov(5, 3, 1, []float64{.2, .3, .5}, []float64{.6, .3, .1, .2, .5, .3, trans, .3, .7 - trans}))
	return exact.Must(denoise.NewMarkov(chain, c))
}

func samples(m energy.Denoiser[int32], p diffusion.Process[int32], cfg diffusion.Config) maker {
	return func() (run, error) {
		cfg.Checkpoint.Path, cfg.Checkpoint.Every = "nowhere/at/all", 1<<20
		d, err := diffusion.New(context.Background(), m, p, cfg)
		if err != nil {
			return run{}, err
		}
		return saver(d, func() error {
			_ = d.Sample(context.Background(), make([]int32, 3*5)) // which cannot save its file
			return nil
		}), nil
	}
}

func particles(m energy.Denoiser[int32], cfg diffusion.ParticlesConfig) maker {
	return func() (run, error) {
		cfg.Checkpoint.Path, cfg.Checkpoint.Every = "nowhere/at/all", 1<<20
		d, err := diffusion.NewParticles(context.Background(), m, diffusion.Masked{Mask: 3}, cfg)
		if err != nil {
			return run{}, err
		}
		return saver(d, func() error {
			_ = d.Sample(context.Background(), make([]int32, 3*5))
			return nil
		}), nil
	}
}

func training(cfg train.Config) maker {
	return func() (run, error) {
		net, err := neural.New(neural.Config{Length: 3, Levels: 4, Width: 8, Heads: 1, Blocks: 1, Hidden: 8, Positions: true}, rand.NewPCG(1, 7))
		if err != nil {
			return run{}, err
		}
		t, err := train.New(net, train.Masked{Mask: 3}, []int32{0, 1, 2, 1, 2, 0}, cfg)
		if err != nil {
			return run{}, err
		}
		return saver(t, func() error { return t.Run(context.Background(), 2) }), nil
	}
}

func lettersWithin(max int) constraint.Automaton {
	return exact.Must(constraint.Intersect(constraint.Count{Levels: []int32{1}, Max: max}, constraint.Count{Levels: []int32{3}, Max: 0}))
}

// runnerPairs are pairs of runs that are no chains.
func runnerPairs() []pair {
	var p []pair
	m := exact.NewQuadratic(6, 1)
	p = each(p, "Config.Generator", func(v sampler.Generator) maker {
		return chains(m, mcmc.Gibbs{}, sampler.Config{Chains: 3, Warmup: 6, Generator: v})
	}, sampler.Philox4x32, sampler.ARS4x32)
	p = each(p, "Config.Generator", func(v sampler.Generator) maker {
		return reals(exact.Must(continuous.NewQuadratic([]float64{1, 0, 0, 1}, nil, 0)), langevin.Config{Chains: 3, Warmup: 6, Generator: v})
	}, sampler.ARS4x32, sampler.Philox4x32)
	quadratic := func(v uint64) energy.Model { return exact.NewQuadratic(6, v) }
	anneals := func(edit func(*anneal.Config)) maker {
		c := anneal.Config{Stages: 4}
		edit(&c)
		return annealing(m, mcmc.Metropolis{}, c)
	}
	p = each[sampler.Method](p, "method", func(v sampler.Method) maker { return annealing(m, v, anneal.Config{Stages: 4}) }, mcmc.Metropolis{}, mcmc.Gibbs{})
	p = each(p, "metropolis.Updates", func(v int) maker { return annealing(m, mcmc.Metropolis{Updates: v}, anneal.Config{Stages: 4}) }, 1, 2)
	p = each(p, "energies of test states", func(v uint64) maker {
		return annealing(quadratic(v), mcmc.Metropolis{}, anneal.Config{Stages: 4, Schedule: anneal.Linear(0.1, 2)})
	}, 1, 2)
	p = each(p, "Config.Chains", func(v int) maker { return anneals(func(c *anneal.Config) { c.Chains, c.Count = v, 32 }) }, 64, 128)
	p = each(p, "Config.First", func(v int) maker { return anneals(func(c *anneal.Config) { c.Chains, c.First, c.Count = 128, v, 32 }) }, 0, 32, 64)
	p = each(p, "Config.Count", func(v int) maker { return anneals(func(c *anneal.Config) { c.Chains, c.Count = 128, v }) }, 32, 64, 128)
	p = each(p, "Config.Stages", func(v int) maker { return anneals(func(c *anneal.Config) { c.Stages = v }) }, 4, 5, 6)
	p = each(p, "Config.Schedule", func(v float64) maker {
		return anneals(func(c *anneal.Config) { c.Schedule = anneal.Linear(0.1, v) })
	}, 1, 2, 2.0000001)

	ais := func(edit func(*anneal.AISConfig)) maker {
		c := anneal.AISConfig{Stages: 4, Chains: 128}
		edit(&c)
		return importance(m, mcmc.Gibbs{}, c)
	}
	p = each[sampler.Method](p, "method", func(v sampler.Method) maker { return importance(m, v, anneal.AISConfig{Stages: 4}) }, mcmc.Metropolis{}, mcmc.Gibbs{})
	p = each(p, "energies of test states", func(v uint64) maker { return importance(quadratic(v), mcmc.Gibbs{}, anneal.AISConfig{Stages: 4}) }, 1, 2)
	p = each(p, "AISConfig.Chains", func(v int) maker { return ais(func(c *anneal.AISConfig) { c.Chains, c.Count = v, 32 }) }, 64, 128)
	p = each(p, "AISConfig.Seed", func(v uint64) maker { return ais(func(c *anneal.AISConfig) { c.Seed = v }) }, 0, 1, 2)
	p = each(p, "AISConfig.First", func(v int) maker { return ais(func(c *anneal.AISConfig) { c.First, c.Count = v, 32 }) }, 0, 32, 64)
	p = each(p, "AISConfig.Count", func(v int) maker { return ais(func(c *anneal.AISConfig) { c.Count = v }) }, 32, 64, 128)
	p = each(p, "AISConfig.Stages", func(v int) maker { return ais(func(c *anneal.AISConfig) { c.Stages = v }) }, 3, 4, 5)
	p = each(p, "AISConfig.Moves", func(v int) maker { return ais(func(c *anneal.AISConfig) { c.Moves = v }) }, 1, 2, 3)
	p = each(p, "AISConfig.Schedule", func(v anneal.Schedule) maker { return ais(func(c *anneal.AISConfig) { c.Schedule = v }) }, nil, anneal.Power(2), anneal.Power(2.0000001))

	stone := func(edit func(*anneal.SteppingStoneConfig)) maker {
		c := anneal.SteppingStoneConfig{Stages: 3, Chains: 128, Draws: 6, Warmup: 2}
		edit(&c)
		return stones(m, mcmc.Gibbs{}, c)
	}
	p = each(p, "gwg.Flips", func(v int) maker {
		return stones(m, mcmc.GWG{Flips: v}, anneal.SteppingStoneConfig{Stages: 3, Draws: 6, Warmup: 2})
	}, 1, 2)
	p = each(p, "energies of test states", func(v uint64) maker {
		return stones(quadratic(v), mcmc.Gibbs{}, anneal.SteppingStoneConfig{Stages: 3, Draws: 6, Warmup: 2})
	}, 1, 2)
	p = each(p, "SteppingStoneConfig.Chains", func(v int) maker { return stone(func(c *anneal.SteppingStoneConfig) { c.Chains, c.Count = v, 32 }) }, 64, 128)
	p = each(p, "SteppingStoneConfig.Seed", func(v uint64) maker { return stone(func(c *anneal.SteppingStoneConfig) { c.Seed = v }) }, 0, 1)
	p = each(p, "SteppingStoneConfig.First", func(v int) maker { return stone(func(c *anneal.SteppingStoneConfig) { c.First, c.Count = v, 32 }) }, 0, 32)
	p = each(p, "SteppingStoneConfig.Count", func(v int) maker { return stone(func(c *anneal.SteppingStoneConfig) { c.Count = v }) }, 32, 64)
	p = each(p, "SteppingStoneConfig.Stages", func(v int) maker { return stone(func(c *anneal.SteppingStoneConfig) { c.Stages = v }) }, 3, 4)
	p = each(p, "SteppingStoneConfig.Warmup", func(v int) maker { return stone(func(c *anneal.SteppingStoneConfig) { c.Warmup = v }) }, -1, 1, 2)
	p = each(p, "SteppingStoneConfig.Draws", func(v int) maker { return stone(func(c *anneal.SteppingStoneConfig) { c.Draws = v }) }, 6, 7)
	p = each(p, "SteppingStoneConfig.Schedule", func(v anneal.Schedule) maker {
		return stone(func(c *anneal.SteppingStoneConfig) { c.Schedule = v })
	}, nil, anneal.Power(2))

	masked := func(edit func(*diffusion.Config)) maker {
		c := diffusion.Config{Steps: 4}
		edit(&c)
		return samples(letters(.3, denoise.Absorbing), diffusion.Masked{Mask: 3}, c)
	}
	p = each[diffusion.Process[int32]](p, "process", func(v diffusion.Process[int32]) maker {
		return samples(letters(.3, denoise.Absorbing), v, diffusion.Config{Steps: 4})
	}, diffusion.Masked{Mask: 3}, diffusion.Remask{Mask: 3}, diffusion.Ordered{Mask: 3})
	p = each(p, "diffusion.Masked.FirstHitting", func(v bool) maker {
		return samples(letters(.3, denoise.Absorbing), diffusion.Masked{Mask: 3, FirstHitting: v}, diffusion.Config{Steps: 4})
	}, false, true)
	p = each[noise.Schedule](p, "Schedule", func(v noise.Schedule) maker {
		return samples(letters(.3, denoise.Absorbing), diffusion.Masked{Mask: 3, Schedule: v}, diffusion.Config{Steps: 4})
	}, nil, noise.LogLinear{}, noise.Cosine{})
	p = each(p, "predictions for test states", func(v float64) maker {
		return samples(letters(v, denoise.Absorbing), diffusion.Masked{Mask: 3}, diffusion.Config{Steps: 4})
	}, .3, .31, .4)
	p = each(p, "predictions for test states", func(v float64) maker {
		return samples(letters(v, denoise.Noisy), diffusion.Uniform{}, diffusion.Config{Steps: 4})
	}, .3, .31)
	p = each(p, "Config.Steps", func(v int) maker { return masked(func(c *diffusion.Config) { c.Steps = v }) }, 4, 5, 6)
	p = each(p, "Config.Batch", func(v int) maker { return masked(func(c *diffusion.Config) { c.Batch = v }) }, 1, 2, 64)
	p = each(p, "Config.Seed", func(v uint64) maker { return masked(func(c *diffusion.Config) { c.Seed = v }) }, 0, 1, 2)
	p = each(p, "Config.First", func(v int) maker { return masked(func(c *diffusion.Config) { c.First = v }) }, 0, 1, 2)
	p = each[any](p, "Config.Meta", func(v any) maker { return masked(func(c *diffusion.Config) { c.Meta = v }) }, nil, 1, "one", []float64{1, 2})
	p = each(p, "Config.Clamp", func(v []int32) maker { return masked(func(c *diffusion.Config) { c.Clamp = v }) }, nil, []int32{0, -1, -1, -1, -1}, []int32{1, -1, -1, -1, -1})
	p = each[diffusion.Projector](p, "Projector", func(v diffusion.Projector) maker { return masked(func(c *diffusion.Config) { c.Projector = v }) }, nil,
		projection.Path{Language: lettersWithin(1)}, novelty.Projector{Path: projection.Path{Language: lettersWithin(5)}})
	p = each(p, "projection.Path.Language", func(v int) maker {
		return masked(func(c *diffusion.Config) { c.Projector = projection.Path{Language: lettersWithin(v)} })
	}, 1, 2, 3)
	projected := func(edit func(*diffusion.Config)) maker {
		return masked(func(c *diffusion.Config) {
			c.Projector = projection.Path{Language: lettersWithin(3)}
			edit(c)
		})
	}
	p = each(p, "Config.ProjectStart", func(v float64) maker { return projected(func(c *diffusion.Config) { c.ProjectStart = v }) }, .5, .75, 1)
	p = each(p, "Config.ProjectEvery", func(v int) maker { return projected(func(c *diffusion.Config) { c.ProjectEvery = v }) }, -1, 1, 2)
	p = each(p, "Config.ColdStart", func(v bool) maker { return projected(func(c *diffusion.Config) { c.ColdStart = v }) }, false, true)
	p = each(p, "Config.Decode", func(v diffusion.Decoding) maker { return projected(func(c *diffusion.Config) { c.Decode = v }) }, diffusion.DecodeLast, diffusion.DecodeRows)
	p = each(p, "Config.Retries", func(v int) maker { return projected(func(c *diffusion.Config) { c.Retries = v }) }, -1, 0, 5)

	weighed := func(edit func(*diffusion.ParticlesConfig)) maker {
		c := diffusion.ParticlesConfig{Particles: 3}
		c.Steps, c.Projector = 4, projection.Path{Language: lettersWithin(3)}
		c.Batch = 2
		edit(&c)
		return particles(letters(.3, denoise.Absorbing), c)
	}
	p = each(p, "ParticlesConfig.Threshold", func(v float64) maker { return weighed(func(c *diffusion.ParticlesConfig) { c.Threshold = v }) }, 0, .6, 1)
	p = each(p, "ParticlesConfig.Particles", func(v int) maker {
		return weighed(func(c *diffusion.ParticlesConfig) { c.Particles, c.Batch = v, 12/v }) // as many slots
	}, 2, 3, 4)
	p = each(p, "Config.First", func(v int) maker { return weighed(func(c *diffusion.ParticlesConfig) { c.First = v }) }, 0, 1)
	return p
}
