package diffusion

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// guidedLaw evolves the law of x_t through steps whose sites move
// independently, site i from state x by rows(x, i).
func guidedLaw(sites, levels int, masked bool, p Steps[int32], steps int, rows func(x []int32, i int, t, s float64) []float64) []float64 {
	law := make([]float64, exact.Size(sites, levels))
	for k := range law {
		law[k] = 1 / float64(len(law))
	}
	if masked {
		clear(law)
		law[len(law)-1] = 1
	}
	x := make([]int32, sites)
	t := 1.0
	for n := range steps {
		s := p.Next(nil, t, n, steps, nil)
		next := make([]float64, len(law))
		for k, w := range law {
			if w == 0 {
				continue
			}
			exact.State(x, k, levels)
			dist := []float64{w}
			for i := range x {
				q := rows(x, i, t, s)
				sum := 0.0
				for _, b := range q {
					sum += b
				}
				wider := make([]float64, 0, len(dist)*levels)
				for _, b := range q {
					for _, a := range dist {
						wider = append(wider, a*b/sum)
					}
				}
				dist = wider
			}
			for j, v := range dist {
				next[j] += v
			}
		}
		law, t = next, s
	}
	return law
}

// guidanceCases are processes with the law of their step given a clean row.
var guidanceCases = []struct {
	name    string
	process Process[int32]
	masked  bool
	step    func(p Steps[int32], t, s float64) stepLaw
}{
	{"masked", Masked{Mask: 2}, true, func(p Steps[int32], t, s float64) stepLaw { return maskedStep(2, p.Alpha(t), p.Alpha(s), 0) }},
	{"remask", Remask{Mask: 2, Rule: RemaskRescale, Eta: 0.3}, true, func(p Steps[int32], t, s float64) stepLaw {
		return maskedStep(2, p.Alpha(t), p.Alpha(s), 0.3*math.Min(1, (1-p.Alpha(s))/p.Alpha(t)))
	}},
	{"uniform", Uniform{}, false, func(p Steps[int32], t, s float64) stepLaw { return uniformStep(p.Alpha(t), p.Alpha(s)) }},
}

// tempered returns a^γ·b^{1−γ}, 0 where a is.
func tempered(a, b []float64, gamma float64) []float64 {
	c := make([]float64, len(a))
	sum := 0.0
	for i := range a {
		if a[i] > 0 {
			c[i] = math.Pow(a[i], gamma) * math.Pow(b[i], 1-gamma)
		}
		sum += c[i]
	}
	for i := range c {
		c[i] /= sum
	}
	return c
}

func guidanceModels(masked bool, seed uint64) (c, u *joint) {
	c, u = newJoint(3, 2, masked, seed), newJoint(3, 2, masked, seed+1)
	if !masked {
		c, u = newJoint(3, 3, false, seed), newJoint(3, 3, false, seed+1)
	}
	for _, m := range []*joint{c, u} { // flatter, so that powers stay comparable
		sum := 0.0
		for k, p := range m.p {
			m.p[k] = math.Sqrt(p)
			sum += m.p[k]
		}
		for k := range m.p {
			m.p[k] /= sum
		}
	}
	return c, u
}

func runGuided(t *testing.T, model energy.Denoiser[int32], p Process[int32], steps int) []int {
	t.Helper()
	d, err := New(context.Background(), model, p, Config{Steps: steps, Seed: 11, Workers: 1})
	require.NoError(t, err)
	x := make([]int32, 3*30_000)
	require.NoError(t, d.Sample(context.Background(), x))
	return tally(x, 3, 3)
}

func TestClassifierFreeGuidanceFollowsItsExactLaw(t *testing.T) {
	exact.SkipRepeated(t)
	const steps = 4
	for _, c := range guidanceCases {
		cond, free := guidanceModels(c.masked, 20)
		bound, err := c.process.Bind(context.Background(), 3, 3)
		require.NoError(t, err)
		for _, gamma := range []float64{0, 0.5, 1, 2.5} {
			row := func(m *joint, x []int32, i int, t float64) []float64 {
				return m.posterior(x, bound.Alpha(t), nil)[3*i : 3*i+3]
			}
			atPrediction := guidedLaw(3, 3, c.masked, bound, steps, func(x []int32, i int, t, s float64) []float64 {
				return c.step(bound, t, s)(x[i], tempered(row(cond, x, i, t), row(free, x, i, t), gamma))
			})
			atPosterior := guidedLaw(3, 3, c.masked, bound, steps, func(x []int32, i int, t, s float64) []float64 {
				step := c.step(bound, t, s)
				return tempered(step(x[i], row(cond, x, i, t)), step(x[i], row(free, x, i, t)), gamma)
			})
			g := ClassifierFree{Conditional: cond, Unconditional: free, Scale: gamma}
			counts := runGuided(t, g, c.process, steps)
			exact.Counts(t, counts, atPrediction, exact.Rate)
			if gamma == 2.5 && c.name != "masked" { // masks of these laws are equally sure
				assert.Less(t, exact.PValue(counts, atPosterior), exact.Rate, "%s: the two forms differ", c.name)
			}
			g.AtPosterior = true
			exact.Counts(t, runGuided(t, g, c.process, steps), atPosterior, exact.Rate)
		}
	}
}

