package twisted_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/twisted"
)

// schedule leaves ᾱ(1) = 4e-5.
var schedule = noise.LinearBeta{To: 0.1, Steps: 200}

func denoiser(t testing.TB, m *continuous.Mixture) *denoise.Mixture {
	d, err := denoise.NewMixture(m)
	require.NoError(t, err)
	return d
}

// With the whole covariance a Gaussian is sampled exactly in any number of steps:
// weights are 1 but for the first, whose noise is nearly pure, mean and covariance
// are those of the conditional distribution, and the probability is the density of
// the equation. Without it, six steps are too few.
func TestGaussiansAreExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	const n, samples = 4, 3000
	mean := []float64{0.3, -1, 0.5, 2}
	m, err := continuous.NewMixture([]float64{1}, [][]float64{mean}, [][]float64{covariance(rng, n)})
	require.NoError(t, err)
	row := []float64{1, -1, 0.5, 0.3}
	set := constraint.Linear{A: constraint.Rows(append(row, -row[0], -row[1], -row[2], -row[3]), n), B: []float64{0.4, -0.4}}
	given, logp, err := m.Where(row, []float64{0.4})
	require.NoError(t, err)
	off := func(full bool) float64 {
		s, err := twisted.New(t.Context(), denoiser(t, m), equation(set), twisted.Config{
			Schedule: schedule, Steps: 6, Particles: 2, PerCloud: 1, Seed: 3, Full: full,
		})
		require.NoError(t, err)
		x := make([]float32, samples*n)
		require.NoError(t, s.Sample(t.Context(), x))
		if got, stderr := s.LogProb(); full {
			require.InDelta(t, logp, got, 4.9*stderr)
			require.Less(t, stderr, 3e-4) // one step of 3000 × 2 weights that vary by a hundredth
		}
		want, col := make([]float64, n), make([]float64, n)
		given.Mean(want)
		worst := 0.0
		for i := range n {
			e := make([]float64, n)
			e[i] = 1
			given.Covariance(0, col, e)
			got, square := 0.0, 0.0
			for at := i; at < len(x); at += n {
				got += float64(x[at]) / samples
				square += (float64(x[at]) - want[i]) * (float64(x[at]) - want[i]) / samples
			}
			worst = max(worst, math.Abs(got-want[i])/math.Sqrt(col[i]/samples), math.Abs(square-col[i])/(col[i]*math.Sqrt(2.0/samples)))
		}
		for at := 0; at < len(x); at += n {
			require.InDelta(t, 0.4, float64(x[at]-x[at+1]+0.5*x[at+2]+0.3*x[at+3]), 2e-6)
		}
		return worst
	}
	assert.Less(t, off(true), 5.5) // 8 numbers at a rate of 1e-6 in all, and clouds of two
	assert.Greater(t, off(false), 5.5)
}

// equation makes an equation of the two inequalities of set.
func equation(set constraint.Linear) constraint.Slabs {
	return constraint.Slabs{A: set.A[:1], Lower: []float64{-set.B[1]}, Upper: []float64{set.B[0]}}
}

// uneven is a mixture whose components a prediction of mean and variance mistakes
// for one: given x + y = 1.4 the narrow one has two thirds of the weight.
func uneven(t testing.TB) (*continuous.Mixture, constraint.Slabs, []float64) {
	m, err := continuous.NewMixture([]float64{1, 2},
		[][]float64{{-1.5, 2.5}, {2, -1}}, [][]float64{{0.5, -0.45, -0.45, 0.5}, {1, 0.5, 0.5, 1}})
	require.NoError(t, err)
	return m, constraint.Slabs{A: constraint.Rows([]float64{1, 1}, 2), Lower: []float64{1.4}, Upper: []float64{1.4}}, []float64{1.4}
}

// modes counts the signs of x − y.
func modes(x []float32) []int {
	c := make([]int, 2)
	for at := 0; at < len(x); at += 2 {
		if x[at] < x[at+1] {
			c[0]++
		} else {
			c[1]++
		}
	}
	return c
}

