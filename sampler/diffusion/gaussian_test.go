package diffusion

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// ar1 is the covariance ρ^|i−j|.
func ar1(n int, rho float64) []float64 {
	c := make([]float64, n*n)
	for i := range n {
		for j := range n {
			c[i*n+j] = math.Pow(rho, math.Abs(float64(i-j)))
		}
	}
	return c
}

// linearLaw returns mean and covariance of x_0 for a Gaussian prior: every step
// is an affine map, with package math and gonum.
func linearLaw(mean, cov []float64, c noise.Schedule, eta float64, steps int) (*mat.VecDense, *mat.Dense) {
	n := len(mean)
	m, sigma := mat.NewVecDense(n, nil), mat.NewDense(n, n, nil)
	for i := range n {
		sigma.Set(i, i, 1)
	}
	prior, mu := mat.NewDense(n, n, cov), mat.NewVecDense(n, mean)
	for k := steps; k > 0; k-- {
		at, as := c.Alpha(float64(k)/float64(steps)), c.Alpha(float64(k-1)/float64(steps))
		var s, inv, gain, step mat.Dense
		s.Scale(at, prior)
		for i := range n {
			s.Set(i, i, s.At(i, i)+1-at)
		}
		if inv.Inverse(&s) != nil {
			panic("singular")
		}
		gain.Mul(prior, &inv)
		gain.Scale(math.Sqrt(at), &gain) // x̂ = μ + gain(x − √at μ)
		v := eta * eta * (1 - as) / (1 - at) * (1 - at/as)
		rest := math.Sqrt(math.Max(0, 1-as-v))
		// x_s = (√as − rest√at/√(1−at))·x̂ + rest/√(1−at)·x + √v·z
		a, b := math.Sqrt(as)-rest*math.Sqrt(at/(1-at)), rest/math.Sqrt(1-at)
		step.Scale(a, &gain)
		for i := range n {
			step.Set(i, i, step.At(i, i)+b)
		}
		var next, off, shift mat.VecDense
		next.MulVec(&step, m)
		off.ScaleVec(-math.Sqrt(at), mu)
		shift.MulVec(&gain, &off)
		shift.AddVec(&shift, mu)
		next.AddScaledVec(&next, a, &shift)
		m.CloneFromVec(&next)
		var half, full mat.Dense
		half.Mul(&step, sigma)
		full.Mul(&half, step.T())
		for i := range n {
			full.Set(i, i, full.At(i, i)+v)
		}
		sigma.CloneFrom(&full)
	}
	return m, sigma
}

// momentsAgree checks the means and covariances of samples × n against the law of a
// Gaussian. 6 standard errors for at most 20 numbers: below 1e-6 by the normal
// tail.
func momentsAgree(x []float32, m *mat.VecDense, sigma *mat.Dense) bool {
	n := m.Len()
	samples := float64(len(x) / n)
	for i := range n {
		for j := -1; j <= i; j++ {
			sum := 0.0
			for s := 0; s < len(x); s += n {
				d := float64(x[s+i]) - m.AtVec(i)
				if j >= 0 {
					d *= float64(x[s+j]) - m.AtVec(j)
				}
				sum += d
			}
			want, se := 0.0, math.Sqrt(sigma.At(i, i)/samples)
			if j >= 0 {
				want = sigma.At(i, j)
				se = math.Sqrt((sigma.At(i, i)*sigma.At(j, j) + want*want) / samples)
			}
			if math.Abs(sum/samples-want) > 6*se {
				return false
			}
		}
	}
	return true
}

// frechet returns the squared 2-Wasserstein distance to N(0, C) of what
// deterministic steps make of noise. The map is linear and shares its
// eigenvectors with C, so that it is enough to send each through the steps.
func frechet(t *testing.T, n, steps int) float64 {
	cov := ar1(n, 0.95)
	model, err := denoise.NewGaussian(make([]float64, n), cov)
	require.NoError(t, err)
	var eigen mat.EigenSym
	require.True(t, eigen.Factorize(mat.NewSymDense(n, cov), true))
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	p, err := Gaussian{Schedule: noise.LinearBeta{To: 0.1, Steps: 200}}.Bind(context.Background(), n, 1)
	require.NoError(t, err)

	q := energy.Noised[float32]{X: make([]float32, n*n), Time: make([]float64, n), Alpha: make([]float64, n), Sample: make([]int, n), Src: make([]rand.Source, n)}
	for j := range n {
		for i := range n {
			q.X[j*n+i] = float32(vectors.At(i, j))
		}
	}
	v := make([]float32, n*n)
	for now := 1.0; now > 0; {
		next := p.Next(nil, now, int(math.Round((1-now)*float64(steps))), steps, nil)
		for j := range n {
			q.Time[j], q.Alpha[j] = now, p.Alpha(now)
		}
		require.NoError(t, model.Denoise(context.Background(), v, q))
		for j := range n {
			require.NoError(t, p.Reverse(q.X[j*n:(j+1)*n], v[j*n:(j+1)*n], v[j*n:(j+1)*n], now, next, nil))
		}
		now = next
	}
	d := 0.0
	for j, l := range eigen.Values(nil) {
		scale := 0.0
		for i := range n {
			scale += float64(q.X[j*n+i]) * vectors.At(i, j)
		}
		d += (math.Sqrt(l) - scale) * (math.Sqrt(l) - scale)
	}
	return d
}

