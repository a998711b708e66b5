package conformance_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/fit"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/dual/pdi/network"
	"github.com/gibbsite-go/gibbsite/dual/unlearn"
	"github.com/gibbsite-go/gibbsite/dual/unlearn/finetune"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/internal/conformance"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/laws"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/ground"
	"github.com/gibbsite-go/gibbsite/sampler/langevin"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// run is one that can stop and go on.
type run struct {
	finish func(ctx context.Context) error // goes on to the end
	kept   keeper                          // nil: there are no checkpoints
	end    func() any                      // what it came to; fmt.Sprint of it has its bits
}

type keeper interface {
	Save(w io.Writer) error
	Load(ctx context.Context, r io.Reader) error
}

// runnerEntry is a line of the registry of runners: "package.Type", and what is special
// about this one. begin makes a run of so many workers, which calls look whenever it
// evaluates code of a user; watched says that it does.
type runnerEntry struct {
	name    string
	watched bool
	begin   func(workers int, look func()) run
}

// The runners of the module. A new one adds a line.
var runnerEntries = []runnerEntry{
	{"sampler.Runner", true, chainsRun(mcmc.Gibbs{})},
	{"sampler.Runner of DMALA", true, chainsRun(mcmc.DMALA{})},
	{"sampler.Runner of Tempering", true, chainsRun(mcmc.Tempering{Rungs: 3})},
	{"sampler.Runner of reals", true, langevinRun},
	{"anneal.Runner", true, annealRun},
	{"anneal.AISRunner", true, importanceRun(0)},
	{"anneal.AISRunner of populations", true, importanceRun(4)},
	{"anneal.SteppingStoneRunner", true, stonesRun},
	{"ground.Search", false, searchRun(exact.Must(model.NewDenseQuadratic(12, reals[float64](144, 3), model.Polynomial{})))},
	{"ground.Search of words", false, searchRun(exact.Must(model.NewQuadratic(12, unitBonds(12, 30), model.Polynomial{})))},
	{"dual.Inference", true, inferenceRun},
	{"dual.Resampler", true, resamplerRun},
	{"unlearn.Rejection", true, rejectionRun},
	{"fit.Fit", false, fitRun},
	{"train.Trainer", false, trainingRun(0)},
	{"train.Trainer of low rank", false, trainingRun(2)},
	{"network.Trainer", false, distillationRun},
	{"finetune.Tuner", true, forgettingRun(0)},
	{"finetune.Tuner of low rank", true, forgettingRun(1)},
}

// asked is a plain model whose evaluations are looked at.
type asked struct {
	energy.Model
	look func()
}

func (a asked) Energy(e []float64, x []int32) {
	a.look()
	a.Model.Energy(e, x)
}

const runSteps = 12

func chainsRun(method sampler.Method) func(workers int, look func()) run {
	return func(workers int, look func()) run {
		c := exact.Must(sampler.NewChains(context.Background(), asked{exact.NewQuadratic(6, 1), look}, method, sampler.Config{Chains: 9, Seed: 3, Warmup: 8, Workers: workers}))
		return run{func(ctx context.Context) error { return c.Run(ctx, runSteps-c.Len()) }, c,
			func() any { return []any{c.States(), c.Stats(), c.StepSizes()} }}
	}
}

// bowl is E = ½|x|², looked at.
type bowl struct {
	energy.Scored
	look func()
}

func (b bowl) Energy(e []float64, x []float32) {
	b.look()
	b.Scored.Energy(e, x)
}

func langevinRun(workers int, look func()) run {
	target := bowl{exact.Must(continuous.NewQuadratic([]float64{1, .5, .5, 2}, []float64{1, 2}, 0)), look}
	c := exact.Must(langevin.New(context.Background(), target, langevin.Config{Chains: 9, Warmup: 8, Workers: workers}))
	return run{func(ctx context.Context) error { return c.Run(ctx, runSteps-c.Len()) }, c,
		func() any { return []any{c.States(), c.Stats(), c.StepSizes()} }}
}