// Particles find the weights of modes, from covariances that the model knows and
// from differences of predictions; one particle, whose step is all that a
// projection knows, too, does not.
func TestModesHaveTheirWeights(t *testing.T) {
	exact.SkipUnderRace(t)
	m, set, value := uneven(t)
	given, logp, err := m.Where([]float64{1, 1}, value)
	require.NoError(t, err)
	p := []float64{0, 0} // of x < y: along the line both components are normal
	for k := range given.Components() {
		mean, col := make([]float64, 2), make([]float64, 2)
		w := given.Component(k, mean)
		given.Covariance(k, col, []float64{1, -1})
		below := w * math.Erfc((mean[0]-mean[1])/math.Sqrt(2*(col[0]-col[1]))) / 2
		p[0] += below
		p[1] += w - below
	}
	plain := energy.DenoiserFunc[float32]{Sites: 2, Levels: 1, F: denoiser(t, m).Denoise}
	run := func(model energy.Denoiser[float32], particles int) ([]int, float64, float64) {
		s, err := twisted.New(t.Context(), model, set, twisted.Config{Schedule: schedule, Steps: 30, Particles: particles, Seed: 4})
		require.NoError(t, err)
		x := make([]float32, 2*200)
		require.NoError(t, s.Sample(t.Context(), x))
		got, stderr := s.LogProb()
		return modes(x), got, stderr
	}
	for name, model := range map[string]energy.Denoiser[float32]{"known": denoiser(t, m), "differences": plain} {
		counts, got, stderr := run(model, 16)
		require.GreaterOrEqual(t, exact.PValue(counts, p), exact.Rate, "%s: %v, want %v", name, counts, p)
		require.InDelta(t, logp, got, 4.9*stderr+0.05, name) // 30 steps are off by some hundredths
	}
	counts, _, _ := run(denoiser(t, m), 1)
	require.Less(t, exact.PValue(counts, p), exact.Rate, "%v, want %v", counts, p)
}

// Inequalities: a mixture on the line within bounds has its own distribution,
// restricted; and no sample is outside.
func TestBoundsRestrict(t *testing.T) {
	exact.SkipUnderRace(t)
	m, err := continuous.NewDiagonal([]float64{1, 2}, []float64{-1, 1.5}, []float64{0.1, 0.3})
	require.NoError(t, err)
	normal := func(x, m, v float64) float64 { return math.Erfc((m-x)/math.Sqrt(2*v)) / 2 }
	cdf := func(x float64) float64 { return normal(x, -1, 0.1)/3 + 2*normal(x, 1.5, 0.3)/3 }
	lo, hi := -0.8, 1.0
	z := cdf(hi) - cdf(lo)
	bins := exact.Binned(func(x float64) float64 { return (cdf(min(max(x, lo), hi)) - cdf(lo)) / z })
	set := constraint.Slabs{A: constraint.Rows([]float64{1}, 1), Lower: []float64{lo}, Upper: []float64{hi}}
	for particles, passes := range map[int]bool{16: true, 1: false} {
		s, err := twisted.New(t.Context(), denoiser(t, m), set, twisted.Config{Schedule: schedule, Steps: 40, Particles: particles, Seed: 6})
		require.NoError(t, err)
		x := make([]float32, 300)
		err = s.Sample(t.Context(), x)
		if particles == 1 && err != nil { // the only one may end outside
			require.ErrorIs(t, err, constraint.ErrInfeasible)
			continue
		}
		require.NoError(t, err)
		for _, v := range x {
			require.True(t, float64(v) >= lo-1e-6 && float64(v) <= hi+1e-6, "%v", v)
		}
		require.Equal(t, passes, exact.PValue(exact.Bins(x, 1), bins) >= exact.Rate)
		got, stderr := s.LogProb()
		require.InDelta(t, math.Log(z), got, 4.9*stderr+0.05)
	}
}

