package mcmc

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/internal/tune"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// steep is a sum of single-site energies at least half of scale apart: every chain
// must run down to the one state that counts and stay there.
func steep(sites, levels int, scale float64) energy.Func {
	r := rand.New(rand.NewPCG(9, 9))
	h := make([]float64, sites*levels)
	for i := range sites {
		for l, rank := range r.Perm(levels) {
			h[i*levels+l] = scale * (float64(rank) + 0.5*r.Float64())
		}
	}
	return energy.Func{Sites: sites, Levels: levels, E: func(x []int32) float64 {
		e := 0.0
		for i, l := range x {
			e += h[i*levels+int(l)]
		}
		return e
	}}
}

func bestOf(m energy.Func) []int32 {
	best, d := make([]int32, m.Sites), make([]float64, m.Levels)
	for i := range best {
		m.Conditional(d, i, best)
		for l := range d {
			if d[l] < d[best[i]] {
				best[i] = int32(l)
			}
		}
	}
	return best
}

func TestSteepEnergiesNeitherFreezeNorFail(t *testing.T) {
	exact.SkipRepeated(t)
	for _, levels := range []int{2, 4} {
		for _, scale := range []float64{1e2, 1e4, 1e6} {
			m := steep(12, levels, scale)
			want := bestOf(m)
			for _, method := range everyMethod() {
				if g, ok := method.(BlockGibbs); ok && g.Blocks != nil {
					continue // leaves sites alone
				}
				if g, ok := method.(GWG); ok && g.Flips > 1 {
					continue // documented to stay where energies are steep
				}
				c := runs.Run(t, m, method, sampler.Config{Chains: 8, Seed: 1, Warmup: 200}, 200)
				for s := range 8 {
					assert.Equal(t, want, c.States()[s*12:(s+1)*12], "%T %+v: %d levels, scale %g", method, method, levels, scale)
				}
				_, unknown := method.(DUPS)
				for _, i := range c.Info() {
					assert.False(t, math.IsNaN(i.Accept) || math.IsNaN(i.Energy) && !unknown)
				}
				for _, a := range c.StepSizes() {
					assert.True(t, a >= 1e-4 && a <= 1e4, "step size %v", a)
				}
			}
		}
	}
}

// nanGradient has finite energies and a gradient that is NaN.
type nanGradient struct{ energy.Model }

func (m nanGradient) Gradient(e []float64, g []float32, x []int32) {
	m.Energy(e, x)
	for i := range g {
		g[i] = float32(math.NaN())
	}
}

// The error of a gradient that is NaN names it, since the energy of the state is fine.
func TestNaNGradientsAreNamed(t *testing.T) {
	m := nanGradient{energy.Func{Sites: 5, Levels: 3, E: func(x []int32) float64 { return float64(x[0]) }}}
	c, err := sampler.NewChains(context.Background(), m, DULA{StepSize: 1}, sampler.Config{Chains: 4, Warmup: -1})
	require.NoError(t, err)
	err = c.Run(context.Background(), 20)
	require.ErrorIs(t, err, sampler.ErrNaN)
	assert.ErrorContains(t, err, "gradient, field or conditional energies")
}

func TestNaNEnergies(t *testing.T) {
	m := exact.Pocked(math.NaN())
	zero := make([]int32, 5)
	for _, method := range []sampler.Method{
		DMALA{StepSize: 1}, GWG{}, Metropolis{}, LocallyBalanced{Balance: Barker}, Paths{Length: 2}, DLMC{StepSize: 1}, Cyclical{StepSize: 1},
		DMALA{StepSize: 1, Balance: Barker}, DMAPS{StepSize: 1},
		Tempering{Base: Metropolis{}, Rungs: 3},
	} {
		c := runs.Run(t, m, method, sampler.Config{Chains: 40, Warmup: -1, Init: zero}, 50)
		assert.Positive(t, c.Stats().Invalid, "%T counts what it rejects", method)
		e := make([]float64, 40)
		m.Energy(e, c.States())
		for _, v := range e {
			assert.False(t, math.IsNaN(v), "%T walked into a hole", method)
		}
	}
	for _, method := range []sampler.Method{DULA{StepSize: 1}, Gibbs{}, BlockGibbs{Blocks: [][]int{{0, 1, 2, 3, 4}}}, HammingBall{Block: 4}} {
		c, err := sampler.NewChains(context.Background(), m, method, sampler.Config{Chains: 40, Warmup: -1, Init: zero})
		require.NoError(t, err)
		err = c.Run(context.Background(), 200)
		require.ErrorIs(t, err, sampler.ErrNaN, "%T", method)
		assert.Regexp(t, `chain \d+, step \d+: .*energy or difference of energies is NaN`, err.Error())
		assert.Equal(t, err, c.Run(context.Background(), 1), "a stuck run stays stuck")
		assert.Error(t, c.Save(noSpace{}))
		e := make([]float64, 40)
		m.Energy(e, c.States())
		for _, v := range e {
			assert.False(t, math.IsNaN(v), "states are as before the step")
		}
		assert.NoError(t, c.Reset(), "Reset forgets the failure")
	}
}

