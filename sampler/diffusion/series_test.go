package diffusion_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/series"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection/proximal"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// Fréchet distances of the laws of all methods to the exact conditional law of
// an AR(1) series of 96 steps given five values and the mean, without sampling.
// The figures were computed independently before any of this was written.
func TestSeriesMethodsByExactLaw(t *testing.T) {
	if testing.Short() || exact.Race {
		t.Skip("200 products of matrices for every row of the table")
	}
	p := reference().prepare()
	given := p.conditional()
	for name, c := range map[string]struct {
		method
		eta, want float64
	}{
		"hard":                {method{by: diffusion.ByCPS}, 0, .9956},
		"hard, 1":             {method{by: diffusion.ByCPS}, 1, .5891},
		"penalty":             {method{by: diffusion.ByCPS, penalty: true}, 0, 1.6205},
		"penalty, 1":          {method{by: diffusion.ByCPS, penalty: true}, 1, .9626},
		"noise correction":    {method{by: diffusion.ByNoiseCorrection, penalty: true}, 0, 26.38},
		"noise correction, 1": {method{by: diffusion.ByNoiseCorrection, penalty: true}, 1, 19.49},
		"pdm":                 {method{by: diffusion.ByPDM}, 0, 21.05},
		"pdm, 1":              {method{by: diffusion.ByPDM}, 1, 14.27},
		"prodigy":             {method{by: diffusion.ByPRODIGY, power: 1}, 0, 21.12},
		"prodigy, 1":          {method{by: diffusion.ByPRODIGY, power: 1}, 1, 14.46},
		"prodigy 5":           {method{by: diffusion.ByPRODIGY, power: 5}, 0, 23.04},
		"prodigy 5, 1":        {method{by: diffusion.ByPRODIGY, power: 5}, 1, 17.04},
		"cop-ft":              {method{by: diffusion.ByCOPFT}, 0, 38.03},
		"cop-ft, 1":           {method{by: diffusion.ByCOPFT}, 1, 37.75},
		"guided":              {method{by: diffusion.ByGuidance}, 0, 9.466},
		"guided, 1":           {method{by: diffusion.ByGuidance}, 1, 4.423},
		"metric":              {method{by: diffusion.ByMetric}, 0, .00563},
		"metric, 1":           {method{by: diffusion.ByMetric}, 1, .02490},
		"unconstrained":       {method{by: diffusion.Unconstrained}, 0, 80.91},
		"unconstrained, 1":    {method{by: diffusion.Unconstrained}, 1, 80.18},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := p.law(c.method, c.eta).frechet(given)
			// Half a unit of the fourth digit, or of the fifth decimal, and
			// the rounding of the square roots of a singular covariance.
			unit := math.Pow(10, math.Max(-5, math.Floor(math.Log10(c.want))-3))
			assert.InDelta(t, c.want, got, 0.5*unit+1e-5)
		})
	}
	// Schedules of γ, linear and quadratic up to the same 1e5, make little
	// difference: both lie between the hard form and the paper's.
	for power := range 2 {
		t.Run("other γ", func(t *testing.T) {
			t.Parallel()
			other := method{by: diffusion.ByCPS, penalty: true, gamma: func(k int) float64 {
				return 1e5 * math.Pow(float64(p.steps-k+1)/float64(p.steps), float64(power+1))
			}}
			got := p.law(other, 0).frechet(given)
			assert.Greater(t, got, .9)
			assert.Less(t, got, 1.6205)
		})
	}
	t.Run("floor", func(t *testing.T) {
		t.Parallel()
		prior := &affine{mat.NewVecDense(p.n, nil), p.prior}
		floor := p.law(method{by: diffusion.Unconstrained}, 0).frechet(prior)
		assert.InDelta(t, .00933, floor, 1e-5)
		assert.Less(t, p.law(method{by: diffusion.ByMetric}, 0).frechet(given), floor)
		assert.Less(t, p.law(method{by: diffusion.ByMetric}, 1).frechet(given), 3*floor)
	})
}