// The same bits for any number of workers, and for parts of a run; samples of one
// cloud are its particles.
func TestPartsAndWorkers(t *testing.T) {
	m, set, _ := uneven(t)
	run := func(c twisted.Config, samples int) []float32 {
		c.Schedule, c.Steps, c.Particles, c.Seed = schedule, 10, 8, 5
		s, err := twisted.New(t.Context(), denoiser(t, m), set, c)
		require.NoError(t, err)
		x := make([]float32, 2*samples)
		require.NoError(t, s.Sample(t.Context(), x[:len(x)/2/6*6]))
		require.NoError(t, s.Sample(t.Context(), x[len(x)/2/6*6:]))
		return x
	}
	whole := run(twisted.Config{PerCloud: 3, Workers: 1}, 12)
	require.Equal(t, whole, run(twisted.Config{PerCloud: 3, Workers: 3}, 12))
	require.Equal(t, whole[12:], run(twisted.Config{PerCloud: 3, First: 2}, 6))
	seen := map[[2]float32]bool{}
	for at := 0; at < len(whole); at += 2 {
		seen[[2]float32{whole[at], whole[at+1]}] = true
	}
	require.Greater(t, len(seen), 6)
}

// A step allocates nothing.
func TestStepsAllocateNothing(t *testing.T) {
	m, set, _ := uneven(t)
	count := func(steps int) float64 {
		s, err := twisted.New(t.Context(), denoiser(t, m), set, twisted.Config{Schedule: schedule, Steps: steps, Particles: 8, Workers: 1})
		require.NoError(t, err)
		x := make([]float32, 2)
		return testing.AllocsPerRun(5, func() { _ = s.Sample(context.Background(), x) })
	}
	if !exact.Race {
		require.LessOrEqual(t, count(30), count(10)+1) // the list of evidence grows
	}
}

// Errors name what is wrong, and a run that fails says where.
// A schedule that is flat between two steps moves nothing there.
func TestFlatSchedules(t *testing.T) {
	m, set, _ := uneven(t)
	s, err := twisted.New(t.Context(), denoiser(t, m), set, twisted.Config{Schedule: noise.CosineBar{MinAlpha: 1e-2}, Particles: 8, Steps: 200})
	require.NoError(t, err)
	require.Equal(t, noise.CosineBar{MinAlpha: 1e-2}.Alpha(1), noise.CosineBar{MinAlpha: 1e-2}.Alpha(0.995), "the test is of a flat one")
	require.NoError(t, s.Sample(t.Context(), make([]float32, 2)))
}