// The known distance for AR(1) with ρ = .95 and length 96 after 200 steps of
// β from 1e-4 to 0.1.
func TestGaussianReachesTheKnownDistance(t *testing.T) {
	exact.SkipUnderRace(t)
	assert.InDelta(t, 0.00933, frechet(t, 96, 200), 0.000005)
}

func TestGaussianDiscretisationVanishes(t *testing.T) {
	last := math.Inf(1)
	for _, steps := range []int{25, 50, 100, 200} {
		d := frechet(t, 24, steps)
		assert.Less(t, d, last/2)
		last = d
	}
}

func TestGaussianClampsConditionTheRest(t *testing.T) {
	exact.SkipRepeated(t)
	mean, cov := []float64{0, 0}, []float64{1, 0.8, 0.8, 1}
	model, err := denoise.NewGaussian(mean, cov)
	require.NoError(t, err)
	nan := float32(math.NaN())
	d, err := New(context.Background(), model, Gaussian{Schedule: noise.CosineBar{}, Eta: 1}, Config{Steps: 100, ClampReal: []float32{1.5, nan}})
	require.NoError(t, err)
	x := make([]float32, 2*20_000)
	require.NoError(t, d.Sample(context.Background(), x))
	free := make([]float32, 0, 20_000)
	for i := 0; i < len(x); i += 2 {
		require.Equal(t, float32(1.5), x[i])
		free = append(free, x[i+1])
	}
	// N(1.2, 0.36), diffused alone.
	m, sigma := linearLaw([]float64{1.2}, []float64{0.36}, noise.CosineBar{}, 1, 100)
	assert.True(t, momentsAgree(free, m, sigma))
	m, sigma = linearLaw([]float64{0}, []float64{1}, noise.CosineBar{}, 1, 100)
	assert.False(t, momentsAgree(free, m, sigma))
}

// upward moves predictions to ≥ 1.
type upward struct{ from *[]float64 }

func (u upward) Bind(context.Context, int, int, int) (Projection, error) { return u, nil }

func (u upward) Project(_ context.Context, _ int, v []float32, from, _ float64, _ rand.Source) (float64, error) {
	*u.from = append(*u.from, from)
	for i := range v {
		v[i] = max(v[i], 1)
	}
	return 0, nil
}

func TestGaussianProjectsPredictions(t *testing.T) {
	model, err := denoise.NewGaussian([]float64{0, 0}, []float64{1, 0, 0, 1})
	require.NoError(t, err)
	for _, recompute := range []bool{false, true} {
		var from []float64
		var last Snapshot
		d, err := New(context.Background(), model, Gaussian{Recompute: recompute}, Config{Steps: 4, Batch: 1, Projector: upward{&from}, Observe: func(s *Snapshot) {
			assert.True(t, s.Projected)
			last = *s
		}})
		require.NoError(t, err)
		x := make([]float32, 2)
		require.NoError(t, d.Sample(context.Background(), x))
		assert.Equal(t, []float64{1, 0.75, 0.5, 0.25}, from)
		assert.Equal(t, x, last.V)
		assert.GreaterOrEqual(t, x[0], float32(1))
	}
}

func TestGaussianStep(t *testing.T) {
	// One step by hand, from projected and unprojected predictions.
	at, as := noise.SigmoidBar{}.Alpha(0.5), noise.SigmoidBar{}.Alpha(0.25)
	var p Steps[float32]
	for _, recompute := range []bool{false, true} {
		var err error
		p, err = Gaussian{Schedule: noise.SigmoidBar{}, Recompute: recompute}.Bind(context.Background(), 1, 1)
		require.NoError(t, err)
		x := []float32{0.3}
		require.NoError(t, p.Reverse(x, []float32{0.5}, []float32{0.9}, 0.5, 0.25, sampler.NewStream(1, 1)))
		from := 0.5
		if recompute {
			from = 0.9
		}
		eps := (float64(float32(0.3)) - math.Sqrt(at)*from) / math.Sqrt(1-at)
		assert.InDelta(t, math.Sqrt(as)*0.9+math.Sqrt(1-as)*eps, x[0], 1e-6)
	}
	err := p.Reverse([]float32{1}, []float32{float32(math.NaN())}, []float32{float32(math.NaN())}, 0.5, 0.25, sampler.NewStream(1, 1))
	assert.EqualError(t, err, "the prediction for site 0 has a value that is NaN or +Inf (or -Inf, for reals)")
	m, err2 := denoise.NewGaussian([]float64{0}, []float64{1})
	require.NoError(t, err2)
	for want, c := range map[string]Gaussian{
		"Eta = 2":                {Eta: 2},
		"LinearBeta: From = 3":   {Schedule: noise.LinearBeta{From: 3}},
		"CosineBar: Offset = -1": {Schedule: noise.CosineBar{Offset: -1}},
		"SigmoidBar: Begin = 5":  {Schedule: noise.SigmoidBar{Begin: 5}},
		"Alpha(0) = 0.5, want 1": {Schedule: lossy{}},
	} {
		_, err := New(context.Background(), m, c, Config{})
		assert.ErrorContains(t, err, want)
	}
	_, err = New(context.Background(), m, Gaussian{}, Config{Clamp: []int32{0}})
	assert.ErrorContains(t, err, "Clamp is for tokens")
	two := energy.DenoiserFunc[float32]{Sites: 1, Levels: 2}
	_, err = New(context.Background(), two, Gaussian{}, Config{})
	assert.ErrorContains(t, err, "levels = 2, want 1 for reals")
}