func annealRun(workers int, look func()) run {
	a := exact.Must(anneal.New(context.Background(), asked{exact.NewQuadratic(6, 1), look}, mcmc.Metropolis{},
		anneal.Config{Chains: 5, Stages: 4, Workers: workers, Schedule: anneal.Linear(0.1, 3)}))
	return run{func(ctx context.Context) error { return a.Run(ctx, runSteps-a.Len()) }, a,
		func() any { x, e := a.Best(); return []any{x, e, a.Energies()} }}
}

func importanceRun(population int) func(workers int, look func()) run {
	return func(workers int, look func()) run {
		a := exact.Must(anneal.NewAIS(asked{exact.NewQuadratic(6, 1), look}, mcmc.Gibbs{}, anneal.AISConfig{Chains: 8, Population: population, Stages: 9, Workers: workers}))
		var last *anneal.AISResult
		return run{func(ctx context.Context) (err error) { last, err = a.Run(ctx); return err }, a, func() any { return *last }}
	}
}

func stonesRun(workers int, look func()) run {
	a := exact.Must(anneal.NewSteppingStone(asked{exact.NewQuadratic(5, 1), look}, mcmc.Gibbs{},
		anneal.SteppingStoneConfig{Chains: 3, Stages: 3, Warmup: 5, Draws: 8, Workers: workers}))
	var last anneal.LogZ
	return run{func(ctx context.Context) (err error) { last, err = a.Run(ctx); return err }, a, func() any { return last }}
}

func searchRun(m energy.Model) func(workers int, _ func()) run {
	return func(workers int, _ func()) run {
		s := exact.Must(ground.New(m, ground.Config{Chains: 3, Sweeps: 5, Workers: workers}))
		return run{func(ctx context.Context) error { return s.Run(ctx, runSteps-s.Len()) }, s,
			func() any { x, e := s.Best(); return []any{x, e, s.Energies()} }}
	}
}

func loop(workers int, seed uint64, look func()) (*dual.Inference[int32], *sampler.Chains) {
	l := lagrangian(asked{exact.NewQuadratic(6, 1), look})
	c := exact.Must(sampler.NewChains(context.Background(), l, mcmc.Gibbs{}, sampler.Config{Chains: 9, Seed: seed, Warmup: -1, Workers: workers}))
	return exact.Must(dual.NewInference(context.Background(), dual.Target[int32](l), dual.Primal[int32](c), dual.Config{})), c
}

func inferenceRun(workers int, look func()) run {
	i, c := loop(workers, 1, look)
	return run{func(ctx context.Context) error { return i.Run(ctx, runSteps-i.Len()) }, i,
		func() any { return []any{i.Lambda(), i.Average(), c.States()} }}
}

func resamplerRun(_ int, look func()) run {
	r := exact.Must(dual.NewResampler(3, 4, func(ctx context.Context, x []int32) error {
		for i := range x {
			if err := ctx.Err(); err != nil {
				return err
			}
			look()
			x[i] = int32(i)
		}
		return nil
	}))
	return run{func(ctx context.Context) error { return r.Run(ctx, 1) }, nil, func() any { return r.States() }}
}

func rejectionRun(_ int, look func()) run {
	src := rand.NewPCG(1, 1)
	draw := func(ctx context.Context, x []int32) error {
		for i := range x {
			if err := ctx.Err(); err != nil {
				return err
			}
			look()
			x[i] = int32(rand.New(src).IntN(2))
		}
		return nil
	}
	r := exact.Must(unlearn.NewRejection(4, 3, draw, func(x []int32) float64 { return -float64(x[0]) }, 0, rand.NewPCG(1, 2)))
	return run{func(ctx context.Context) error { return r.Run(ctx, 1) }, nil, func() any { return r.Len() }}
}