func TestRefusals(t *testing.T) {
	m, set, _ := uneven(t)
	d := denoiser(t, m)
	curved := curvedSet{set}
	tokens := energy.DenoiserFunc[float32]{Sites: 2, Levels: 3}
	for what, f := range map[string]func() (*twisted.Sampler, error){
		"model = nil":                 func() (*twisted.Sampler, error) { return twisted.New(t.Context(), nil, set, twisted.Config{}) },
		"set = nil":                   func() (*twisted.Sampler, error) { return twisted.New(t.Context(), d, nil, twisted.Config{}) },
		"3 levels":                    func() (*twisted.Sampler, error) { return twisted.New(t.Context(), tokens, set, twisted.Config{}) },
		"1 curved":                    func() (*twisted.Sampler, error) { return twisted.New(t.Context(), d, curved, twisted.Config{}) },
		"Config.Steps = -1, want ≥ 0": func() (*twisted.Sampler, error) { return twisted.New(t.Context(), d, set, twisted.Config{Steps: -1}) },
		"Config.PerCloud = 65, want ≤": func() (*twisted.Sampler, error) {
			return twisted.New(t.Context(), d, set, twisted.Config{PerCloud: 65})
		},
		"Config.Threshold = 2": func() (*twisted.Sampler, error) {
			return twisted.New(t.Context(), d, set, twisted.Config{Threshold: 2})
		},
		"Config.Width = NaN": func() (*twisted.Sampler, error) {
			return twisted.New(t.Context(), d, set, twisted.Config{Width: math.NaN()})
		},
		"Config.First = -1": func() (*twisted.Sampler, error) { return twisted.New(t.Context(), d, set, twisted.Config{First: -1}) },
		"Schedule.Alpha(1) = 0, want > 0": func() (*twisted.Sampler, error) {
			plain := energy.DenoiserFunc[float32]{Sites: 2, Levels: 1}
			return twisted.New(t.Context(), plain, set, twisted.Config{Schedule: noise.CosineSquared{Epsilon: -1}})
		},
		"context canceled": func() (*twisted.Sampler, error) { return twisted.New(cancelled(), d, set, twisted.Config{}) },
	} {
		_, err := f()
		require.ErrorContains(t, err, what)
	}
	s, err := twisted.New(t.Context(), d, set, twisted.Config{Schedule: schedule, Particles: 2, Steps: 3})
	require.NoError(t, err)
	logp, stderr := s.LogProb()
	assert.True(t, math.IsNaN(logp) && math.IsNaN(stderr))
	require.ErrorIs(t, s.Sample(cancelled(), make([]float32, 2)), context.Canceled)
	require.Panics(t, func() { _ = s.Sample(t.Context(), make([]float32, 3)) })
	bad := energy.DenoiserFunc[float32]{Sites: 2, Levels: 1, F: func(_ context.Context, v []float32, q energy.Noised[float32]) error {
		for i := range v {
			v[i] = float32(math.NaN())
		}
		return nil
	}}
	s, err = twisted.New(t.Context(), bad, set, twisted.Config{Schedule: schedule, Particles: 2, Steps: 3})
	require.NoError(t, err)
	require.ErrorContains(t, s.Sample(t.Context(), make([]float32, 2)), "cloud 0: step 0: particle 0: the prediction for entry 0 is NaN")
	// Inequalities that exclude each other.
	inf := math.Inf(1)
	none := constraint.Slabs{A: append(set.A, set.A...), Lower: []float64{1, -inf}, Upper: []float64{inf, 0}}
	s, err = twisted.New(t.Context(), d, none, twisted.Config{Schedule: schedule, Particles: 4, Steps: 5})
	require.NoError(t, err)
	err = s.Sample(t.Context(), make([]float32, 2))
	require.ErrorIs(t, err, constraint.ErrInfeasible)
	require.ErrorContains(t, err, "none of 4 particles is in the set: if it is not empty, it takes more Particles")
	steps := 0
	s, err = twisted.New(t.Context(), d, set, twisted.Config{Schedule: schedule, Particles: 2, Steps: 3, Progress: func(done, total int) {
		steps++
		require.Equal(t, [2]int{steps, 6}, [2]int{done, total})
	}})
	require.NoError(t, err)
	require.NoError(t, s.Sample(t.Context(), make([]float32, 4)))
	asked := 0
	conditional := energy.DenoiserFunc[float32]{Sites: 2, Levels: 1, F: func(ctx context.Context, v []float32, q energy.Noised[float32]) error {
		asked++
		require.Equal(t, "a condition", q.Meta)
		return d.Denoise(ctx, v, q)
	}}
	s, err = twisted.New(t.Context(), conditional, set, twisted.Config{Schedule: schedule, Particles: 2, Steps: 3, Meta: "a condition"})
	require.NoError(t, err)
	require.NoError(t, s.Sample(t.Context(), make([]float32, 2)))
	require.Equal(t, 3, asked)
}

// curvedSet has a curve besides its rows.
type curvedSet struct{ constraint.Slabs }

func (c curvedSet) Split() (constraint.Slabs, constraint.Curved) { return c.Slabs, curve{} }

type curve struct{}

func (curve) Len() int                                   { return 1 }
func (curve) Eval(g, _ []float64)                        { g[0] = 0 }
func (curve) Gradient(dst []float64, _ int, _ []float64) { clear(dst) }

func cancelled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
