package conformance_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"sync/atomic"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/projection/novelty"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	streams "github.com/gibbsite-go/gibbsite/sampler/generator"
	"github.com/gibbsite-go/gibbsite/sampler/ground"
	"github.com/gibbsite-go/gibbsite/sampler/langevin"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/auto"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/cluster"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/momentum"
)

// resumable is a run that can be killed and go on.
type resumable struct {
	durable.Checkpointer

	// goOn makes the next of some pieces, finish all that is left. Both save to
	// the path that the run was begun with, if there is one, many times.
	goOn, finish func(ctx context.Context) error

	// digest tells the end of a run from all others.
	digest func() string
}

// beginOrResume begins a run, from the checkpoint file path if there is one.
func beginOrResume(begin func(path string) resumable, path string) (resumable, error) {
	r := begin(path)
	err := durable.LoadFile(context.Background(), "test", path, r)
	if errors.Is(err, os.ErrNotExist) {
		return begin(path), nil
	}
	return r, err
}

const resumePieces = 8 // of a run

// digestOf is no CRC: checkpoints end in theirs, whose CRC in turn is always the same.
func digestOf(v ...any) string { return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, v...)))[:16] }

// digestOfSaved ends with the bytes of a checkpoint: that is all there is of a run.
func digestOfSaved(c durable.Checkpointer) string {
	var b bytes.Buffer
	if err := c.Save(&b); err != nil {
		return err.Error()
	}
	return digestOf(b.Bytes())
}

const killDraws = 400

func killChains[S energy.Site](c *sampler.Runner[S], err error) resumable {
	exact.Must(c, err)
	return resumable{
		Checkpointer: c,
		goOn:         func(ctx context.Context) error { return c.Run(ctx, min(killDraws/resumePieces, killDraws-c.Len())) },
		finish:       func(ctx context.Context) error { return c.Run(ctx, killDraws-c.Len()) },
		digest:       func() string { return digestOf(c.States(), c.Stats(), c.StepSizes(), c.Len()) + digestOfSaved(c) },
	}
}

func killTokens(m energy.Model, method sampler.Method) func(string) resumable {
	return killTokensOf(streams.Philox4x32, m, method)
}

func killTokensOf(g streams.Kind, m energy.Model, method sampler.Method) func(string) resumable {
	return func(path string) resumable {
		cfg := sampler.Config{Chains: 40, Seed: 3, Warmup: 40, Generator: g}
		cfg.Checkpoint.Path, cfg.Checkpoint.Every = path, 9
		return killChains(sampler.NewChains(context.Background(), m, method, cfg))
	}
}

func killReals(cfg langevin.Config) func(string) resumable {
	m := exact.Must(continuous.NewQuadratic([]float64{1, .5, .5, 2}, []float64{1, 2}, 0))
	return func(path string) resumable {
		cfg.Chains, cfg.Warmup = 40, 40
		cfg.Checkpoint.Path, cfg.Checkpoint.Every = path, 9
		return killChains(langevin.New(context.Background(), m, cfg))
	}
}

// stoppedModel is a model that ends a context after some evaluations.
type stoppedModel struct {
	energy.Model
	left atomic.Int64
	stop context.CancelFunc
}

func (c *stoppedModel) Energy(e []float64, x []int32) {
	if c.left.Add(-1) == 0 {
		c.stop()
	}
	c.Model.Energy(e, x)
}

