package conformance_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/fit"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/dual/pdi/network"
	"github.com/gibbsite-go/gibbsite/dual/unlearn/finetune"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/internal/conformance"
	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/faulty"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/projection/novelty"
	"github.com/gibbsite-go/gibbsite/projection/proximal"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/unmask"
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

var killDraws = 400

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
	return killTokensOf(sampler.Philox4x32, m, method)
}

func killTokensOf(g sampler.Generator, m energy.Model, method sampler.Method) func(string) resumable {
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
				return err
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
			return err
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

// killImportance is annealed importance sampling.
func killImportance(m energy.Model, cfg anneal.AISConfig) func(string) resumable {
	return killWalk(m, 250000, func(m energy.Model, path string) (durable.Checkpointer, func(context.Context) error, func() string) {
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
	})
}

// killSearch is a search for ground states.
func killSearch(m energy.Model, rounds int) func(string) resumable {
	return func(path string) resumable {
		cfg := ground.Config{Seed: 2, Sweeps: 10}
		cfg.Checkpoint.Path, cfg.Checkpoint.Every = path, 7
		s := exact.Must(ground.New(m, cfg))
		run := func(ctx context.Context, to int) error { return s.Run(ctx, to-s.Len()) }
		return resumable{s,
			func(ctx context.Context) error { return run(ctx, min(rounds, s.Len()+rounds/resumePieces)) },
			func(ctx context.Context) error { return run(ctx, rounds) },
			func() string { x, e := s.Best(); return digestOf(x, e, s.Energies()) + digestOfSaved(s) },
		}
	}
}

// unitBonds are bonds of weight 1 or −1 between random sites.
func unitBonds(sites, bonds int) []model.Edge {
	r, seen, all := rand.New(rand.NewPCG(1, 2)), map[[2]int]bool{}, []model.Edge(nil)
	for len(all) < bonds {
		i, j := r.IntN(sites), r.IntN(sites)
		if i < j && !seen[[2]int{i, j}] {
			seen[[2]int{i, j}] = true
			all = append(all, model.Edge{I: i, J: j, W: float64(2*r.IntN(2) - 1)})
		}
	}
	return all
}

// keepAt asks for checkpoints: samples are kept for them only.
func keepAt(cfg *diffusion.Config, path string) {
	cfg.Checkpoint.Path, cfg.Checkpoint.Every = path, 20
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
		"torus gibbs, ars": killTokensOf(sampler.ARS4x32, ising, mcmc.Gibbs{Scan: mcmc.Chromatic}),
		"dmala, ars":       killTokensOf(sampler.ARS4x32, m, mcmc.DMALA{}),
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
			run := func(ctx context.Context) error { return a.Run(ctx, 300-a.Len()) }
			return a, run, func() string {
				x, e := a.Best()
				return digestOf(x, e, a.Energies()) + digestOfSaved(a)
			}
		}),
		"ais":        killImportance(ising, anneal.AISConfig{Chains: 40, Stages: 200, Seed: 2}),
		"population": killImportance(ising, anneal.AISConfig{Chains: 40, Stages: 200, Seed: 2, Population: 8}),
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
		"ground states":          killSearch(ising, 400),
		"ground states of words": killSearch(exact.Must(model.NewQuadratic(40, unitBonds(40, 120), model.Polynomial{})), 40),
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

var killSteps = 120 // of dual ascent, fits and training

const killEvery = 5

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
		"training":                 killTraining(0),
		"training of low rank":     killTraining(2),
		"forgetting":               killForgetting(0),
		"forgetting of low rank":   killForgetting(1),
		"distillation of networks": killDistillation,
	}
}

// killTraining trains a network, or changes of a rank.
func killTraining(rank int) func(string) resumable {
	return func(path string) resumable {
		net := exact.Must(neural.New(neural.Config{Length: 3, Levels: 4, Width: 16, Heads: 2, Blocks: 1, Hidden: 32, Positions: true}, rand.NewPCG(1, 7)))
		var data []int32
		r := rand.New(rand.NewPCG(5, 5))
		for range 200 {
			a := int32(r.IntN(3))
			data = append(data, a, (a+1)%3, int32(r.IntN(3)))
		}
		cfg := train.Config{Steps: killSteps, Batch: 16, Seed: 1, Rank: rank}
		cfg.Checkpoint.Path, cfg.Checkpoint.Every = path, killEvery
		t := exact.Must(train.New(net, train.Masked{Mask: 3}, data, cfg))
		return stepwise(t, t.Step, t.Run, func() string { return digestOf(net.Weights(), t.Loss()) + digestOfSaved(t) })
	}
}

// killForgetting makes a network forget.
func killForgetting(rank int) func(string) resumable {
	return func(path string) resumable {
		var left atomic.Int64
		stop := func() {}
		look := func() {
			if left.Add(-1) == 0 {
				stop()
			}
		}
		f, net := forgetting(1, look, func(cfg *finetune.Config[int32]) {
			cfg.Train.Steps, cfg.Train.Rank = killSteps, rank
			cfg.Checkpoint.Path, cfg.Checkpoint.Every = path, killEvery
		})
		goOn := func(ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			stop = cancel
			left.Store(80)
			err := f.Run(ctx)
			if left.Store(0); errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		}
		return resumable{f, goOn, f.Run, func() string { return digestOf(net.Weights(), f.Lambda(), f.Share(), f.Drawn()) + digestOfSaved(f) }}
	}
}