func TestClassifierGuidanceFollowsItsExactLaw(t *testing.T) {
	exact.SkipRepeated(t)
	const steps, gamma = 4, 1.5
	// log p(y | x) = −E(x) over all three levels, mask included.
	m := exact.NewRugged(3, 3, 1, 0, 4)
	likely := func(x []int32, i int, p []float64) []float64 {
		q, y := make([]float64, 3), append([]int32(nil), x...)
		sum := 0.0
		for l := range q {
			y[i] = int32(l)
			q[l] = p[l] * math.Exp(-gamma*m.E[exact.Index(y, 3)])
			sum += q[l]
		}
		for l := range q {
			q[l] /= sum
		}
		return q
	}
	for _, c := range guidanceCases {
		cond, _ := guidanceModels(c.masked, 20)
		bound, err := c.process.Bind(context.Background(), 3, 3)
		require.NoError(t, err)
		row := func(x []int32, i int, t float64) []float64 {
			return cond.posterior(x, bound.Alpha(t), nil)[3*i : 3*i+3]
		}
		atPrediction := guidedLaw(3, 3, c.masked, bound, steps, func(x []int32, i int, t, s float64) []float64 {
			return c.step(bound, t, s)(x[i], likely(x, i, row(x, i, t)))
		})
		atPosterior := guidedLaw(3, 3, c.masked, bound, steps, func(x []int32, i int, t, s float64) []float64 {
			return likely(x, i, c.step(bound, t, s)(x[i], row(x, i, t)))
		})
		for _, classifier := range []Classifier{ExactClassifier{m}, FirstOrderClassifier{m}} {
			g := ClassifierGuided{Denoiser: cond, Classifier: classifier, Scale: gamma}
			exact.Counts(t, runGuided(t, g, c.process, steps), atPrediction, exact.Rate)
			g.AtPosterior = true
			counts := runGuided(t, g, c.process, steps)
			exact.Counts(t, counts, atPosterior, exact.Rate)
			assert.Less(t, exact.PValue(counts, atPrediction), exact.Rate, c.name)
			g.Scale = 0
			plain := runGuided(t, g, c.process, steps)
			exact.Counts(t, plain, guidedLaw(3, 3, c.masked, bound, steps, func(x []int32, i int, t, s float64) []float64 {
				return c.step(bound, t, s)(x[i], row(x, i, t))
			}), exact.Rate)
		}
	}
}

func TestGuidanceMeetsConstraintsAndRefuses(t *testing.T) {
	cond, free := guidanceModels(true, 20)
	even := newLanguage(3, 3, func(x []int32) bool { return (x[0]+x[1]+x[2])%2 == 0 && max(x[0], x[1], x[2]) < 2 })
	g := ClassifierFree{Conditional: cond, Unconditional: free, Scale: 2}
	d, err := New(context.Background(), g, Masked{Mask: 2}, Config{Projector: even, Steps: 5})
	require.NoError(t, err)
	x := make([]int32, 300)
	require.NoError(t, d.Sample(context.Background(), x))
	for k, n := range tally(x, 3, 3) {
		assert.True(t, n == 0 || even.allowed[k])
	}

	at := g
	at.AtPosterior = true
	_, err = New(context.Background(), at, Masked{Mask: 2}, Config{Projector: even})
	assert.ErrorContains(t, err, "a projection needs guidance at the prediction")
	_, err = New(context.Background(), at, Ordered{Mask: 2}, Config{})
	assert.ErrorContains(t, err, "cannot be guided at the posterior")
	small := newJoint(2, 2, true, 1)
	loo := newJoint(3, 2, true, 1)
	loo.loo = true
	for want, m := range map[string]energy.Denoiser[int32]{
		"Conditional and Unconditional must be set": ClassifierFree{},
		"ClassifierFree: Scale = -1":                ClassifierFree{Conditional: cond, Unconditional: free, Scale: -1},
		"Unconditional has 2 sites and 3 levels":    ClassifierFree{Conditional: cond, Unconditional: small},
		"leaves sites out":                          ClassifierFree{Conditional: cond, Unconditional: loo},
		"Denoiser and Classifier must be set":       ClassifierGuided{},
		"ClassifierGuided: Scale = NaN":             ClassifierGuided{Denoiser: cond, Classifier: ExactClassifier{}, Scale: math.NaN()},
	} {
		_, err := New(context.Background(), m, Masked{Mask: 2}, Config{})
		assert.ErrorContains(t, err, want)
	}
	// Certain with the condition, impossible without it.
	cond.p, free.p = []float64{0, 1, 0, 0, 0, 0, 0, 0}, []float64{1, 0, 0, 0, 0, 0, 0, 0}
	cond.memo, free.memo = nil, nil
	d, err = New(context.Background(), g, Masked{Mask: 2}, Config{})
	require.NoError(t, err)
	var bad *PredictionError
	assert.ErrorAs(t, d.Sample(context.Background(), x[:3]), &bad)
	table := FirstOrderClassifier{energyOnly{exact.NewRugged(3, 3, 1, 0, 4)}}
	d, err = New(context.Background(), ClassifierGuided{Denoiser: newJoint(3, 2, true, 1), Classifier: table, Scale: 1}, Masked{Mask: 2}, Config{})
	require.NoError(t, err)
	assert.ErrorContains(t, d.Sample(context.Background(), x[:3]), "is not energy.Differentiable")
}

