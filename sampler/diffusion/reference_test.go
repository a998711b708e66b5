package diffusion_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
)

// The reference experiment: random Markov chains of 6 tokens out of 3, start
// ~ Dir(.7), rows ~ Dir(.4), under random automata of 3 states of which one
// accepts, with .02 ≤ P(C) ≤ .8.
const (
	refSites = 6
	refK     = 3
	refDraws = 1500
)

type refProblem struct {
	start, trans []float64
	next         []int32
	accepting    []bool
	law          []float64 // of x given C, by exact.Index over refK levels
	pc           float64
	denoiser     *denoise.Markov
	path         projection.Path
}

func dirichlet(src rand.Source, n int, a float64) []float64 {
	p := make([]float64, n)
	sum := 0.0
	for i := range p {
		p[i] = distuv.Gamma{Alpha: a, Beta: 1, Src: src}.Rand()
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// accepts runs the automaton by its table.
func (p *refProblem) accepts(x []int32) bool {
	q := int32(0)
	for _, l := range x {
		if q = p.next[q*refK+l]; q < 0 {
			return false
		}
	}
	return p.accepting[q]
}

// newRefProblem draws problems until one has a P(C) in range.
func newRefProblem(t *testing.T, r *rand.Rand) *refProblem {
	for {
		p := &refProblem{start: dirichlet(r, refK, 0.7), accepting: make([]bool, 3), law: make([]float64, exact.Size(refSites, refK))}
		for range refK {
			p.trans = append(p.trans, dirichlet(r, refK, 0.4)...)
		}
		for range 3 * refK {
			p.next = append(p.next, int32(r.IntN(3)))
		}
		p.accepting[r.IntN(3)] = true
		for k, x := range exact.States(refSites, refK) {
			if !p.accepts(x) {
				continue
			}
			w := p.start[x[0]]
			for i := 1; i < refSites; i++ {
				w *= p.trans[int(x[i-1])*refK+int(x[i])]
			}
			p.law[k] = w
			p.pc += w
		}
		if p.pc < 0.02 || p.pc > 0.8 {
			continue
		}
		for k := range p.law {
			p.law[k] /= p.pc
		}
		m, err := model.NewMarkov(refSites, refK, 1, p.start, p.trans)
		require.NoError(t, err)
		p.denoiser, err = denoise.NewMarkov(m, denoise.Absorbing)
		require.NoError(t, err)
		dfa, err := constraint.NewDFA(refK, p.next, p.accepting)
		require.NoError(t, err)
		p.path = projection.Path{Language: dfa}
		return p
	}
}

// distance is the total variation between draws and p(·|C).
func (p *refProblem) distance(x []int32) float64 {
	counts := make([]int, len(p.law))
	exact.Tally(counts, x, refSites, refK)
	n := float64(len(x) / refSites)
	d := 0.0
	for k, c := range counts {
		d += math.Abs(float64(c)/n - p.law[k])
	}
	return d / 2
}

// floor is the mean distance of as many independent draws from p(·|C).
func (p *refProblem) floor(r *rand.Rand) float64 {
	const rounds = 20
	sum := 0.0
	x := make([]int32, refDraws*refSites)
	for range rounds {
		for s := range refDraws {
			u, k := r.Float64(), 0
			for ; k < len(p.law)-1 && u >= p.law[k]; k++ {
				u -= p.law[k]
			}
			exact.State(x[s*refSites:(s+1)*refSites], k, refK)
		}
		sum += p.distance(x)
	}
	return sum / rounds
}

// leftToRight draws tokens in order from the chain, among those from which the
// automaton can still accept: what constrained decoding of language models does.
func (p *refProblem) leftToRight(r *rand.Rand) []int32 {
	// alive[i][q]: something of the chain's support is accepted from state q at
	// site i is not asked for, only the automaton's own reach.
	alive := make([][]bool, refSites+1)
	alive[refSites] = p.accepting
	for i := refSites - 1; i >= 0; i-- {
		alive[i] = make([]bool, 3)
		for q := range 3 {
			for l := range refK {
				alive[i][q] = alive[i][q] || alive[i+1][p.next[q*refK+l]]
			}
		}
	}
	x := make([]int32, refDraws*refSites)
	for s := range refDraws {
		row, q := p.start, int32(0)
		for i := range refSites {
			w, sum := make([]float64, refK), 0.0
			for l := range refK {
				if alive[i+1][p.next[int(q)*refK+l]] {
					w[l] = row[l]
					sum += row[l]
				}
			}
			u, l := r.Float64()*sum, 0
			for ; l < refK-1 && u >= w[l]; l++ {
				u -= w[l]
			}
			x[s*refSites+i] = int32(l)
			row, q = p.trans[l*refK:(l+1)*refK], p.next[int(q)*refK+l]
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

func (m mostLikely) Draw(x0 []int32, v []float32, _ rand.Source) (float64, error) {
	return m.MAP(x0, v)
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
	problems := 12
	if testing.Short() {
		problems = 2
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
		assert.InDelta(t, math.Log(p.pc), logP, 0.01, "log P(C) within 1 %% of P(C); standard error %v", se)

		for name, x := range map[string][]int32{
			"particles":     x,
			"one-by-one":    p.diffusion(t, diffusion.Masked{FirstHitting: true}, diffusion.Config{Seed: seed}),
			"one-shot":      p.diffusion(t, diffusion.Masked{}, diffusion.Config{Seed: seed, Steps: 1}),
			"MAP":           p.diffusion(t, diffusion.Masked{FirstHitting: true}, diffusion.Config{Seed: seed, Projector: decodeMAP{p.path}}),
			"left-to-right": p.leftToRight(r),
		} {
			mean[name] += p.distance(x) / float64(problems)
			if name == "left-to-right" {
				continue // it may leave the support of the chain
			}
			for s := 0; s < len(x); s += refSites {
				require.True(t, p.accepts(x[s:s+refSites]), name)
			}
		}
		mean["floor"] += p.floor(r) / float64(problems)
	}
	t.Logf("mean total variation to p(·|C) of %d draws, %d problems: %.6v", refDraws, problems, mean)
	assert.LessOrEqual(t, mean["particles"], 1.1*mean["floor"])
	// What particles correct is far from small.
	assert.Greater(t, mean["one-by-one"], 3*mean["floor"])
	assert.Greater(t, mean["one-shot"], mean["one-by-one"])
	assert.Greater(t, mean["MAP"], mean["one-by-one"])
	assert.Greater(t, mean["left-to-right"], mean["one-by-one"])
}
