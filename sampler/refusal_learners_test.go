package sampler_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/fit"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/unmask"
	"github.com/gibbsite-go/gibbsite/sampler/ground"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/shard"
)

// searching is a search for ground states.
func searching(m energy.Model, cfg ground.Config) maker {
	return func() (run, error) {
		s, err := ground.New(m, cfg)
		if err != nil {
			return run{}, err
		}
		return saver(s, func() error { return s.Run(context.Background(), 2) }), nil
	}
}

// fitting is a fit of a model of pairs of six sites to some rows.
func fitting(m *model.Quadratic, data []int32, cfg fit.Config) maker {
	return func() (run, error) {
		p, err := m.Learn()
		if err != nil {
			return run{}, err
		}
		if cfg.Objective == nil || cfg.Objective == fit.Objective(fit.Persistent{}) {
			cfg.Chains = exact.Must(sampler.NewChains(context.Background(), p, mcmc.Gibbs{}, sampler.Config{Chains: 4, Warmup: -1}))
		}
		f, err := fit.New(context.Background(), p, data, cfg)
		if err != nil {
			return run{}, err
		}
		return saver(f, func() error { return f.Run(context.Background(), 2) }), nil
	}
}

// trained is a training of a network that the edit may change.
func trained(objective train.Objective, data []int32, net func(*neural.Config), edit func(*train.Config)) maker {
	return func() (run, error) {
		c := neural.Config{Length: 3, Levels: 4, Width: 8, Heads: 1, Blocks: 1, Hidden: 8, Positions: true}
		cfg := train.Config{Steps: 5, Batch: 4}
		net(&c)
		edit(&cfg)
		n, err := neural.New(c, rand.NewPCG(1, 7))
		if err != nil {
			return run{}, err
		}
		t, err := train.New(n, objective, data, cfg)
		if err != nil {
			return run{}, err
		}
		return saver(t, func() error { return t.Run(context.Background(), 2) }), nil
	}
}

// part is the file of the whole of a sharded run, which another merges.
func part(r shard.Run) maker {
	const name = "part-000000-of-000001.tally"
	return func() (run, error) {
		return run{
			save: func() ([]byte, error) {
				dir, err := os.MkdirTemp("", "part")
				if err != nil {
					return nil, err
				}
				defer os.RemoveAll(dir)
				if err := (shard.Task{Index: 0, Count: 1}).Do(context.Background(), dir, r, shard.Options{}); err != nil {
					return nil, err
				}
				files, err := filepath.Glob(filepath.Join(dir, "part-*"))
				if err != nil {
					return nil, err
				}
				return os.ReadFile(files[0])
			},
			load: func(b []byte) error {
				dir, err := os.MkdirTemp("", "part")
				if err != nil {
					return err
				}
				defer os.RemoveAll(dir)
				if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
					return err
				}
				_, err = shard.Merge(context.Background(), dir, r)
				return err
			},
		}, nil
	}
}