// Theorem 4.4 of Narasimhan et al. 2025: for N(μ, I) and a consistent system of
// full column rank, with γ(t) growing linearly, no noise and ᾱ_T = 0, the error
// falls at least like 1/T.
func TestSeriesErrorDecaysWithSteps(t *testing.T) {
	const n, m = 8, 12
	rng := rand.New(rand.NewPCG(44, 1))
	a, truth, mu := mat.NewDense(m, n, nil), mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
	for i := range m * n {
		a.Set(i/n, i%n, rng.NormFloat64())
	}
	for i := range n {
		truth.SetVec(i, rng.NormFloat64())
		mu.SetVec(i, rng.NormFloat64())
	}
	var eigen mat.EigenSym
	var gram mat.SymDense
	gram.SymOuterK(1, a.T())
	require.True(t, eigen.Factorize(&gram, false))
	least := eigen.Values(nil)[0]
	var errs []float64
	for steps := 25; steps <= 400; steps *= 2 {
		law := &affine{mat.NewVecDense(n, nil), identity(n)}
		for k := steps; k > 0; k-- {
			alpha := func(k int) float64 { c := math.Cos(math.Pi / 2 * float64(k) / float64(steps)); return c * c }
			at, as := alpha(k), alpha(k-1)
			if k == steps {
				at = 0
			}
			// x̂ = μ + √ᾱ(x − √ᾱμ) and z = (I + γAᵀA)⁻¹(x̂ + γAᵀy).
			g := 2 * 2 * float64(steps-k+1) / least
			p := &problem{n: n, a: a, y: column(a, truth)}
			pull, shift := p.penalised(g)
			shift.AddScaledVec(shift, 1-at, column(pull, mu))
			scale := math.Sqrt((1 - as) / (1 - at))
			step := plus(identity(n), -at, identity(n))
			step.Scale(scale, step)
			step = plus(step, math.Sqrt(as*at), pull)
			var off mat.VecDense
			off.ScaleVec(math.Sqrt(as), shift)
			off.AddScaledVec(&off, -scale*math.Sqrt(at)*(1-at), mu)
			law.apply(step, &off, 0)
		}
		sum := mat.Trace(law.c)
		for i := range n {
			sum += math.Pow(law.m.AtVec(i)-truth.AtVec(i), 2)
		}
		errs = append(errs, math.Sqrt(sum))
	}
	for i := 1; i < len(errs); i++ {
		assert.LessOrEqual(t, math.Log2(errs[i]/errs[i-1]), -1.0, "%v", errs)
	}
}

// The library follows the exact maps: every method, step by step, from the same
// noise. A small problem; float32 states are good to 1e-4 after 20 steps.
func TestSeriesFollowsItsMaps(t *testing.T) {
	const n, steps = 8, 20
	p := &problem{n: n, steps: steps, prior: mat.NewDense(n, n, nil), a: mat.NewDense(2, n, nil), y: mat.NewVecDense(2, []float64{1, -0.5})}
	for i := range n {
		for j := range n {
			p.prior.Set(i, j, math.Pow(0.8, math.Abs(float64(i-j))))
		}
		p.a.Set(1, i, 1.0/n)
	}
	p.a.Set(0, 2, 1)
	schedule := noise.LinearBeta{To: 0.3, Steps: steps}
	for k := range steps + 1 {
		p.alpha = append(p.alpha, schedule.Alpha(float64(k)/steps))
	}
	p.prepare()
	model, err := denoise.NewAutoregressive(n, denoise.Channel{Coef: []float64{0.8}})
	require.NoError(t, err)
	set := constraint.Slabs{A: constraint.Rows(p.a.RawMatrix().Data, n), Lower: p.y.RawVector().Data, Upper: p.y.RawVector().Data}
	near := proximal.Projector{Set: set}
	metric := near
	metric.Metric = func(dst, v []float64, t float64) { model.Covariance(dst, v, schedule.Alpha(t)) }
	ctx := context.Background()
	for _, by := range diffusion.SeriesMethods() {
		t.Run(by.String(), func(t *testing.T) {
			s := diffusion.Series{Gaussian: diffusion.Gaussian{Schedule: schedule}, Method: by, Projector: near}
			switch by {
			case diffusion.ByMetric:
				s.Projector = metric
			case diffusion.ByGuidance:
				s.Set, s.Covariance = set, model.Covariance
			}
			process, err := s.Bind(n, 1)
			require.NoError(t, err)
			r := sampler.NewStream(3, 0)
			x, raw := make([]float32, n), make([]float32, n)
			process.Prior(x, r)
			want := mat.NewVecDense(n, nil)
			for i, v := range x {
				want.SetVec(i, float64(v))
			}
			for k := steps; k > 0; k-- {
				at, to := float64(k)/steps, float64(k-1)/steps
				require.NoError(t, model.Denoise(ctx, raw, energy.Noised[float32]{
					X: x, Time: []float64{at}, Alpha: []float64{p.alpha[k]}, Sample: []int{0}, Src: []rand.Source{r},
				}))
				require.NoError(t, process.Reverse(x, raw, raw, at, to, r))
				maps, shifts, _ := p.step(method{by: by, power: 1}, 0, k)
				for i, g := range maps {
					want = column(g, want)
					want.AddVec(want, shifts[i])
				}
			}
			for i, v := range x {
				require.InDelta(t, want.AtVec(i), v, 1e-4)
			}
			mean, worst := diffusion.SeriesViolation(set, x, n)
			held := by != diffusion.ByGuidance && by != diffusion.Unconstrained
			assert.Equal(t, held, worst <= 1e-6, "%v", worst)
			assert.GreaterOrEqual(t, mean, worst)
		})
	}
}