func fitRun(workers int, _ func()) run {
	p := exact.Must(exact.Must(model.NewDenseQuadratic(4, make([]float64, 16), model.Polynomial{})).Learn())
	c := exact.Must(sampler.NewChains(context.Background(), p, mcmc.Gibbs{}, sampler.Config{Chains: 5, Warmup: -1, Workers: workers}))
	data := []int32{1, 0, 1, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0}
	f := exact.Must(fit.New(context.Background(), p, data, fit.Config{Chains: c, Batch: 3}))
	return run{func(ctx context.Context) error { return f.Run(ctx, runSteps-f.Len()) }, f,
		func() any { return []any{f.Params(), f.Average(), c.States()} }}
}

func trainingRun(rank int) func(workers int, _ func()) run {
	return func(workers int, _ func()) run {
		net := exact.Must(neural.New(neural.Config{Length: 3, Levels: 4, Width: 8, Heads: 1, Blocks: 1, Hidden: 8, Positions: true}, rand.NewPCG(1, 7)))
		rows := []int32{0, 1, 2, 1, 2, 0, 2, 0, 1, 2, 2, 2, 0, 0, 0, 1, 0, 1}
		tr := exact.Must(train.New(net, train.Masked{Mask: 3}, rows, train.Config{Steps: runSteps, Batch: 4, Rank: rank, Workers: workers}))
		return run{func(ctx context.Context) error { return tr.Run(ctx, runSteps-tr.Step()) }, tr, func() any { return []any{tr.Loss(), tr.Step(), net.Weights()} }}
	}
}

// forgetting is a small tuning of a network, and the network.
func forgetting(workers int, look func(), edit func(cfg *finetune.Config[int32])) (*finetune.Tuner[int32], *neural.Transformer) {
	net := exact.Must(neural.New(neural.Config{Length: 3, Levels: 4, Width: 8, Heads: 1, Blocks: 1, Hidden: 8, Positions: true}, rand.NewPCG(1, 7)))
	rows := []int32{0, 1, 2, 1, 2, 0, 2, 0, 1, 2, 2, 2, 0, 0, 0, 1, 0, 1}
	first := func(x []int32) float64 {
		look()
		return float64(x[0]) / 2
	}
	cfg := finetune.Config[int32]{
		Objective: train.Masked{Mask: 3}, Model: exact.Must(neural.NewMasked(net, 3, neural.Options{TimeFree: true, Workers: workers})),
		Sample: func(ctx context.Context, m energy.Denoiser[int32], first int, x []int32) error {
			return exact.Must(diffusion.New(ctx, m, diffusion.Process[int32](diffusion.Masked{Mask: 3, FirstHitting: true}), diffusion.Config{First: first, Workers: workers})).Sample(ctx, x)
		},
		Train: train.Config{Steps: runSteps, Batch: 4, Workers: workers}, Inner: 2, Draws: 8, Final: 24,
	}
	edit(&cfg)
	return exact.Must(finetune.New(context.Background(), net, rows, []finetune.Concept[int32]{{Has: first, Bound: 0.49}, {Tokens: []int32{1}, Bound: 0.65}}, cfg)), net
}

func forgettingRun(rank int) func(workers int, look func()) run {
	return func(workers int, look func()) run {
		f, net := forgetting(workers, look, func(cfg *finetune.Config[int32]) { cfg.Train.Rank = rank })
		return run{f.Run, f, func() any { return []any{net.Weights(), f.Lambda(), f.Share(), f.Drawn()} }}
	}
}

func distillationRun(workers int, _ func()) run {
	tr := distilling(workers, func(*network.Config) {})
	return run{func(ctx context.Context) error { return tr.Run(ctx, distillRounds-tr.Round()) }, tr, func() any { return []any{tr.Loss(), tr.Round()} }}
}

const distillRounds = 3

