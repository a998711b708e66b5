package diffusion_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/series"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection/proximal"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
	"github.com/gibbsite-go/gibbsite/sampler/distance"
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
		"hard":                {method{by: byCPS}, 0, .9956},
		"hard, 1":             {method{by: byCPS}, 1, .5891},
		"penalty":             {method{by: byCPS, penalty: true}, 0, 1.6205},
		"penalty, 1":          {method{by: byCPS, penalty: true}, 1, .9626},
		"noise correction":    {method{by: byNoiseCorrection, penalty: true}, 0, 26.38},
		"noise correction, 1": {method{by: byNoiseCorrection, penalty: true}, 1, 19.49},
		"pdm":                 {method{by: byPDM}, 0, 21.05},
		"pdm, 1":              {method{by: byPDM}, 1, 14.27},
		"prodigy":             {method{by: byPRODIGY, power: 1}, 0, 21.12},
		"prodigy, 1":          {method{by: byPRODIGY, power: 1}, 1, 14.46},
		"prodigy 5":           {method{by: byPRODIGY, power: 5}, 0, 23.04},
		"prodigy 5, 1":        {method{by: byPRODIGY, power: 5}, 1, 17.04},
		"cop-ft":              {method{by: byCOPFT}, 0, 38.03},
		"cop-ft, 1":           {method{by: byCOPFT}, 1, 37.75},
		"guided":              {method{by: byGuidance}, 0, 9.466},
		"guided, 1":           {method{by: byGuidance}, 1, 4.423},
		"metric":              {method{by: byMetric}, 0, .00563},
		"metric, 1":           {method{by: byMetric}, 1, .02490},
		"unconstrained":       {method{by: unconstrained}, 0, 80.91},
		"unconstrained, 1":    {method{by: unconstrained}, 1, 80.18},
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
			other := method{by: byCPS, penalty: true, gamma: func(k int) float64 {
				return 1e5 * math.Pow(float64(p.steps-k+1)/float64(p.steps), float64(power+1))
			}}
			got := p.law(other, 0).frechet(given)
			assert.Greater(t, got, .9)
			assert.Less(t, got, 1.6205)
		})
	}
	t.Run("discretisation", func(t *testing.T) {
		t.Parallel()
		prior := &affine{mat.NewVecDense(p.n, nil), p.prior}
		discretisation := p.law(method{by: unconstrained}, 0).frechet(prior)
		assert.InDelta(t, .00933, discretisation, 1e-5)
		assert.Less(t, p.law(method{by: byMetric}, 0).frechet(given), discretisation)
		assert.Less(t, p.law(method{by: byMetric}, 1).frechet(given), 3*discretisation)
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
	for k := range seriesMethods {
		by := seriesMethod(k)
		t.Run(by.String(), func(t *testing.T) {
			process, cfg := by.recipe(diffusion.Gaussian{Schedule: schedule}, diffusion.Config{Steps: steps, Seed: 3}, near, metric, set, model.Covariance)
			d, err := diffusion.New(ctx, model, process, cfg)
			require.NoError(t, err)
			x := make([]float32, n)
			require.NoError(t, d.Sample(ctx, x))
			// The runner begins with what stream (Seed, 0) gives.
			start := make([]float32, n)
			bound, err := process.Bind(ctx, n, 1)
			require.NoError(t, err)
			bound.Prior(start, sampler.NewStream(3, 0))
			want := mat.NewVecDense(n, nil)
			for i, v := range start {
				want.SetVec(i, float64(v))
			}
			for k := steps; k > 0; k-- {
				maps, shifts, _ := p.step(method{by: by, power: 1}, 0, k)
				for i, g := range maps {
					want = column(g, want)
					want.AddVec(want, shifts[i])
				}
			}
			for i, v := range x {
				require.InDelta(t, want.AtVec(i), v, 1e-4)
			}
			mean, worst := distance.Violation(set, x, n)
			held := by != byGuidance && by != unconstrained
			assert.Equal(t, held, worst <= 1e-6, "%v", worst)
			assert.GreaterOrEqual(t, mean, worst)
		})
	}
}

// Ten thousand samples of constrained posterior sampling keep linear limits to
// 1e-6 in standardised units, for every batch size and number of workers.
func TestSeriesKeepsLimits(t *testing.T) {
	exact.SkipUnderRace(t)
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
	count := 2000 // 1e-6 bounds a tail
	if exact.Long() {
		count = 10_000
	}
	draw := func(count int, c diffusion.Config) []float32 {
		c.Steps, c.Seed, c.Projector = 10, 5, proximal.Projector{Set: set}
		d, err := diffusion.New(context.Background(), model, diffusion.Gaussian{Schedule: noise.CosineBar{}, Eta: 1}, c)
		require.NoError(t, err)
		x := make([]float32, count*length*channels)
		require.NoError(t, d.Sample(context.Background(), x))
		return x
	}
	x := draw(count, diffusion.Config{})
	_, worst := distance.Violation(set, x, length*channels)
	assert.LessOrEqual(t, worst, 1e-6)
	assert.Equal(t, x[:20*length*channels], draw(20, diffusion.Config{Batch: 3, Workers: 2}))
}

func TestSeriesRefusals(t *testing.T) {
	ctx := context.Background()
	for want, p := range map[string]diffusion.Penalised{
		"Penalised: Set = nil":    {},
		"Penalised: Weight = -1":  {Set: constraint.Slabs{}, Weight: -1},
		"Penalised: Weight = NaN": {Set: constraint.Slabs{}, Weight: math.NaN()},
		"Gaussian: Eta = 2":       {Set: constraint.Slabs{}, Process: diffusion.Gaussian{Eta: 2}},
	} {
		_, err := p.Bind(ctx, 4, 1)
		assert.ErrorContains(t, err, want)
	}
	model, err := denoise.NewGaussian([]float64{0}, []float64{1})
	require.NoError(t, err)
	for want, c := range map[string]diffusion.Config{
		"Config.ProjectPower = -1, want finite and ≥ 0":        {ProjectState: true, ProjectPower: -1},
		"Config.ProjectPower = NaN":                            {ProjectState: true, ProjectPower: math.NaN()},
		"Config.ProjectPower = 2, want 0 without ProjectState": {ProjectPower: 2},
		"Config.ProjectState = true, want a Projector":         {ProjectState: true},
	} {
		_, err := diffusion.New(ctx, model, diffusion.Gaussian{}, c)
		assert.ErrorContains(t, err, want)
	}
}

// An autocorrelation, which is not convex, with the order of prices and a
// mean: every sample keeps all of them, the autocorrelation within 0.01.
func TestSeriesKeepsAutocorrelation(t *testing.T) {
	exact.SkipUnderRace(t)
	const length, channels = 36, 4
	shape := series.Shape{Length: length, Channels: channels}
	b := series.NewBuilder(shape)
	b.OHLC(0, 1, 2, 3)
	b.Mean(3, 0.2)
	b.Autocorrelation(3, 12, 0.3)
	set, err := b.Build()
	require.NoError(t, err)
	ar := denoise.Channel{Coef: []float64{0.9}}
	model, err := denoise.NewAutoregressive(length, ar, ar, ar, ar)
	require.NoError(t, err)
	for _, eta := range []float64{0, 1} {
		d, err := diffusion.New(context.Background(), model, diffusion.Gaussian{Eta: eta}, diffusion.Config{
			Steps: 40, Seed: 2, Projector: proximal.Projector{Set: set},
		})
		require.NoError(t, err)
		x := make([]float32, 6*length*channels)
		require.NoError(t, d.Sample(context.Background(), x))
		_, worst := distance.Violation(set, x, length*channels)
		assert.LessOrEqual(t, worst, 1e-6)
		for at := 0; at < len(x); at += length * channels {
			// By definition, not by the code that imposed it.
			mean, cross, square := 0.0, 0.0, 0.0
			value := func(i int) float64 { return float64(x[at+i*channels+3]) - mean }
			for i := range length {
				mean += float64(x[at+i*channels+3]) / length
			}
			for i := range length {
				square += value(i) * value(i)
				if i >= 12 {
					cross += value(i) * value(i-12)
				}
			}
			assert.InDelta(t, 0.3, cross/square, 0.01)
		}
	}
}
