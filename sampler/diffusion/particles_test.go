package diffusion

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/slots"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// weighted runs n particle systems and returns, for every state, the mean and
// the standard error of Ẑ·1[x = state]. The mean is P(x, x ∈ C) without bias,
// for every number of particles.
func weighted(t *testing.T, m *joint, p Process[int32], cfg ParticlesConfig, n int) (mean, se []float64) {
	t.Helper()
	cfg.Batch = n
	f, err := NewParticles(context.Background(), m, p, cfg)
	require.NoError(t, err)
	x := make([]int32, n*m.sites)
	require.NoError(t, f.Sample(context.Background(), x))
	_, levels := m.Shape()
	mean, se = make([]float64, exact.Size(m.sites, levels)), make([]float64, exact.Size(m.sites, levels))
	total := 0.0
	for g := range n {
		k, z := exact.Index(x[g*m.sites:(g+1)*m.sites], levels), math.Exp(f.weight[g])
		mean[k] += z / float64(n)
		se[k] += z * z / float64(n)
		total += z / float64(n)
	}
	for k := range se {
		se[k] = math.Sqrt(math.Max(0, se[k]-mean[k]*mean[k]) / float64(n))
	}
	logP, _ := f.LogProb()
	assert.InDelta(t, math.Log(total), logP, 1e-9)
	return mean, se
}

// agrees reports whether means are within z standard errors of the law. At
// z = 6.5 the normal tail, 1e-10 per state, allows for 27 states and for
// means that are not quite normal below the rate of 1e-6.
func agrees(mean, se, law []float64) bool {
	for k := range law {
		if !(math.Abs(mean[k]-law[k]) <= 6.5*se[k]+1e-12) {
			return false
		}
	}
	return true
}

var particleCases = []struct {
	name    string
	process Process[int32]
	masked  bool
	steps   int
	step    func(p Steps[int32], t, s float64) stepLaw
}{
	{"masked", Masked{Mask: 2}, true, 4, func(p Steps[int32], t, s float64) stepLaw { return maskedStep(2, p.Alpha(t), p.Alpha(s), 0) }},
	{"first", Masked{Mask: 2, FirstHitting: true}, true, 0, nil},
	{"uniform", Uniform{Schedule: noise.LogLinear{Epsilon: -1}}, false, 5, func(p Steps[int32], t, s float64) stepLaw { return uniformStep(p.Alpha(t), p.Alpha(s)) }},
}

// particleSetup returns the denoiser, the language and the law P(x, x ∈ C) of a
// case.
func particleSetup(t *testing.T, i int) (*joint, *language, []float64) {
	c := particleCases[i]
	m := newJoint(3, 2, c.masked, 5)
	if !c.masked {
		m.tokens, m.p = 3, newJoint(3, 3, false, 6).p
	}
	set := newLanguage(3, 3, func(x []int32) bool { return (x[0]+2*x[1]+x[2])%3 == 1 && (!c.masked || max(x[0], x[1], x[2]) < 2) })
	law := m.target()
	if c.step != nil {
		bound, err := c.process.Bind(context.Background(), 3, 3)
		require.NoError(t, err)
		law = gridLaw(m, bound, c.steps, c.step)
	}
	for k, ok := range set.allowed {
		if !ok {
			law[k] = 0
		}
	}
	return m, set, law
}

func TestParticlesAreUnbiased(t *testing.T) {
	exact.SkipRepeated(t)
	for i, c := range particleCases {
		m, set, law := particleSetup(t, i)
		for _, n := range []int{1, 4} {
			for _, threshold := range []float64{1e-9, 0.9} {
				cfg := ParticlesConfig{Config: Config{Steps: c.steps, Projector: set, Workers: 1, Seed: 4}, Particles: n, Threshold: threshold}
				mean, se := weighted(t, m, c.process, cfg, 12_000/n)
				assert.True(t, agrees(mean, se, law), "%s, %d particles, threshold %v: %.4f ± %.4f, want %.4f", c.name, n, threshold, mean, se, law)
			}
		}
		// Predictions that the denoiser would repeat are kept, and copied.
		if c.masked {
			m.timeFree = true
			cfg := ParticlesConfig{Config: Config{Steps: c.steps, Projector: set, Workers: 1, Seed: 4}, Particles: 4, Threshold: 0.9}
			mean, se := weighted(t, m, c.process, cfg, 3000)
			assert.True(t, agrees(mean, se, law), c.name)
			assert.Positive(t, set.copies.Load())
		}
	}
}

// wrongWeight weighs uniform diffusion as if the token that shows at the first
// site were clean.
type wrongWeight struct{}

func (wrongWeight) Bind(ctx context.Context, sites, levels int) (Steps[int32], error) {
	p, err := Uniform{Schedule: noise.LogLinear{Epsilon: -1}}.Bind(ctx, sites, levels)
	return cleanFirst{p.(Joint), p}, err
}

type cleanFirst struct {
	Joint
	Steps[int32]
}

func (w cleanFirst) Reweight(v []float32, xt, xs []int32, t, s float64) {
	w.Joint.Reweight(v, xt, xs, t, s)
	slots.OneHot(v[:len(v)/len(xs)], xs[0])
}

// noWeight says that nothing was learned from the draw.
type noWeight struct{ Masked }

func (n noWeight) Bind(ctx context.Context, sites, levels int) (Steps[int32], error) {
	p, err := n.Masked.Bind(ctx, sites, levels)
	return nothingLearned{p.(Joint), p}, err
}

type nothingLearned struct {
	Joint
	Steps[int32]
}

func (nothingLearned) Reweight([]float32, []int32, []int32, float64, float64) {}