func TestForbiddenStates(t *testing.T) {
	m := exact.Pocked(math.Inf(1))
	zero := make([]int32, 5)
	for _, method := range []sampler.Method{DMALA{StepSize: 1}, GWG{}, GWG{Flips: 2}, Metropolis{}, Gibbs{}, LocallyBalanced{Balance: Max}, Paths{Length: 2}, DLMC{StepSize: 1}, Cyclical{StepSize: 1}, HammingBall{Block: 4}, Tempering{Rungs: 3}, DMALA{StepSize: 1, Balance: Max}, DMAPS{StepSize: 1}} {
		c := runs.Run(t, m, method, sampler.Config{Chains: 40, Warmup: -1, Init: zero}, 50)
		e := make([]float64, 40)
		m.Energy(e, c.States())
		for _, v := range e {
			assert.False(t, math.IsInf(v, 0), "%T", method)
		}
		assert.Zero(t, c.Stats().Invalid, "%T: weight zero is not a failure", method)
	}
	c, err := sampler.NewChains(context.Background(), m, DULA{StepSize: 1}, sampler.Config{Chains: 40, Warmup: -1, Init: zero})
	require.NoError(t, err)
	require.ErrorIs(t, c.Run(context.Background(), 200), sampler.ErrZero)
	for seed := range uint64(20) { // whichever rung meets the state, before or after an exchange
		c, err := sampler.NewChains(context.Background(), m, Tempering{Base: DUPS{StepSize: 1}, Betas: []float64{1, 0.5}}, sampler.Config{Chains: 5, Warmup: -1, Init: zero, Seed: seed})
		require.NoError(t, err)
		err = c.Run(context.Background(), 200)
		require.ErrorIs(t, err, sampler.ErrZero)
		require.NotContains(t, err.Error(), "initial state")
	}
}

func TestInfeasibleStart(t *testing.T) {
	for _, method := range everyMethod() {
		for _, v := range []float64{math.Inf(1), math.NaN(), math.Inf(-1)} {
			init := make([]int32, 40*5)
			copy(init[36*5:], []int32{1, 1, 1, 0, 0})
			c, err := sampler.NewChains(context.Background(), exact.Pocked(v), method, sampler.Config{Chains: 40, Init: init})
			require.NoError(t, err)
			err = c.Run(context.Background(), 1)
			var start *sampler.StartError
			require.True(t, errors.As(err, &start), "%T: %v", method, err)
			assert.Equal(t, 36, start.Chain)
			assert.ErrorContains(t, err, "chain 36: energy of the initial state")
			assert.Equal(t, math.IsInf(v, 1), strings.Contains(err.Error(), "set Init"))
			assert.Zero(t, c.Len())
		}
	}
}

// flat has one level only: nothing can move, and nothing must break.
func TestOneLevel(t *testing.T) {
	m := energy.Func{Sites: 3, Levels: 1, E: func([]int32) float64 { return 1 }}
	for _, method := range []sampler.Method{DULA{}, DMALA{}, Gibbs{}, Gibbs{Scan: Random}, Metropolis{}, GWG{}, BlockGibbs{Blocks: [][]int{{0, 1}}}, LocallyBalanced{}, Paths{}, DLMC{}, Cyclical{}, HammingBall{}, Tempering{Rungs: 3}, DUPS{}, DMAPS{}} {
		c := runs.Run(t, m, method, sampler.Config{Warmup: 20}, 20)
		assert.Equal(t, make([]int32, 12), c.States(), "%T", method)
		assert.Zero(t, c.Stats().Invalid)
	}
}

type shapeless struct{ sites, levels int }

func (s shapeless) Shape() (int, int)           { return s.sites, s.levels }
func (shapeless) Energy(e []float64, x []int32) {}

func TestShapesThatAreNone(t *testing.T) {
	for want, m := range map[string]energy.Model{
		"sites = 0, want ≥ 1":  shapeless{0, 2},
		"levels = 0, want ≥ 1": shapeless{2, 0},
	} {
		_, err := sampler.NewChains(context.Background(), m, DMALA{}, sampler.Config{})
		assert.ErrorContains(t, err, want)
	}
	for _, method := range everyMethod() {
		_, err := method.Kernel(context.Background(), shapeless{0, 2}, 1)
		assert.ErrorContains(t, err, "sites = 0")
		_, err = method.Kernel(context.Background(), nil, 1)
		assert.ErrorContains(t, err, "model = nil")
		_, err = method.Kernel(context.Background(), exact.NewQuadratic(5, 1), sampler.BlockSize+1)
		assert.ErrorContains(t, err, "chains = 33, want 1 … 32")
	}
}

// From any start in [1e−3, 1e3] adaptation brings acceptance to its target where
// the target can be met at all.
func TestAdaptationFromAnyStart(t *testing.T) {
	exact.SkipRepeated(t)
	m := exact.NewQuadratic(40, 3)
	for _, start := range []float64{1e-3, 0.03, 1, 30, 1e3} {
		k := exact.Must(DMALA{}.Kernel(context.Background(), m, sampler.BlockSize)).(*hastings)
		tuner, err := tune.New("mcmc: DMALA", start, 0)
		require.NoError(t, err)
		k.tune, k.alpha = tuner, start
		x := make([]int32, sampler.BlockSize*40)
		info, streams := make([]sampler.Info, sampler.BlockSize), make([]sampler.Stream, sampler.BlockSize)
		for i := range streams {
			streams[i] = *sampler.NewStream(1, uint64(i))
		}
		require.NoError(t, k.Reset(sampler.Control{}, x))
		setStep(k.proposal, start, half, x)
		for step := range 1000 {
			k.Step(sampler.Control{}, info, x, streams)
			k.Adapt(info, step, 1000)
		}
		mean := 0.0
		for range 1000 {
			k.Step(sampler.Control{}, info, x, streams)
			for i := range info {
				mean += info[i].Accept / (1000 * sampler.BlockSize)
			}
		}
		// 32 000 acceptance probabilities: the standard error is below 0.004
		// even at autocorrelation times of ten steps; what remains is the error
		// of the tuned step size.
		assert.InDelta(t, tune.Target, mean, 0.03, "start %v ended at %v", start, k.StepSize())
	}
}

// noSpace is a disk without space.
type noSpace struct{}

func (noSpace) Write([]byte) (int, error) { return 0, errors.New("no space left") }
