package diffusion

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

var schedules = []noise.Schedule{
	noise.LogLinear{}, noise.LogLinear{Epsilon: -1}, noise.Cosine{}, noise.CosineSquared{Epsilon: -1},
	noise.LinearSigma{}, noise.LinearSigma{Min: 0.1}, noise.GeometricSigma{}, noise.GeometricSigma{Min: 0.5},
}

// jumpLaw is the distribution of samples that reveal one token at a time, where rate
// returns the rates of all tokens for one masked site.
func jumpLaw(levels int, rate func(x []int32, i int) []float64) []float64 {
	const sites = 3
	mask := int32(levels - 1)
	law := make([]float64, exact.Size(sites, levels))
	law[len(law)-1] = 1
	x := make([]int32, sites)
	for range sites {
		next := make([]float64, len(law))
		for k, w := range law {
			if w == 0 {
				continue
			}
			exact.State(x, k, levels)
			total := 0.0
			var to []int
			var rates []float64
			for i, l := range x {
				if l != mask {
					continue
				}
				for v, r := range rate(x, i) {
					if int32(v) != mask {
						x[i] = int32(v)
						to, rates, total = append(to, exact.Index(x, levels)), append(rates, r), total+r
						x[i] = mask
					}
				}
			}
			for j, k := range to {
				next[k] += w * rates[j] / total
			}
		}
		law = next
	}
	return law
}

// powers returns a^γ·b^{1−γ}, without a normaliser.
func powers(a, b []float64, gamma float64) []float64 {
	c := make([]float64, len(a))
	for i := range a {
		if a[i] > 0 {
			c[i] = math.Pow(a[i], gamma) * math.Pow(b[i], 1-gamma)
		}
	}
	return c
}

// Guidance at the posterior changes the rates of the process in continuous time: those of
// FirstHitting and, with many steps, those of the grid.
func TestGuidanceAtThePosteriorOfFirstHitting(t *testing.T) {
	exact.SkipRepeated(t)
	cond, free := guidanceModels(true, 20)
	energies := exact.NewRugged(3, 3, 1, 0, 4)
	row := func(m *joint, x []int32, i int) []float64 { return m.posterior(x, 0, nil)[3*i : 3*i+3] }
	hitting := Masked{Mask: 2, FirstHitting: true}
	for _, gamma := range []float64{0, 0.5, 1, 2.5} {
		byFree := jumpLaw(3, func(x []int32, i int) []float64 { return powers(row(cond, x, i), row(free, x, i), gamma) })
		g := ClassifierFree{Conditional: cond, Unconditional: free, Scale: gamma, AtPosterior: true}
		exact.Counts(t, runGuided(t, g, hitting, 0), byFree, exact.Rate)

		byClassifier := jumpLaw(3, func(x []int32, i int) []float64 {
			y, q := append([]int32(nil), x...), row(cond, x, i)
			w := make([]float64, 3)
			for l := range w {
				y[i] = int32(l)
				w[l] = q[l] * math.Exp(-gamma*(energies.E[exact.Index(y, 3)]-energies.E[exact.Index(x, 3)]))
			}
			return w
		})
		for _, c := range []Classifier{ExactClassifier{energies}, FirstOrderClassifier{energies}} {
			g := ClassifierGuided{Denoiser: cond, Classifier: c, Scale: gamma, AtPosterior: true}
			exact.Counts(t, runGuided(t, g, hitting, 0), byClassifier, exact.Rate)
		}

		bound, err := Masked{Mask: 2, Schedule: noise.LogLinear{Epsilon: -1}}.Bind(context.Background(), 3, 3)
		require.NoError(t, err)
		grid := guidedLaw(3, 3, true, bound, 800, func(x []int32, i int, t, s float64) []float64 {
			step := maskedStep(2, bound.Alpha(t), bound.Alpha(s), 0)
			return powers(step(x[i], row(cond, x, i)), step(x[i], row(free, x, i)), gamma)
		})
		assert.Less(t, tv(grid, byFree), 0.01, "the limit of many steps, γ = %v", gamma)
	}
}