func TestBrokenWeightsAreFound(t *testing.T) {
	exact.SkipUnderRace(t)
	for i, twin := range []Process[int32]{noWeight{Masked{Mask: 2}}, noWeight{Masked{Mask: 2, FirstHitting: true}}, wrongWeight{}} {
		m, set, law := particleSetup(t, i)
		cfg := ParticlesConfig{Config: Config{Steps: particleCases[i].steps, Projector: set, Workers: 1, Seed: 4}, Particles: 4}
		mean, se := weighted(t, m, twin, cfg, 4000)
		assert.False(t, agrees(mean, se, law), particleCases[i].name)
	}
	// And so is leaving out the weights altogether.
	m, set, law := particleSetup(t, 1)
	counts := sampleDiffusion(t, m, Masked{Mask: 2, FirstHitting: true}, Config{Projector: set}, 20_000)
	restricted, _ := set.restrict(law)
	assert.Less(t, exact.PValue(counts, restricted), exact.Rate)
}

func TestManyParticlesApproachTheConditionalLaw(t *testing.T) {
	exact.SkipRepeated(t)
	for i, c := range particleCases {
		m, set, law := particleSetup(t, i)
		f, err := NewParticles(context.Background(), m, c.process, ParticlesConfig{Config: Config{Steps: c.steps, Projector: set, Workers: 1}})
		require.NoError(t, err)
		// The bias of 64 particles, of the order of 1/64 of the relative
		// variance of a weight, is below what 800 draws can see.
		x := make([]int32, 3*800)
		require.NoError(t, f.Sample(context.Background(), x))
		restricted, p := set.restrict(law)
		exact.Counts(t, tally(x, 3, 3), restricted, exact.Rate)
		logP, se := f.LogProb()
		assert.Less(t, math.Abs(math.Exp(logP)/p-1), 6.5*se, c.name)
		assert.Less(t, se, 0.01)
	}
}

func TestParticlesDoNotDependOnWorkersOrBatch(t *testing.T) {
	for i, c := range particleCases {
		var want []int32
		var wantP float64
		for _, cfg := range []Config{{Workers: 1, Batch: 1}, {Workers: 3, Batch: 4}, {Workers: 2}} {
			m, set, _ := particleSetup(t, i)
			cfg.Steps, cfg.Projector = c.steps, set
			if cfg.Workers > 1 {
				cfg.Projector = quiet{set} // the counters of language are not for several goroutines
			}
			f, err := NewParticles(context.Background(), m, c.process, ParticlesConfig{Config: cfg, Particles: 8})
			require.NoError(t, err)
			x := make([]int32, 3*30)
			require.NoError(t, f.Sample(context.Background(), x[:3*11]))
			require.NoError(t, f.Sample(context.Background(), x[3*11:]))
			assert.Equal(t, 30, f.Len())
			logP, _ := f.LogProb()
			if want == nil {
				want, wantP = x, logP
			}
			assert.Equal(t, want, x, fmt.Sprint(c.name, cfg.Workers))
			assert.Equal(t, wantP, logP)
		}
	}
}

// quiet hides Reset and Copy.
type quiet struct{ c *language }

func (q quiet) Bind(ctx context.Context, sites, levels, samples int) (Projection, error) {
	return struct {
		Projection
		Drawer
	}{q.c, q.c}, nil
}

func TestNewParticlesRefuses(t *testing.T) {
	m, set, _ := particleSetup(t, 0)
	good := ParticlesConfig{Config: Config{Projector: set}}
	for want, spoil := range map[string]func(*ParticlesConfig) Process[int32]{
		"Particles = -1": func(c *ParticlesConfig) Process[int32] { c.Particles = -1; return Masked{Mask: 2} },
		"Threshold = 2":  func(c *ParticlesConfig) Process[int32] { c.Threshold = 2; return Masked{Mask: 2} },
		"Projector = nil, want one whose projection is a diffusion.Drawer": func(c *ParticlesConfig) Process[int32] { c.Projector = nil; return Masked{Mask: 2} },
		"Decode = greedy, want DecodeLast":                                 func(c *ParticlesConfig) Process[int32] { c.Decode = DecodeGreedy; return Masked{Mask: 2} },
		"want a diffusion.Drawer":                                          func(c *ParticlesConfig) Process[int32] { c.Projector = onlyProjects{set}; return Masked{Mask: 2} },
		"has a memory":                                                     func(c *ParticlesConfig) Process[int32] { c.Projector = full{language: set}; return Masked{Mask: 2} },
		"diffusion.Remask cannot be":                                       func(c *ParticlesConfig) Process[int32] { return Remask{Mask: 2} },
		"diffusion.Ordered cannot be":                                      func(c *ParticlesConfig) Process[int32] { return Ordered{Mask: 2} },
		"Mask = 9":                                                         func(c *ParticlesConfig) Process[int32] { return Masked{Mask: 9} },
	} {
		cfg := good
		p := spoil(&cfg)
		_, err := NewParticles(context.Background(), m, p, cfg)
		assert.ErrorContains(t, err, want)
	}
	_, err := NewParticles(context.Background(), nil, Masked{}, good)
	assert.ErrorContains(t, err, "model = nil")
	f, err := NewParticles(context.Background(), m, Masked{Mask: 2}, good)
	require.NoError(t, err)
	logP, _ := f.LogProb()
	assert.True(t, math.IsNaN(logP))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	assert.ErrorIs(t, f.Sample(ctx, make([]int32, 3)), context.Canceled)
	assert.Panics(t, func() { _ = f.Sample(ctx, make([]int32, 2)) })
}