// Ten thousand samples of constrained posterior sampling keep linear limits to
// 1e-6 in standardised units, for every batch size and number of workers.
func TestSeriesKeepsLimits(t *testing.T) {
	const length, channels = 12, 4
	b := series.NewBuilder(series.Shape{
		Length: length, Channels: channels, Shift: []float64{50, 52, 48, 50}, Scale: []float64{5, 5, 5, 5},
	})
	b.OHLC(0, 1, 2, 3)
	b.Mean(3, 51)
	b.ArgMax(1, 7)
	b.At(0, 0, 49)
	set, err := b.Build()
	require.NoError(t, err)
	ar := denoise.Channel{Coef: []float64{0.9}}
	model, err := denoise.NewAutoregressive(length, ar, ar, ar, ar)
	require.NoError(t, err)
	count := 10_000
	if testing.Short() || exact.Race {
		count = 500
	}
	draw := func(count int, c diffusion.Config) []float32 {
		c.Steps, c.Seed = 10, 5
		d, err := diffusion.New(model, diffusion.Series{
			Gaussian: diffusion.Gaussian{Schedule: noise.CosineBar{}, Eta: 1}, Projector: proximal.Projector{Set: set},
		}, c)
		require.NoError(t, err)
		x := make([]float32, count*length*channels)
		require.NoError(t, d.Sample(context.Background(), x))
		return x
	}
	x := draw(count, diffusion.Config{})
	_, worst := diffusion.SeriesViolation(set, x, length*channels)
	assert.LessOrEqual(t, worst, 1e-6)
	assert.Equal(t, x[:20*length*channels], draw(20, diffusion.Config{Batch: 3, Workers: 2}))
}

func TestSeriesRefusals(t *testing.T) {
	near := proximal.Projector{Set: constraint.Slabs{}}
	for want, s := range map[string]diffusion.Series{
		"Method = SeriesMethod(8)":           {Method: 8},
		"Projector is nil, want one for cps": {},
		"Set is nil, want one for guided":    {Method: diffusion.ByGuidance},
		"Power = -1":                         {Projector: near, Power: -1},
		"Weight = NaN":                       {Projector: near, Weight: math.NaN()},
		"Eta = 2":                            {Projector: near, Gaussian: diffusion.Gaussian{Eta: 2}},
		"levels = 3":                         {Projector: near},
	} {
		levels := 1
		if want == "levels = 3" {
			levels = 3
		}
		_, err := s.Bind(4, levels)
		assert.ErrorContains(t, err, want)
	}
	assert.Panics(t, func() { diffusion.SeriesViolation(constraint.Slabs{}, make([]float32, 3), 2) })
}