// killDistillation trains a network of primal–dual inference.
func killDistillation(path string) resumable {
	const rounds = 3 * resumePieces
	t := distilling(1, func(cfg *network.Config) {
		cfg.Rounds = rounds
		cfg.Checkpoint.Path, cfg.Checkpoint.Every = path, 2
	})
	return resumable{
		t,
		func(ctx context.Context) error { return t.Run(ctx, min(rounds/resumePieces, rounds-t.Round())) },
		func(ctx context.Context) error { return t.Run(ctx, rounds-t.Round()) },
		func() string { return digestOf(t.Loss(), t.Round()) + digestOfSaved(t) },
	}
}

// Every type that can be saved is among the runs that are killed.
func TestResumablesAreRegistered(t *testing.T) {
	var names []string
	for name, begin := range resumables() {
		kind, _, _ := strings.Cut(strings.TrimPrefix(fmt.Sprintf("%T", begin(filepath.Join(t.TempDir(), name)).Checkpointer), "*"), "[")
		names = append(names, kind)
	}
	for _, line := range conformance.Missing(exact.Must(loaded()).Having("Save", "Load"), names, "the methods of a run with checkpoints", "resume_test.go") {
		t.Error(line)
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
			return err
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
		"corrected": killSeries(diffusion.Corrected{Moves: 2}, plain),
		"proximal": killSeries(diffusion.Gaussian{}, func(c *diffusion.Config) energy.Denoiser[float32] {
			c.Projector = proximal.Projector{Set: row}
			return m
		}),
		"primal-dual": killSeries(diffusion.Gaussian{Eta: 1, Wide: true, Schedule: noise.CosineBar{}}, func(c *diffusion.Config) energy.Denoiser[float32] {
			atLeast := exact.Must(continuous.NewLinear([]float64{-1, 0}, .5))
			return exact.Must(pdi.New(context.Background(), exact.Must(pdi.NewMixture(base, 1, dual.AtMost(atLeast, 0))), pdi.Config{}))
		}),
		"scheduled":     hidden(unmask.Scheduled{Mask: 3}),
		"entropy bound": hidden(unmask.EntropyBound{Mask: 3, Bound: 1}),
		"threshold":     hidden(unmask.Threshold{Mask: 3}),
		"planned":       hidden(unmask.Planned{Mask: 3, Noise: 1}),
		"blocks":        hidden(unmask.Blocks{Mask: 3, Size: 2}),
		"ordered":       hidden(diffusion.Ordered{Mask: 3}),
	}
}

// TestKill starts a process for every kind of run, kills it at random moments and
// starts it again, until it has been killed often enough and ends; then its bits
// are those of a run that was not killed.
//
//	go test ./internal/conformance -run 'TestKill$' -kills 1000 -timeout 2h -v
//
// The flag -runners selects runs by name.
var kills = flag.Int("kills", 0, "number of kills in TestKill, over all runs; 0: a few, so that the code stays in use")

// killed names, in the environment of a child, the run and its checkpoint file.
const killEnvironment = "GIBBSITE_TEST_KILL"

func TestKill(t *testing.T) {
	exact.SkipUnderRace(t)
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("no processes")
	}
	wanted := exact.Must(regexp.Compile(*pairsRunners))
	names := slices.DeleteFunc(sortedNames(resumables()), func(name string) bool { return !wanted.MatchString(name) })
	quota := (*kills + len(names) - 1) / len(names)
	if *kills == 0 {
		names, quota = []string{"annealing", "first hitting", "particles"}, 1
	}
	src := rand.New(rand.NewPCG(uint64(*kills), 9))
	total, runs := 0, 0
	for _, name := range names {
		begun := time.Now()
		k, r := killOften(t, name, quota, src)
		t.Logf("%-16s %4d kills in %d runs, %v", name, k, r, time.Since(begun).Round(time.Second))
		total, runs = total+k, runs+r
	}
	t.Logf("%d kills, %d runs to their end, all with the bits of a run that was not killed", total, runs)
}

// killOften kills a run quota times, in as many runs to the end as that takes.
func killOften(t *testing.T, name string, quota int, src *rand.Rand) (kills, runs int) {
	t.Helper()
	folder := t.TempDir()
	start := time.Now()
	want, done := killedChild(t, name, filepath.Join(folder, "whole"), time.Hour)
	took := time.Since(start)
	if !done {
		t.Fatalf("%s: the run that was not killed did not end", name)
	}
	for kills < quota || runs == 0 {
		path := filepath.Join(folder, fmt.Sprint("run", runs))
		for {
			after := time.Hour
			if kills < quota {
				after = time.Duration(src.Int64N(int64(took)))
			}
			got, done := killedChild(t, name, path, after)
			if !done {
				kills++
				continue
			}
			if got != want {
				t.Fatalf("%s: after %d kills the run ends with %s, want %s", name, kills, got, want)
			}
			break
		}
		runs++
	}
	return kills, runs
}