// piece runs until the model has been asked n times.
func (c *stoppedModel) piece(n int, run func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c.stop = cancel
	c.left.Store(int64(n))
	err := run(ctx)
	if c.left.Store(0); errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// killWalk is a walk through temperatures over a model that is asked so many times.
func killWalk(m energy.Model, asked int, begin func(m energy.Model, path string) (durable.Checkpointer, func(context.Context) error, func() string)) func(string) resumable {
	return func(path string) resumable {
		c := &stoppedModel{Model: m}
		r, run, digest := begin(c, path)
		return resumable{r, func(context.Context) error { return c.piece(asked/resumePieces, run) }, run, digest}
	}
}

var killSites = 6

func killSamples(c denoise.Corruption, p diffusion.Process[int32], edit func(*diffusion.Config), particles int) func(string) resumable {
	return func(path string) resumable {
		chain := exact.Must(model.NewMarkov(killSites, 3, 1, []float64{.2, .3, .5}, []float64{.6, .3, .1, .2, .5, .3, .3, .3, .4}))
		m := exact.Must(denoise.NewMarkov(chain, c))
		cfg := diffusion.Config{Steps: 8, Batch: 5, Seed: 3}
		if edit != nil {
			edit(&cfg)
		}
		keepAt(&cfg, path)
		x := make([]int32, 600*killSites)
		at := 0
		if particles > 0 {
			d := exact.Must(diffusion.NewParticles(context.Background(), m, p, diffusion.ParticlesConfig{Config: cfg, Particles: particles}))
			x = x[:len(x)/6]
			run := func(ctx context.Context, to int) error {
				err := d.Sample(ctx, x[at:to])
				at = d.Len() * killSites
				return unkept(path, err)
			}
			return resumable{d,
				func(ctx context.Context) error {
					return run(ctx, min(len(x), at+len(x)/resumePieces/killSites*killSites))
				},
				func(ctx context.Context) error { return run(ctx, len(x)) },
				func() string {
					logP, se := d.LogProb()
					return digestOf(x, math.Float64bits(logP), math.Float64bits(se))
				},
			}
		}
		d := exact.Must(diffusion.New(context.Background(), m, p, cfg))
		run := func(ctx context.Context, to int) error {
			err := d.Sample(ctx, x[at:to])
			at = d.Len() * killSites
			return unkept(path, err)
		}
		return resumable{d,
			func(ctx context.Context) error {
				return run(ctx, min(len(x), at+len(x)/resumePieces/killSites*killSites))
			},
			func(ctx context.Context) error { return run(ctx, len(x)) },
			func() string { return digestOf(x) },
		}
	}
}

// keepAt asks for checkpoints: samples are kept for them only.
func keepAt(cfg *diffusion.Config, path string) {
	cfg.Checkpoint.Path, cfg.Checkpoint.Every = path, 20
	if path == "" {
		cfg.Checkpoint.Path, cfg.Checkpoint.Every = os.DevNull+"/none", math.MaxInt
	}
}

// unkept forgives a run without a path the file that it could not write.
func unkept(path string, err error) error {
	if path == "" {
		return nil
	}
	return err
}

// resumables are all runs that can be killed, by name.
func resumables() map[string]func(path string) resumable {
	m := exact.NewQuadratic(12, 1)
	ising := exact.Must(model.NewIsing(model.Lattice{4, 4}, 0.3, 0.1))
	potts := exact.Must(model.NewPotts(model.Lattice{3, 4}, 3, 0.3, nil))
	rbm := exact.Must(model.NewRBM([]float32{1, -2, .5, .5, 1, -1, 2, 1}, []float32{.1, -.2}, []float32{0, .5, -.5, 1}))
	within := constraint.Count{Levels: []int32{1}, Min: 4, Max: 8}
	blocks := mcmc.BlockGibbs{Blocks: [][]int{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}}}
	path := projection.Path{Language: exact.Must(constraint.Intersect(constraint.Count{Levels: []int32{1}, Min: 2, Max: 4}, constraint.Count{Levels: []int32{3}, Max: 0}))}
	clip := func(x []float32) {
		for i := range x {
			x[i] = min(max(x[i], -1), 1)
		}
	}
	all := map[string]func(string) resumable{
		"block gibbs":      killTokens(m, blocks),
		"cyclical":         killTokens(m, mcmc.Cyclical{}),
		"dlmc":             killTokens(m, mcmc.DLMC{}),
		"dmala":            killTokens(m, mcmc.DMALA{}),
		"dmala within":     killTokens(m, mcmc.DMALA{Within: within}),
		"dmaps":            killTokens(m, mcmc.DMAPS{}),
		"dula":             killTokens(m, mcmc.DULA{}),
		"dups":             killTokens(potts, mcmc.DUPS{}),
		"gibbs":            killTokens(m, mcmc.Gibbs{}),
		"chromatic gibbs":  killTokens(potts, mcmc.Gibbs{Scan: mcmc.Chromatic}),
		"torus gibbs":      killTokens(ising, mcmc.Gibbs{Scan: mcmc.Chromatic}),
		"torus gibbs, ars": killTokensOf(streams.ARS4x32, ising, mcmc.Gibbs{Scan: mcmc.Chromatic}),
		"dmala, ars":       killTokensOf(streams.ARS4x32, m, mcmc.DMALA{}),
		"sparse gibbs":     killTokens(potts, mcmc.Gibbs{}),
		"bipartite gibbs":  killTokens(rbm, mcmc.BlockGibbs{}),
		"gwg":              killTokens(m, mcmc.GWG{}),
		"hamming ball":     killTokens(m, mcmc.HammingBall{}),
		"locally balanced": killTokens(m, mcmc.LocallyBalanced{}),
		"metropolis":       killTokens(m, mcmc.Metropolis{}),
		"pair gibbs":       killTokens(m, mcmc.PairGibbs{Within: within}),
		"paths":            killTokens(m, mcmc.Paths{}),
		"swap":             killTokens(m, mcmc.Swap{Within: within}),
		"auto":             killTokens(m, auto.Method{Candidates: []sampler.Method{mcmc.Metropolis{}, mcmc.DMALA{}}}),
		"tempering":        killTokens(m, mcmc.Tempering{Rungs: 4}),
		"dhams":            killTokens(m, momentum.DHAMS{Persistence: 0.5}),
		"houdayer":         killTokens(ising, cluster.Houdayer{Base: mcmc.DMALA{}}),
		"pdhams":           killTokens(ising, momentum.PDHAMS{}),
		"swendsen-wang":    killTokens(ising, cluster.SwendsenWang{}),
		"wolff":            killTokens(ising, cluster.Wolff{}),
		"metropolis scan":  killTokens(ising, mcmc.Metropolis{Scan: mcmc.Systematic}),
		"mala":             killReals(langevin.Config{}),
		"projected ula":    killReals(langevin.Config{StepSize: 0.1, Unadjusted: true, Project: clip}),

		"masked":        killSamples(denoise.Absorbing, diffusion.Masked{Mask: 3}, nil, 0),
		"first hitting": killSamples(denoise.Absorbing, diffusion.Masked{Mask: 3, FirstHitting: true}, func(c *diffusion.Config) { c.Projector = path }, 0),
		"uniform":       killSamples(denoise.Noisy, diffusion.Uniform{}, nil, 0),
		"remask":        killSamples(denoise.Absorbing, diffusion.Remask{Mask: 3}, nil, 0),
		"novel": killSamples(denoise.Absorbing, diffusion.Masked{Mask: 3}, func(c *diffusion.Config) {
			c.Projector = novelty.Projector{Path: projection.Path{Language: exact.Must(constraint.Intersect(constraint.Count{Levels: []int32{3}, Max: 0}, constraint.Any{}))}}
		}, 0),
		"particles": killSamples(denoise.Absorbing, diffusion.Masked{Mask: 3}, func(c *diffusion.Config) { c.Projector = path }, 6),

		"annealing": killWalk(ising, 100000, func(m energy.Model, path string) (durable.Checkpointer, func(context.Context) error, func() string) {
			cfg := anneal.Config{Chains: 40, Stages: 20, Seed: 2}
			cfg.Checkpoint.Path, cfg.Checkpoint.Every = path, 9
			a := exact.Must(anneal.New(context.Background(), m, mcmc.Metropolis{}, cfg))
			run := func(ctx context.Context) error {
				if a.Len() == 300 { // killed after its last checkpoint: a Run would begin anew
					return nil
				}
				return a.Run(ctx, 300)
			}
			return a, run, func() string {
				x, e := a.Best()
				return digestOf(x, e, a.Energies()) + digestOfSaved(a)
			}
		}),
		"ais": killWalk(ising, 250000, func(m energy.Model, path string) (durable.Checkpointer, func(context.Context) error, func() string) {
			cfg := anneal.AISConfig{Chains: 40, Stages: 200, Seed: 2}
			cfg.Checkpoint.Path, cfg.Checkpoint.Every = path, 5
			a := exact.Must(anneal.NewAIS(m, mcmc.Gibbs{}, cfg))
			said := ""
			return a, func(ctx context.Context) error {
				res, err := a.Run(ctx)
				if err == nil {
					said = digestOf(res.LogZ, res.ESS, res.LogWeights, res.States)
				}
				return err
			}, func() string { return said + digestOfSaved(a) }
		}),
		"stepping stones": killWalk(ising, 200000, func(m energy.Model, path string) (durable.Checkpointer, func(context.Context) error, func() string) {
			cfg := anneal.SteppingStoneConfig{Chains: 40, Stages: 6, Warmup: 20, Draws: 50, Seed: 2}
			cfg.Checkpoint.Path, cfg.Checkpoint.Every = path, 9
			a := exact.Must(anneal.NewSteppingStone(m, mcmc.Gibbs{}, cfg))
			said := ""
			return a, func(ctx context.Context) error {
				z, err := a.Run(ctx)
				if err == nil {
					said = digestOf(z)
				}
				return err
			}, func() string { return said + digestOfSaved(a) }
		}),
		"ground states": func(path string) resumable {
			const rounds = 400
			cfg := ground.Config{Seed: 2}
			cfg.Checkpoint.Path, cfg.Checkpoint.Every = path, 7
			s := exact.Must(ground.New(ising, cfg))
			run := func(ctx context.Context, to int) error { return s.Run(ctx, to-s.Len()) }
			return resumable{s,
				func(ctx context.Context) error { return run(ctx, min(rounds, s.Len()+rounds/resumePieces)) },
				func(ctx context.Context) error { return run(ctx, rounds) },
				func() string { x, e := s.Best(); return digestOf(x, e, s.Energies()) + digestOfSaved(s) },
			}
		},
	}
	maps.Copy(all, resumableLearners())
	maps.Copy(all, resumableDiffusions())
	return all
}

func sortedNames[T any](m map[string]T) []string {
	var names []string
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