// learnerPairs are pairs of searches, fits, trainings and parts of sharded runs.
func learnerPairs() []pair {
	var p []pair
	ising := func(a float64) energy.Model { return exact.Must(model.NewIsing(model.Lattice{6}, a, 0.1)) }
	p = each(p, "energies of test states", func(v float64) maker { return searching(ising(v), ground.Config{}) }, .1, .2, .2001)
	p = each(p, "sites", func(v int) maker {
		return searching(exact.Must(model.NewIsing(model.Lattice{v}, .1, 0)), ground.Config{})
	}, 5, 6)
	p = each(p, "Config.Chains", func(v int) maker { return searching(ising(.1), ground.Config{Chains: v}) }, 1, 2, 4)
	p = each(p, "Sweeps", func(v int) maker { return searching(ising(.1), ground.Config{Sweeps: v}) }, 0, 3, 4)

	data := []int32{0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 1, 0, 1, 0, 1, 1, 1, 0}
	quadratic := func(j int) *model.Quadratic {
		return exact.Must(model.NewQuadratic(6, []model.Edge{{I: 0, J: 1, W: 1}, {I: 2, J: j, W: 1}}, model.Polynomial{}))
	}
	fits := func(edit func(*fit.Config)) maker {
		c := fit.Config{L2: .5}
		edit(&c)
		return fitting(quadratic(3), data, c)
	}
	p = each(p, "of test states", func(v int) maker { return fitting(quadratic(v), data, fit.Config{L2: .5}) }, 3, 4, 5)
	p = each(p, "of test states", func(v int) maker {
		return fitting(quadratic(v), data, fit.Config{L2: .5, Objective: fit.Pseudo{}})
	}, 3, 4, 5)
	p = each(p, "rows of data", func(v int) maker { return fitting(quadratic(3), data[:v], fit.Config{L2: .5}) }, 6, 12, 18)
	p = each(p, "sum of data", func(v int32) maker {
		d := append([]int32{}, data...)
		d[17] = v
		return fitting(quadratic(3), d, fit.Config{L2: .5})
	}, 0, 1)
	p = each[fit.Objective](p, "Config.Objective", func(v fit.Objective) maker { return fits(func(c *fit.Config) { c.Objective = v }) },
		fit.Persistent{}, fit.Pseudo{}, fit.Exact{})
	p = each(p, "Config.Batch", func(v int) maker { return fits(func(c *fit.Config) { c.Batch = v }) }, 0, 1, 2)
	p = each(p, "Config.Seed", func(v uint64) maker { return fits(func(c *fit.Config) { c.Seed = v }) }, 0, 1)
	p = each(p, "Config.Memory", func(v float64) maker { return fits(func(c *fit.Config) { c.Memory = v }) }, 0, .9)
	p = each(p, "Config.L1", func(v float64) maker { return fits(func(c *fit.Config) { c.L1 = v }) }, 0, .1)
	p = each(p, "Config.L2", func(v float64) maker { return fits(func(c *fit.Config) { c.L2 = v }) }, .1, .2)
	p = each(p, "Config.Penalty", func(v []float64) maker { return fits(func(c *fit.Config) { c.Penalty = v }) }, nil,
		[]float64{1, 1, 1, 1, 1, 1, 1, 2}, []float64{1, 1, 1, 1, 1, 1, 1, 3})
	p = each(p, "Config.Fixed", func(v int) maker {
		return fits(func(c *fit.Config) { c.Fixed = make([]bool, 8); c.Fixed[v] = true })
	}, 0, 1)
	p = each[dual.Schedule](p, "Config.Rate", func(v dual.Schedule) maker { return fits(func(c *fit.Config) { c.Rate = v }) }, nil, dual.Constant(.1), dual.Constant(.2))

	rows := []int32{0, 1, 2, 1, 2, 0}
	same, plain := func(*train.Config) {}, func(*neural.Config) {}
	trains := func(edit func(*train.Config)) maker { return trained(train.Masked{Mask: 3}, rows, plain, edit) }
	p = each[train.Objective](p, "objective", func(v train.Objective) maker { return trained(v, rows, plain, same) }, train.Masked{Mask: 3}, train.Noisy{Levels: 4})
	p = each(p, "train.Masked.Mask", func(v int32) maker { return trained(train.Masked{Mask: v}, rows, plain, same) }, 2, 3)
	p = each(p, "neural.Config.Hidden", func(v int) maker {
		return trained(train.Masked{Mask: 3}, rows, func(c *neural.Config) { c.Hidden = v }, same)
	}, 8, 9)
	p = each(p, "neural.Config.Positions", func(v bool) maker {
		return trained(train.Masked{Mask: 3}, rows, func(c *neural.Config) { c.Positions = v }, same)
	}, false, true)
	p = each(p, "tokens of data", func(v int) maker { return trained(train.Masked{Mask: 3}, rows[:v], plain, same) }, 3, 6)
	p = each(p, "checksum of data", func(v int32) maker {
		return trained(train.Masked{Mask: 3}, append([]int32{v}, rows[1:]...), plain, same)
	}, 0, 1, 2)
	p = each(p, "Config.Steps", func(v int) maker { return trains(func(c *train.Config) { c.Steps = v }) }, 5, 6)
	p = each(p, "Config.Batch", func(v int) maker { return trains(func(c *train.Config) { c.Batch = v }) }, 3, 4)
	p = each(p, "Config.Rate", func(v float64) maker { return trains(func(c *train.Config) { c.Rate = v }) }, 0, 2e-3)
	p = each(p, "Config.Warmup", func(v int) maker { return trains(func(c *train.Config) { c.Warmup = v }) }, -1, 1, 2)
	p = each(p, "Config.Decay", func(v float64) maker { return trains(func(c *train.Config) { c.Decay = v }) }, 0, .1)
	p = each(p, "Config.Clip", func(v float64) maker { return trains(func(c *train.Config) { c.Clip = v }) }, 0, 2)
	p = each(p, "Config.Average", func(v float64) maker { return trains(func(c *train.Config) { c.Average = v }) }, 0, .9)
	p = each(p, "Config.Shards", func(v int) maker { return trains(func(c *train.Config) { c.Shards = v }) }, 1, 2)
	p = each(p, "Config.Seed", func(v uint64) maker { return trains(func(c *train.Config) { c.Seed = v }) }, 0, 1)
	return append(append(p, shardPairs()...), samplePairs()...)
}