// killedChild runs a run in a process of its own, which it kills after a time, and
// returns what it says at its end.
func killedChild(t *testing.T, name, path string, after time.Duration) (said string, done bool) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), after)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "-test.run=^TestKilledChild$", "-test.v")
	cmd.Env = append(os.Environ(), killEnvironment+"="+name+"\n"+path)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() != nil && !exit.Exited() {
		return "", false
	}
	_, said, found := strings.Cut(string(out), "digest ")
	if err != nil || !found {
		if ctx.Err() != nil { // killed before it began
			return "", false
		}
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	said, _, _ = strings.Cut(said, "\n")
	return said, true
}

// TestKilledChild is the child of TestKill.
func TestKilledChild(t *testing.T) {
	name, path, found := strings.Cut(os.Getenv(killEnvironment), "\n")
	if !found {
		t.Skip("for children of TestKill")
	}
	r, err := beginOrResume(resumables()[name], path)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.finish(context.Background()); err != nil {
		t.Fatal(err)
	}
	fmt.Println("digest", r.digest())
}

// A checkpoint of any kind of run whose body is anything at all, with length and checksum
// right, is refused, or the run goes on: no panic, and no call without an end.
func FuzzLoadRun(f *testing.F) {
	all := resumables()
	names := sortedNames(all)
	for kind := range names {
		for _, edits := range exact.MangleSeeds()[:8] {
			f.Add(byte(kind), edits)
		}
	}
	files := make([][]byte, len(names))
	f.Fuzz(func(t *testing.T, number byte, edits []byte) {
		kind := int(number) % len(names)
		path := filepath.Join(t.TempDir(), "run")
		if files[kind] == nil {
			var b bytes.Buffer
			r := all[names[kind]](path)
			require.NoError(t, r.goOn(context.Background()))
			require.NoError(t, r.Save(&b))
			files[kind] = b.Bytes()
		}
		r := all[names[kind]](filepath.Join(t.TempDir(), "run"))
		if r.Load(context.Background(), bytes.NewReader(exact.Mangle(files[kind], edits))) == nil {
			_ = r.goOn(context.Background()) // a failing run is an error
		}
	})
}

// Every run is saved while its file system fails at a random call in a random way:
//
//	go test ./internal/conformance -run 'TestFaults$' -faults 10000 -v
var faults = flag.Int("faults", 58, "number of injected faults in TestFaults, over all runs")

// Whatever call fails in whatever way, the old or the new generation loads.
func TestFaults(t *testing.T) {
	exact.SkipUnderRace(t)
	all := resumables()
	names := sortedNames(all)
	src := rand.New(rand.NewPCG(3, 2))
	total, failed := 0, 0
	for _, name := range names {
		// Generations of a run: what each saves, and what it says.
		var saved []func(io.Writer) error
		var said []string
		folder := t.TempDir()
		run := all[name](filepath.Join(folder, "run"))
		for range 4 {
			require.NoError(t, run.goOn(context.Background()), name)
			var b bytes.Buffer
			require.NoError(t, run.Save(&b), name)
			saved = append(saved, func(w io.Writer) error { _, err := w.Write(b.Bytes()); return err })
			said = append(said, digestOf(b.Bytes()))
		}
		require.NotEqual(t, said[0], said[1], name)
		disk := faulty.New(src)
		require.NoError(t, durable.Save(disk, "dir/run", saved[0]))
		calls := disk.Calls
		last, since := 0, []int{0} // what loads; tried since the last save that succeeded, that one first
		for range (*faults + len(names) - 1) / len(names) {
			next := (last + 1) % len(saved)
			disk.Calls, disk.Fault, disk.How = 0, 1+src.IntN(calls), src.IntN(faulty.Ways)
			at, how := disk.Fault, disk.How
			err := durable.Save(disk, "dir/run", saved[next])
			disk.Power()
			fresh := all[name](filepath.Join(folder, "fresh"))
			require.NoError(t, durable.Load(disk, "dir/run", func(r io.Reader) error { return fresh.Load(context.Background(), r) }, durable.Foreign), "%s: call %d failed in way %d: %v", name, at, how, err)
			now := slices.Index(said, digestOfSaved(fresh))
			since = append(since, next)
			switch {
			case err == nil:
				require.Equal(t, next, now, "%s: call %d failed in way %d", name, at, how)
				since = []int{next}
			case how < faulty.Crash:
				require.Contains(t, []int{last, next}, now, "%s: call %d failed in way %d", name, at, how)
			default: // renames that were never synced may be undone
				require.Contains(t, since, now, "%s: call %d failed in way %d", name, at, how)
			}
			last = now
			if total++; err != nil {
				failed++
			}
		}
	}
	t.Logf("%d faults in saving %d runs, %d saves reported an error, the old or the new generation loaded each time", total, len(names), failed)
	require.Greater(t, failed, total/2)
}
