package diffusion_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	chains "github.com/gibbsite-go/gibbsite/internal/exact/problem"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

const (
	refSites = chains.ChainSites
	refK     = chains.ChainTokens
	refDraws = 1500
)

// refProblem is a problem of the reference experiment with what draws from it.
type refProblem struct {
	*chains.Chain
	denoiser *denoise.Markov
	path     projection.Path
}

func newRefProblem(t *testing.T, r *rand.Rand) *refProblem {
	p := &refProblem{Chain: chains.NewChain(t, r)}
	m, err := model.NewMarkov(refSites, refK, 1, p.Start, p.Trans)
	require.NoError(t, err)
	p.denoiser, err = denoise.NewMarkov(m, denoise.Absorbing)
	require.NoError(t, err)
	p.path = projection.Path{Language: p.Language}
	return p
}

// leftToRight draws tokens in order from the chain, among those from which the
// automaton can still accept: what constrained decoding of language models does.
func (p *refProblem) leftToRight(r *rand.Rand) []int32 {
	// alive[i][q]: something of the chain's support is accepted from state q at
	// site i is not asked for, only the automaton's own reach.
	alive := make([][]bool, refSites+1)
	alive[refSites] = p.Final
	for i := refSites - 1; i >= 0; i-- {
		alive[i] = make([]bool, 3)
		for q := range 3 {
			for l := range refK {
				alive[i][q] = alive[i][q] || alive[i+1][p.Next[q*refK+l]]
			}
		}
	}
	x := make([]int32, refDraws*refSites)
	for s := range refDraws {
		row, q := p.Start, int32(0)
		for i := range refSites {
			w, sum := make([]float64, refK), 0.0
			for l := range refK {
				if alive[i+1][p.Next[int(q)*refK+l]] {
					w[l] = row[l]
					sum += row[l]
				}
			}
			u, l := r.Float64()*sum, 0
			for ; l < refK-1 && u >= w[l]; l++ {
				u -= w[l]
			}
			x[s*refSites+i] = int32(l)
			row, q = p.Trans[l*refK:(l+1)*refK], p.Next[int(q)*refK+l]
		}
	}
	return x
}

// decodeMAP draws the likeliest sequence of the language.
type decodeMAP struct{ projection.Path }

func (m decodeMAP) Bind(ctx context.Context, sites, levels, samples int) (projection.Projection, error) {
	e, err := m.Compile(ctx, sites, levels)
	return mostLikely{e}, err
}

type mostLikely struct{ *projection.PathProjection }

func (m mostLikely) Draw(ctx context.Context, x0 []int32, v []float32, _ rand.Source) (float64, error) {
	return m.MAP(ctx, x0, v)
}

func (p *refProblem) diffusion(t *testing.T, process diffusion.Masked, cfg diffusion.Config) []int32 {
	t.Helper()
	process.Mask = refK
	if cfg.Projector == nil {
		cfg.Projector = p.path
	}
	d, err := diffusion.New(context.Background(), p.denoiser, process, cfg)
	require.NoError(t, err)
	x := make([]int32, refDraws*refSites)
	require.NoError(t, d.Sample(context.Background(), x))
	return x
}

func TestReferenceExperiment(t *testing.T) {
	exact.SkipUnderRace(t)
	if testing.Short() {
		t.Skip("64 particles for each of a thousand draws")
	}
	problems := 1
	if exact.Long() {
		problems = 12
	}
	r := rand.New(rand.NewPCG(2026, 5))
	mean := map[string]float64{}
	for n := range problems {
		p := newRefProblem(t, r)
		seed := uint64(n)
		f, err := diffusion.NewParticles(context.Background(), p.denoiser, diffusion.Masked{Mask: refK, FirstHitting: true}, diffusion.ParticlesConfig{
			Config: diffusion.Config{Seed: seed, Projector: p.path},
		})
		require.NoError(t, err)
		x := make([]int32, refDraws*refSites)
		require.NoError(t, f.Sample(context.Background(), x))
		logP, se := f.LogProb()
		assert.InDelta(t, math.Log(p.P), logP, 0.01, "log P(C) within 1 %% of P(C); standard error %v", se)

		for name, x := range map[string][]int32{
			"particles":     x,
			"one-by-one":    p.diffusion(t, diffusion.Masked{FirstHitting: true}, diffusion.Config{Seed: seed}),
			"one-shot":      p.diffusion(t, diffusion.Masked{}, diffusion.Config{Seed: seed, Steps: 1}),
			"MAP":           p.diffusion(t, diffusion.Masked{FirstHitting: true}, diffusion.Config{Seed: seed, Projector: decodeMAP{p.path}}),
			"left-to-right": p.leftToRight(r),
		} {
			mean[name] += p.Distance(x) / float64(problems)
			if name == "left-to-right" {
				continue // it may leave the support of the chain
			}
			for s := 0; s < len(x); s += refSites {
				require.True(t, p.Accepts(x[s:s+refSites]), name)
			}
		}
		mean["exact draws"] += p.Noise(r, refDraws) / float64(problems)
	}
	t.Logf("mean total variation to p(·|C) of %d draws, %d problems: %.6v", refDraws, problems, mean)
	assert.LessOrEqual(t, mean["particles"], 1.1*mean["exact draws"])
	// What particles correct is far from small.
	assert.Greater(t, mean["one-by-one"], 3*mean["exact draws"])
	assert.Greater(t, mean["one-shot"], mean["one-by-one"])
	assert.Greater(t, mean["MAP"], mean["one-by-one"])
	assert.Greater(t, mean["left-to-right"], mean["one-by-one"])
}