// Guidance between a denoiser and itself changes nothing, and a sample ends, whatever the
// schedule.
func TestFirstHittingGuidedByItselfFollowsTheJoint(t *testing.T) {
	exact.SkipUnderRace(t)
	m, _ := guidanceModels(true, 20)
	for _, c := range schedules {
		for _, gamma := range []float64{1, 3} {
			g := ClassifierFree{Conditional: m, Unconditional: m, Scale: gamma, AtPosterior: true}
			d, err := New(context.Background(), g, Masked{Mask: 2, Schedule: c, FirstHitting: true}, Config{Seed: 5, Clamp: []int32{-1, -1, -1}})
			require.NoError(t, err)
			x := make([]int32, 3*4000)
			require.NoError(t, d.Sample(context.Background(), x))
			exact.Counts(t, tally(x, 3, 3), m.target(), exact.Rate/16)
		}
	}
}

func TestFirstHittingRefusesGuidanceThatHasNoRates(t *testing.T) {
	m, other := guidanceModels(true, 20)
	hitting := Masked{Mask: 2, FirstHitting: true}
	run := func(g energy.Denoiser[int32]) error {
		d, err := New(context.Background(), g, hitting, Config{})
		require.NoError(t, err)
		return d.Sample(context.Background(), make([]int32, 3))
	}
	only := func(allowed func(i, l int) bool) Classifier {
		return levelClassifier(func(i, l int) float64 {
			if allowed(i, l) {
				return 0
			}
			return math.Inf(-1)
		})
	}
	shown := only(func(i, l int) bool { return i != 1 || l != 2 })
	assert.ErrorContains(t, run(ClassifierGuided{Denoiser: m, Classifier: shown, Scale: 1, AtPosterior: true}),
		"the classifier rules out that site 1 stays masked")
	m.p, other.p = []float64{0, 1, 0, 0, 0, 0, 0, 0}, []float64{1, 0, 0, 0, 0, 0, 0, 0}
	m.memo, other.memo = nil, nil
	var bad *PredictionError
	assert.ErrorAs(t, run(ClassifierFree{Conditional: m, Unconditional: other, Scale: 2, AtPosterior: true}), &bad)
	assert.Equal(t, PredictionError{Site: 0}, *bad)
	none := only(func(_, l int) bool { return l == 2 })
	assert.ErrorAs(t, run(ClassifierGuided{Denoiser: m, Classifier: none, Scale: 1, AtPosterior: true}), &bad)
	assert.Equal(t, PredictionError{Site: 0, Empty: true}, *bad)

	// No per-site law for a step that changes one site.
	b, err := hitting.Bind(context.Background(), 3, 3)
	require.NoError(t, err)
	_, ok := b.(Factorised)
	assert.False(t, ok)
}

// endless never comes to time 0.
type endless struct{ Masked }

type endlessSteps struct {
	Steps[int32]
	to float64
}

func (p endless) Bind(ctx context.Context, sites, levels int) (Steps[int32], error) {
	s, err := p.Masked.Bind(ctx, sites, levels)
	return endlessSteps{s, p.Schedule.Time(0)}, err
}

func (p endlessSteps) Next([]int32, float64, int, int, *sampler.Stream) float64 { return p.to }

// constant is a schedule whose Time is a constant.
type constant struct {
	noise.LogLinear
	time float64
}

func (c constant) Time(float64) float64 { return c.time }

func TestAProcessThatDoesNotEndIsAnError(t *testing.T) {
	m := newJoint(3, 2, true, 1)
	for at, want := range map[float64]string{
		1: "after 4 steps, the most that the process promises", 0.5: "after 4 steps",
		math.NaN(): "from time 1 to NaN, want one that is no later", 2: "from time 1 to 2",
	} {
		d, err := New(context.Background(), m, endless{Masked{Mask: 2, Schedule: constant{time: at}}}, Config{Steps: 4})
		require.NoError(t, err)
		x := make([]int32, 6)
		err = d.Sample(context.Background(), x)
		assert.ErrorContains(t, err, want)
		assert.Equal(t, 2, d.Len())
	}
	d, err := New(context.Background(), m, Masked{Mask: 2, Schedule: constant{time: math.NaN()}, FirstHitting: true}, Config{})
	require.NoError(t, err)
	assert.ErrorContains(t, d.Sample(context.Background(), make([]int32, 6)), "from time 1 to NaN")
}

// levelClassifier has a table that does not depend on the state.
type levelClassifier func(i, l int) float64

func (c levelClassifier) Table(dst []float32, x []int32, _ float64) error {
	levels := len(dst) / len(x)
	for k := range dst {
		dst[k] = float32(c(k/levels, k%levels))
	}
	return nil
}