// energyOnly hides what a model knows beyond its energy.
type energyOnly struct{ m energy.Model }

func (e energyOnly) Shape() (int, int)             { return e.m.Shape() }
func (e energyOnly) Energy(v []float64, x []int32) { e.m.Energy(v, x) }

// posteriorOf is −log p(y | x) of states with masks, given that of states without.
func posteriorOf(m *joint, y []float64) energy.Func {
	return energy.Func{Sites: 3, Levels: 3, E: func(x []int32) float64 {
		sum, total := 0.0, 0.0
		z := make([]int32, 3)
		for k, p := range m.p {
			exact.State(z, k, 2)
			fits := true
			for i, l := range x {
				fits = fits && (l == 2 || l == z[i])
			}
			if fits {
				sum += p * y[k]
				total += p
			}
		}
		return -math.Log(sum / total)
	}}
}

// One token at a time, guidance of weight 1 by a classifier that is right gives the
// distribution given the condition, p(x)·p(y | x)/p(y). So does the conditional
// denoiser of classifier-free guidance, whatever the other.
func TestGuidanceOfWeightOneIsConditioning(t *testing.T) {
	exact.SkipUnderRace(t)
	if testing.Short() {
		t.Skip("draws many samples")
	}
	m, other := guidanceModels(true, 20)
	y := []float64{0.9, 0.02, 0.3, 0.5, 0.07, 0.6, 0.01, 0.8}
	law, given := make([]float64, 27), *m
	given.p = make([]float64, 8)
	sum := 0.0
	for k, p := range m.p {
		given.p[k] = p * y[k]
		sum += given.p[k]
	}
	x := make([]int32, 3)
	for k := range given.p {
		given.p[k] /= sum
		exact.State(x, k, 2)
		law[exact.Index(x, 3)] = given.p[k]
	}
	hitting := Masked{Mask: 2, FirstHitting: true}
	classifier := ExactClassifier{posteriorOf(m, y)}
	exact.Counts(t, runGuided(t, ClassifierGuided{Denoiser: m, Classifier: classifier, Scale: 1}, hitting, 0), law, exact.Rate)
	exact.Counts(t, runGuided(t, ClassifierFree{Conditional: &given, Unconditional: other, Scale: 1}, hitting, 0), law, exact.Rate)

	// All tokens at once know nothing of each other: neither form is exact then.
	at := ClassifierGuided{Denoiser: m, Classifier: classifier, Scale: 1}
	assert.Less(t, exact.PValue(runGuided(t, at, Masked{Mask: 2}, 1), law), exact.Rate)
	at.Scale = 2
	assert.Less(t, exact.PValue(runGuided(t, at, hitting, 0), law), exact.Rate)
}

// Guidance between a denoiser and itself is none, whatever the scale: also where particles
// have died, so that predictions are of some only, and where they are copies of others.
func TestGuidedParticlesReadTheirOwnRows(t *testing.T) {
	m := random(5, 4, 3)
	died := false
	run := func(scale float64) []int32 {
		p, err := NewParticles(context.Background(), ClassifierFree{Conditional: m, Unconditional: m, Scale: scale, AtPosterior: true}, Masked{Mask: 3}, ParticlesConfig{
			Config: Config{Steps: 6, Seed: 1}, Particles: 8, Threshold: 0.6,
			Potential: func(logG []float64, x []int32, _ []float64) {
				for k := range logG {
					logG[k] = 0.7 * float64(x[5*k+2])
					if x[5*k] == 1 {
						logG[k], died = math.Inf(-1), true
					}
				}
			},
		})
		require.NoError(t, err)
		x := make([]int32, 5*40)
		require.NoError(t, p.Sample(context.Background(), x))
		return x
	}
	assert.Equal(t, run(1), run(2))
	assert.True(t, died)
}