// shardPairs are parts of runs that differ in a setting.
func shardPairs() []pair {
	var p []pair
	m := exact.NewQuadratic(6, 1)
	up := func(x []int32) float64 { return float64(x[0]) }
	chains := func(edit func(*shard.Chains)) maker {
		c := shard.Chains{Model: m, Method: mcmc.Gibbs{}, Config: sampler.Config{Chains: 4, Warmup: 2}, Draws: 4, Functions: []func([]int32) float64{up}}
		edit(&c)
		return part(c)
	}
	p = each(p, "energies of test states", func(v uint64) maker { return chains(func(c *shard.Chains) { c.Model = exact.NewQuadratic(6, v) }) }, 1, 2)
	p = each[sampler.Method](p, "method", func(v sampler.Method) maker { return chains(func(c *shard.Chains) { c.Method = v }) }, mcmc.Gibbs{}, mcmc.DMALA{})
	p = each(p, "StepSize", func(v float64) maker { return chains(func(c *shard.Chains) { c.Method = mcmc.DMALA{StepSize: v} }) }, .1, .2)
	p = each(p, "Within", func(v int) maker {
		return chains(func(c *shard.Chains) {
			c.Method = mcmc.DMALA{Within: constraint.Count{Levels: []int32{1}, Min: 1, Max: v}}
		})
	}, 3, 4)
	p = each(p, "Warmup", func(v int) maker { return chains(func(c *shard.Chains) { c.Config.Warmup = v }) }, -1, 2)
	p = each(p, "Thin", func(v int) maker { return chains(func(c *shard.Chains) { c.Config.Thin = v }) }, 1, 2)
	p = each(p, "Init", func(v []int32) maker { return chains(func(c *shard.Chains) { c.Config.Init = v }) }, nil, []int32{0, 0, 0, 0, 0, 1}, []int32{0, 0, 0, 0, 0, 0})
	p = each(p, "TallyConfig.Chains", func(v int) maker { return chains(func(c *shard.Chains) { c.Config.Chains = v }) }, 4, 5)
	p = each(p, "TallyConfig.Draws", func(v int) maker { return chains(func(c *shard.Chains) { c.Draws = v }) }, 4, 5)
	p = each(p, "TallyConfig.Seed", func(v uint64) maker { return chains(func(c *shard.Chains) { c.Config.Seed = v }) }, 0, 1)
	p = each(p, "TallyConfig.Nested", func(v int) maker { return chains(func(c *shard.Chains) { c.Nested = v }) }, 1, 2)
	p = each(p, "functions", func(v string) maker { return chains(func(c *shard.Chains) { c.Names = []string{v} }) }, "a", "b")

	ais := func(edit func(*shard.AIS)) maker {
		a := shard.AIS{Model: m, Method: mcmc.Gibbs{}, Config: anneal.AISConfig{Chains: 4, Stages: 3}}
		edit(&a)
		return part(a)
	}
	exactly := func(v int32) []int32 {
		x := make([]int32, 4*6)
		x[0] = v
		return x
	}
	tilted := func(h float64) energy.Model {
		w := make([]float64, 12)
		for i := range w {
			w[i] = h * float64(i%2)
		}
		return exact.Must(model.NewIndependent(w, 2))
	}
	p = each(p, "energies of test states", func(v uint64) maker { return ais(func(a *shard.AIS) { a.Model = exact.NewQuadratic(6, v) }) }, 1, 2)
	p = each[sampler.Method](p, "method", func(v sampler.Method) maker { return ais(func(a *shard.AIS) { a.Method = v }) }, mcmc.Gibbs{}, mcmc.Metropolis{})
	p = each(p, "Stages", func(v int) maker { return ais(func(a *shard.AIS) { a.Config.Stages = v }) }, 3, 4)
	p = each(p, "Moves", func(v int) maker { return ais(func(a *shard.AIS) { a.Config.Moves = v }) }, 1, 2)
	p = each(p, "TallyConfig.Seed", func(v uint64) maker { return ais(func(a *shard.AIS) { a.Config.Seed = v }) }, 0, 1)
	p = each(p, "TallyConfig.Chains", func(v int) maker { return ais(func(a *shard.AIS) { a.Config.Chains = v }) }, 4, 5)
	p = each(p, "Exact", func(v []int32) maker { return ais(func(a *shard.AIS) { a.Config.Exact = v }) }, nil, exactly(0), exactly(1))
	p = each(p, "Base", func(v energy.Model) maker { return ais(func(a *shard.AIS) { a.Config.Base = v }) }, nil, tilted(.1), tilted(.2))
	p = each[anneal.Schedule](p, "Schedule", func(v anneal.Schedule) maker { return ais(func(a *shard.AIS) { a.Config.Schedule = v }) }, nil, anneal.Power(2), anneal.Power(3))

	drawn := func(chain float64, n int, process diffusion.Process[int32], cfg diffusion.Config) maker {
		return part(shard.Samples[int32]{Samples: n, Functions: []func([]int32) float64{up}, New: func(ctx context.Context, first, count int) (shard.Sampler[int32], error) {
			cfg.First, cfg.Count = first, count
			return diffusion.New(ctx, letters(chain, denoise.Absorbing), process, cfg)
		}})
	}
	masked := diffusion.Masked{Mask: 3}
	p = each(p, "predictions for test states", func(v float64) maker { return drawn(v, 3, masked, diffusion.Config{Steps: 3}) }, .3, .31)
	p = each(p, "TallyConfig.Chains", func(v int) maker { return drawn(.3, v, masked, diffusion.Config{Steps: 3}) }, 3, 4)
	p = each(p, "Steps", func(v int) maker { return drawn(.3, 3, masked, diffusion.Config{Steps: v}) }, 3, 4)
	p = each(p, "Seed", func(v uint64) maker { return drawn(.3, 3, masked, diffusion.Config{Steps: 3, Seed: v}) }, 0, 1)
	return each[diffusion.Process[int32]](p, "process", func(v diffusion.Process[int32]) maker { return drawn(.3, 3, v, diffusion.Config{Steps: 3}) }, masked, diffusion.Remask{Mask: 3})
}