// distilling trains a small network of primal–dual inference.
func distilling(workers int, edit func(cfg *network.Config)) *network.Trainer {
	base := exact.Must(continuous.NewDiagonal([]float64{2, 1}, []float64{-1, 0, 1.5, 0.5}, []float64{0.4, 0.3}))
	teacher := exact.Must(pdi.NewMixture(base, 1, dual.AtMost(exact.Must(continuous.NewLinear([]float64{-1, 0}, 0.5)), 0)))
	cfg := network.Config{
		Bounds: [][]float64{{0}}, Rounds: distillRounds, PerRound: 4, Width: 16, Blocks: 1, Cond: 16, Chains: 6, Path: 5,
		Train: train.Config{Seed: 1, Batch: 8, Workers: workers},
	}
	edit(&cfg)
	return exact.Must(network.New(context.Background(), teacher, cfg))
}

// The bits that a run comes to do not depend on workers, nor on where it stopped, and was
// saved, and went on.
func TestRunners(t *testing.T) {
	nothing := func() {}
	for _, e := range runnerEntries {
		t.Run(e.name, func(t *testing.T) {
			whole := e.begin(1, nothing)
			require.NoError(t, whole.finish(t.Context()))
			want := bits(t, whole)
			several := e.begin(3, nothing)
			require.NoError(t, several.finish(t.Context()))
			require.Equal(t, want, bits(t, several), "three workers")

			stops := 0
			for looks := 1; ; looks = looks*3/2 + 1 {
				r := e.begin(2, nothing)
				err := r.finish(laws.NewPolled(t.Context(), looks))
				if err == nil {
					break
				}
				stops++
				require.ErrorIs(t, err, context.Canceled, "a context that ends at look %d", looks)
				if r.kept != nil {
					var file bytes.Buffer
					require.NoError(t, r.kept.Save(&file), "stopped at look %d", looks)
					loaded := e.begin(1, nothing)
					require.NoError(t, loaded.kept.Load(t.Context(), &file), "stopped at look %d", looks)
					require.NoError(t, loaded.finish(t.Context()))
					require.Equal(t, want, bits(t, loaded), "stopped at look %d, saved and loaded", looks)
				}
				require.NoError(t, r.finish(t.Context()))
				if r.kept != nil || looks == 1 {
					require.Equal(t, want, bits(t, r), "stopped at look %d and gone on", looks)
				}
			}
			require.Positive(t, stops, "the run never looks at its context")
		})
	}
}

// bits are what a run came to, and its checkpoint.
func bits(t *testing.T, r run) string {
	t.Helper()
	var file bytes.Buffer
	if r.kept != nil {
		require.NoError(t, r.kept.Save(&file))
	}
	return fmt.Sprintf("%v %x", r.end(), file.Bytes())
}

var errUser = errors.New("a panic of a user's code")

// A panic in the code of a user reaches the caller as an error that wraps its value, from
// any goroutine, and the run can go on.
func TestRunnersPanic(t *testing.T) {
	for _, e := range runnerEntries {
		if !e.watched {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			var calls atomic.Int64
			r := e.begin(1, func() { calls.Add(1) })
			begun := calls.Load()
			require.NoError(t, r.finish(t.Context()))
			total := calls.Load() - begun
			require.Positive(t, total)
			for _, at := range []int64{1, total / 2, total - 1} {
				var left atomic.Int64
				r := e.begin(2, func() {
					if left.Add(-1) == 0 {
						panic(errUser)
					}
				})
				left.Store(max(1, at))
				var err error
				v := laws.Panic(func() { err = r.finish(t.Context()) })
				require.NotNil(t, v, "evaluation %d: Run returns %v", at, err)
				got, ok := v.(error)
				require.True(t, ok && errors.Is(got, errUser), "evaluation %d: panic %v", at, v)
				require.NoError(t, r.finish(t.Context()), "after a panic at evaluation %d", at)
			}
		})
	}
}

// A runner that is not in the registry is named.
func TestRunnersAreRegistered(t *testing.T) {
	m := exact.Must(loaded())
	var names []string
	for _, e := range runnerEntries {
		names = append(names, e.name)
	}
	for _, line := range conformance.Missing(m.Having("Run"), names, "the methods of a runner", "runner_test.go") {
		t.Error(line)
	}
}
