package sampler_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/fit"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/ground"
	"github.com/gibbsite-go/gibbsite/sampler/langevin"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/shard"
)

var mutations = flag.Int("mutations", 10_000, "random changes of saved bytes in TestMutationsAreRefused")

// No random change of a checkpoint or trace loads.
func TestMutationsAreRefused(t *testing.T) {
	exact.SkipUnderRace(t)
	m := exact.NewQuadratic(6, 1)
	cfg := sampler.Config{Chains: 3, Warmup: 6}
	f := func(x []int32) float64 { return float64(x[0]) }
	subjects := []maker{ // those of which a stream may hold more, first
		chains(m, mcmc.DMALA{}, cfg),
		chains(m, mcmc.Gibbs{}, sampler.Config{Chains: 3, Warmup: 6, Generator: sampler.ARS4x32}),
		chains(m, mcmc.PairGibbs{Within: constraint.Count{Levels: []int32{1}, Max: 3}}, cfg),
		reals(exact.Must(continuous.NewQuadratic([]float64{1, 0, 0, 1}, nil, 0)), langevin.Config{Chains: 3, Warmup: 6}),
		ascent(m, constraint.Count{Levels: []int32{1}, Max: 2}, 1, 3, dual.Config{}),
		annealing(m, mcmc.Metropolis{}, anneal.Config{Stages: 4}),
		importance(m, mcmc.Gibbs{}, anneal.AISConfig{Stages: 3, Chains: 3}),
		stopped(m, anneal.SteppingStoneConfig{Stages: 3, Draws: 6, Warmup: 2, Chains: 2}),
		fresh(samples(letters(.3, denoise.Absorbing), diffusion.Masked{Mask: 3}, diffusion.Config{Steps: 3})),
		fresh(particles(letters(.3, denoise.Absorbing), diffusion.ParticlesConfig{Particles: 2, Config: diffusion.Config{
			Steps: 3, Batch: 1, Projector: projection.Path{Language: lettersWithin(3)}}})),
		training(train.Config{Steps: 5, Batch: 4}),
		searching(exact.Must(model.NewIsing(model.Lattice{6}, .1, 0.1)), ground.Config{}),
		fitting(exact.Must(model.NewQuadratic(6, []model.Edge{{I: 0, J: 1, W: 1}}, model.Polynomial{})), []int32{0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 1, 0}, fit.Config{L2: .5}),
		trace(func() *diagnose.Trace { return diagnose.NewTrace(f) }),
		trace(func() *diagnose.Trace { return diagnose.NewStreamingTrace(f) }),
		part(shard.Chains{Model: m, Method: mcmc.Gibbs{}, Config: cfg, Draws: 4, Functions: []func([]int32) float64{f}}),
	}
	src := rand.New(rand.NewPCG(11, 1))
	for k, subject := range subjects {
		from := exact.Must(subject())
		good := exact.Must(from.save())
		to := exact.Must(subject())
		require.NoError(t, to.load(good))
		for range *mutations / len(subjects) {
			bad := mutate(src, good)
			if bytes.Equal(bad, good) {
				continue
			}
			// A checkpoint is read from a stream: what follows it is not its own.
			if k < len(subjects)-3 && len(bad) > len(good) && bytes.Equal(bad[:len(good)], good) {
				continue
			}
			require.Error(t, to.load(bad), "subject %d", k)
		}
		require.NoError(t, to.load(good))
	}
}

// fresh loads into a new run each time: some load but once.
func fresh(make maker) maker {
	return func() (run, error) {
		r, err := make()
		r.load = func(b []byte) error { return exact.Must(make()).load(b) }
		return r, err
	}
}

// stopped are stepping stones whose checkpoint has chains within a stage.
func stopped(m energy.Model, cfg anneal.SteppingStoneConfig) maker {
	return func() (run, error) {
		asked := 0
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		cfg.Workers = 1
		s, err := anneal.NewSteppingStone(energy.Func{Sites: 6, Levels: 2, E: func(x []int32) float64 {
			if asked++; asked == 150 {
				cancel()
			}
			var e [1]float64
			m.Energy(e[:], x)
			return e[0]
		}}, mcmc.Gibbs{}, cfg)
		if err != nil {
			return run{}, err
		}
		_, err = s.Run(ctx)
		if !errors.Is(err, context.Canceled) || s.Stage() == 0 {
			return run{}, fmt.Errorf("stage %d: %w", s.Stage(), err)
		}
		return saver(s, func() error { return nil }), nil
	}
}

// mutate returns a copy of b with some bytes changed, cut out, put in or moved.
func mutate(src *rand.Rand, b []byte) []byte {
	b = slices.Clone(b)
	for range 1 + src.IntN(3) {
		i := src.IntN(len(b))
		j := min(len(b), i+1+src.IntN(16))
		switch src.IntN(6) {
		case 0:
			b[i] ^= 1 << src.IntN(8)
		case 1:
			b[i] = byte(src.Uint32())
		case 2:
			b = slices.Delete(b, i, j)
		case 3:
			b = slices.Insert(b, i, b[i:j]...)
		case 4:
			for k := i; k < j; k++ {
				b[k] = byte(src.Uint32())
			}
		case 5:
			b = b[:i]
		}
		if len(b) == 0 {
			return b
		}
	}
	return b
}

// Chains refuse states outside their language even if everything else agrees.
func TestLoadChecksMembership(t *testing.T) {
	m := exact.NewQuadratic(6, 1)
	within := constraint.Count{Levels: []int32{1}, Min: 3, Max: 3}
	c := exact.Must(sampler.NewChains(context.Background(), m, mcmc.PairGibbs{Within: within}, sampler.Config{Chains: 2, Warmup: -1}))
	require.NoError(t, c.Run(context.Background(), 3))
	c.States()[0] = 1 - c.States()[0] // without the Reset that States asks for
	var b bytes.Buffer
	require.NoError(t, c.Save(&b))
	fresh := exact.Must(sampler.NewChains(context.Background(), m, mcmc.PairGibbs{Within: within}, sampler.Config{Chains: 2, Warmup: -1}))
	before := slices.Clone(fresh.States())
	var start *sampler.StartError
	require.ErrorAs(t, fresh.Load(context.Background(), &b), &start)
	assert.Equal(t, before, fresh.States())
}
