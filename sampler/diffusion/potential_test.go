package diffusion_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// scoreOf is a score that no automaton knows; masks count nothing.
func scoreOf(x []int32) float64 {
	s := 0.0
	for i, l := range x {
		s += math.Sin(float64(1 + 3*i + 7*int(l)))
		if i > 0 && l < refK && x[i-1] < refK {
			s += math.Cos(float64(int(l)*refK + int(x[i-1])))
		}
	}
	return s
}

// potentialOf weighs clean states by final, and others by a steering that is no
// more than a guess.
func potentialOf(final func(s float64) float64) func(logG []float64, x []int32, t []float64) {
	return func(logG []float64, x []int32, t []float64) {
		for s := range t {
			v := scoreOf(x[s*refSites : (s+1)*refSites])
			if t[s] > 0 {
				logG[s] = -.3 * v
				continue
			}
			logG[s] = final(v)
		}
	}
}

func below(tau float64) func(s float64) float64 {
	return func(s float64) float64 {
		if s <= tau {
			return 0
		}
		return math.Inf(-1)
	}
}

// draw draws from the chain.
func (p *refProblem) draw(r *rand.Rand) []int32 {
	x, row := make([]int32, refSites), p.Start
	for i := range x {
		u := r.Float64()
		for l, v := range row {
			if u -= v; u < 0 || l == refK-1 {
				x[i] = int32(l)
				break
			}
		}
		row = p.Trans[int(x[i])*refK : (int(x[i])+1)*refK]
	}
	return x
}

// The law of particles under a potential, with a language and without, is
// p·1[C]·G_0, and the evidence is its sum, by a list with package math. A potential
// whose steering stays in, and grows, at the end is distinguished.
func TestParticlesWithAPotential(t *testing.T) {
	exact.SkipRepeated(t)
	r := rand.New(rand.NewPCG(11, 1))
	draws, evidence, distribution := 150, false, false
	for k := range 4 {
		p := newRefProblem(t, r)
		var scores []float64
		for range 200 {
			scores = append(scores, scoreOf(p.draw(r)))
		}
		slices.Sort(scores)
		final := below(scores[40])
		if k%2 == 1 {
			final = func(s float64) float64 { return -s / .7 }
		}
		cfg := diffusion.ParticlesConfig{Config: diffusion.Config{Seed: 4}, Particles: 128, Potential: potentialOf(final)}
		if k >= 2 {
			cfg.Projector = p.path
		}
		law, total := make([]float64, exact.Size(refSites, refK)), 0.0
		for i, x := range exact.States(refSites, refK) {
			w := p.Start[x[0]]
			for i := 1; i < refSites; i++ {
				w *= p.Trans[int(x[i-1])*refK+int(x[i])]
			}
			if k >= 2 && !p.Accepts(x) {
				w = 0
			}
			law[i] = w * math.Exp(final(scoreOf(x)))
			total += law[i]
		}
		for i := range law {
			law[i] /= total
		}
		judge := func(cfg diffusion.ParticlesConfig) (z, value float64) {
			d, err := diffusion.NewParticles(t.Context(), p.denoiser, diffusion.Masked{Mask: refK, FirstHitting: true}, cfg)
			require.NoError(t, err)
			x, counts := make([]int32, draws*refSites), make([]int, len(law))
			require.NoError(t, d.Sample(t.Context(), x))
			for i := range draws {
				counts[exact.Index(x[i*refSites:(i+1)*refSites], refK)]++
			}
			logP, stderr := d.LogProb()
			return (math.Exp(logP)/total - 1) / stderr, exact.PValue(counts, law)
		}
		z, value := judge(cfg)
		assert.Less(t, math.Abs(z), 4.9, "evidence of problem %d", k) // 1e-6, two-sided
		assert.Greater(t, value, exact.Rate, "problem %d", k)

		steered := cfg
		steered.Potential = func(logG []float64, x []int32, t []float64) {
			cfg.Potential(logG, x, t)
			for s := range t {
				if t[s] <= 0 {
					logG[s] -= scoreOf(x[s*refSites : (s+1)*refSites])
				}
			}
		}
		z, value = judge(steered)
		t.Logf("problem %d: z %.1f, p %.2g", k, z, value)
		evidence = evidence || math.Abs(z) > 4.9
		distribution = distribution || value < exact.Rate
	}
	require.True(t, evidence && distribution, "the test cannot fail")
}

func TestPotentialsThatAreNone(t *testing.T) {
	p := newRefProblem(t, rand.New(rand.NewPCG(11, 1)))
	process := diffusion.Masked{Mask: refK}
	make := func(value float64) error {
		d, err := diffusion.NewParticles(t.Context(), p.denoiser, process, diffusion.ParticlesConfig{
			Particles: 3, Potential: func(logG []float64, _ []int32, t []float64) {
				for i := range logG {
					logG[i] = 0
					if t[i] <= 0 {
						logG[i] = value
					}
				}
			},
		})
		require.NoError(t, err)
		return d.Sample(t.Context(), make([]int32, refSites))
	}
	require.NoError(t, make(-3))
	require.ErrorIs(t, make(math.Inf(-1)), constraint.ErrInfeasible)
	require.ErrorContains(t, make(math.NaN()), "potential = NaN")
	require.ErrorContains(t, make(math.Inf(1)), "potential = +Inf")
	_, err := diffusion.NewParticles(t.Context(), p.denoiser, process, diffusion.ParticlesConfig{})
	require.ErrorContains(t, err, "or Potential set")
	_, err = diffusion.NewParticles(t.Context(), p.denoiser, diffusion.Remask{Mask: refK}, diffusion.ParticlesConfig{
		Potential: func([]float64, []int32, []float64) {},
	})
	require.ErrorContains(t, err, "no diffusion.Joint")
}