// samplePairs are diffusions of reals, samplers of masked tokens and AIS that differ in
// a setting of what is not in the lists above.
func samplePairs() []pair {
	var p []pair
	normal := func(mean float64) *denoise.Mixture {
		return exact.Must(denoise.NewMixture(exact.Must(continuous.NewDiagonal([]float64{1}, []float64{mean, 0}, []float64{1, 1}))))
	}
	real := func(m *denoise.Mixture, process diffusion.Process[float32], cfg diffusion.Config) maker {
		return func() (run, error) {
			cfg.Steps = 3
			cfg.Checkpoint.Path, cfg.Checkpoint.Every = "nowhere/at/all", 1<<20
			d, err := diffusion.New(context.Background(), m, process, cfg)
			if err != nil {
				return run{}, err
			}
			return saver(d, func() error {
				_ = d.Sample(context.Background(), make([]float32, 3*2)) // which cannot save its file
				return nil
			}), nil
		}
	}
	p = each(p, "predictions for test states", func(v float64) maker { return real(normal(v), diffusion.Gaussian{}, diffusion.Config{}) }, 0, 1)
	p = each(p, "Gaussian.Eta", func(v float64) maker { return real(normal(0), diffusion.Gaussian{Eta: v}, diffusion.Config{}) }, 0, 1)
	p = each[noise.Schedule](p, "Gaussian.Schedule", func(v noise.Schedule) maker {
		return real(normal(0), diffusion.Gaussian{Schedule: v}, diffusion.Config{})
	}, nil, noise.CosineBar{}, noise.LinearBeta{To: 0.03})

	hidden := func(v diffusion.Process[int32]) maker {
		return samples(letters(.3, denoise.Absorbing), v, diffusion.Config{Steps: 4})
	}
	p = each[diffusion.Process[int32]](p, "process", hidden, unmask.Scheduled{Mask: 3}, unmask.EntropyBound{Mask: 3, Bound: 1}, unmask.Threshold{Mask: 3},
		unmask.Planned{Mask: 3}, unmask.Blocks{Mask: 3, Size: 5})
	p = each(p, "Bound", func(v float64) maker { return hidden(unmask.EntropyBound{Mask: 3, Bound: v}) }, 1, 2)
	p = each(p, "Size", func(v int) maker { return hidden(unmask.Blocks{Mask: 3, Size: v}) }, 1, 5)
	p = each(p, "Noise", func(v float64) maker { return hidden(unmask.Planned{Mask: 3, Noise: v}) }, 0, 1)

	m := exact.NewQuadratic(6, 1)
	states := func(v int32) []int32 {
		x := make([]int32, 2*6)
		x[0] = v
		return x
	}
	p = each(p, "AISConfig.Exact", func(v []int32) maker {
		return importance(m, mcmc.Gibbs{}, anneal.AISConfig{Stages: 3, Chains: 2, Exact: v})
	}, nil, states(0), states(1))
	return p
}
