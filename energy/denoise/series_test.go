package denoise_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// seen returns a batch of two states at the given signal level.
func seen(rng *rand.Rand, sites int, alpha float64, clean bool) energy.Noised[float32] {
	q := energy.Noised[float32]{
		X: make([]float32, 2*sites), Time: []float64{0.5, 0.5}, Alpha: []float64{alpha, alpha},
		Sample: []int{0, 1}, Src: make([]rand.Source, 2),
	}
	for i := range q.X {
		q.X[i] = float32(rng.NormFloat64())
	}
	if clean {
		q.Clean = make([]bool, 2*sites)
		for i := range q.Clean {
			q.Clean[i] = rng.IntN(4) == 0
		}
	}
	return q
}

// stationary returns the covariance of an autoregressive series, from the
// response to a unit shock, summed until nothing is left of it.
func stationary(coef []float64, variance float64, n int) []float64 {
	shock := []float64{1}
	for t := 1; t < 4000; t++ {
		s := 0.0
		for k, phi := range coef {
			if t > k {
				s += phi * shock[t-k-1]
			}
		}
		shock = append(shock, s)
	}
	gamma := make([]float64, n)
	for lag := range gamma {
		for t := range len(shock) - lag {
			gamma[lag] += shock[t] * shock[t+lag]
		}
	}
	cov := make([]float64, n*n)
	for i := range n {
		for j := range n {
			cov[i*n+j] = variance * gamma[max(i-j, j-i)] / gamma[0]
		}
	}
	return cov
}

// The banded denoiser and its covariance against the dense distribution, whose
// covariance comes from the impulse response.
func TestAutoregressiveIsTheDenseGaussian(t *testing.T) {
	const n = 9
	ctx := context.Background()
	for _, coef := range [][]float64{nil, {0.95}, {-0.5}, {0.6, 0.2}, {1.2, -0.5, 0.1}} {
		cov := stationary(coef, 2.5, n)
		mean := make([]float64, n)
		for i := range mean {
			mean[i] = 0.7
		}
		dense, err := denoise.NewGaussian(mean, cov)
		require.NoError(t, err)
		banded, err := denoise.NewAutoregressive(n, denoise.Channel{Coef: coef, Mean: 0.7, Variance: 2.5}, denoise.Channel{Coef: []float64{0.3}})
		require.NoError(t, err)
		sites, levels := banded.Shape()
		assert.Equal(t, [2]int{2 * n, 1}, [2]int{sites, levels})
		rng := rand.New(rand.NewPCG(1, 1))
		for _, alpha := range []float64{1e-6, 0.3, 0.999} {
			for _, clean := range []bool{false, true} {
				q := seen(rng, 2*n, alpha, clean)
				v := make([]float32, 4*n)
				require.NoError(t, banded.Denoise(ctx, v, q))
				one := energy.Noised[float32]{X: make([]float32, n), Time: q.Time[:1], Alpha: q.Alpha[:1], Sample: q.Sample[:1], Src: q.Src[:1]}
				if clean {
					one.Clean = make([]bool, n)
				}
				for i := range n {
					one.X[i] = q.X[2*i]
					if clean {
						one.Clean[i] = q.Clean[2*i]
					}
				}
				want := make([]float32, n)
				require.NoError(t, dense.Denoise(ctx, want, one))
				for i := range n {
					require.InDelta(t, want[i], v[2*i], 2e-6, "%v, ᾱ = %v, clean %v", coef, alpha, clean)
				}
			}
			var c, p, inv mat.Dense
			c.CloneFrom(mat.NewDense(n, n, cov))
			p.Scale(alpha, &c)
			for i := range n {
				p.Set(i, i, p.At(i, i)+1-alpha)
			}
			require.NoError(t, inv.Inverse(&p))
			p.Mul(&c, &inv)
			p.Scale(1-alpha, &p)
			for j := range n {
				e, col := make([]float64, 2*n), make([]float64, 2*n)
				e[2*j] = 1
				banded.Covariance(col, e, alpha)
				for i := range n {
					require.InDelta(t, p.At(i, j), col[2*i], 1e-9)
					require.Zero(t, col[2*i+1])
				}
			}
		}
		q := seen(rng, 2*n, 1, false)
		v := make([]float32, 4*n)
		require.NoError(t, banded.Denoise(ctx, v, q))
		assert.Equal(t, q.X, v)
		e := make([]float64, 2*n)
		e[3] = 1
		banded.Covariance(e, e, 1)
		assert.Equal(t, make([]float64, 2*n), e)
		q.Clean = nil
		assert.True(t, exact.Race || testing.AllocsPerRun(10, func() { _ = banded.Denoise(ctx, v, q) }) == 0)
	}
}

func TestAutoregressiveRefusals(t *testing.T) {
	for want, c := range map[string]denoise.Channel{
		"not stationary":    {Coef: []float64{1.01}},
		"coefficients":      {Coef: []float64{0.5, 0.5}},
		"coefficients [1.5": {Coef: []float64{1.5, -0.4}},
		"len(Coef) = 5":     {Coef: make([]float64, 5)},
		"want finite and":   {Variance: -1},
		"Coef[0] = NaN":     {Coef: []float64{math.NaN()}},
	} {
		_, err := denoise.NewAutoregressive(5, c)
		assert.ErrorContains(t, err, want)
	}
	_, err := denoise.NewAutoregressive(5)
	assert.ErrorContains(t, err, "0 channels")
	a, err := denoise.NewAutoregressive(2, denoise.Channel{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	assert.ErrorIs(t, a.Denoise(ctx, make([]float32, 4), seen(rand.New(rand.NewPCG(1, 1)), 2, 0.5, false)), context.Canceled)
}

// The kernel density is a mixture of Gaussians; the empirical distribution a plain sum.
func TestWindowsAreTheMixtureOfTheData(t *testing.T) {
	const n, count = 5, 30
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(2, 2))
	data := make([]float32, n*count)
	for i := range data {
		data[i] = float32(rng.NormFloat64())
	}
	const h = 0.4
	var weights []float64
	var means, covs [][]float64
	for j := range count {
		mean, cov := make([]float64, n), make([]float64, n*n)
		for i := range n {
			mean[i], cov[i*n+i] = float64(data[j*n+i]), h*h
		}
		weights, means, covs = append(weights, 1), append(means, mean), append(covs, cov)
	}
	prior, err := continuous.NewMixture(weights, means, covs)
	require.NoError(t, err)
	mixture, err := denoise.NewMixture(prior)
	require.NoError(t, err)
	kernel, err := denoise.NewWindows(data, n, denoise.WindowsConfig{Bandwidth: h})
	require.NoError(t, err)
	empirical, err := denoise.NewWindows(data, n, denoise.WindowsConfig{})
	require.NoError(t, err)
	assert.Equal(t, count, kernel.Len())
	v, want := make([]float32, 2*n), make([]float32, 2*n)
	for _, alpha := range []float64{1e-6, 0.5, 0.99, 0.9999} {
		for _, clean := range []bool{false, true} {
			q := seen(rng, n, alpha, clean)
			require.NoError(t, kernel.Denoise(ctx, v, q))
			require.NoError(t, mixture.Denoise(ctx, want, q))
			for i := range v {
				require.InDelta(t, want[i], v[i], 5e-6, "ᾱ = %v, clean %v", alpha, clean)
			}
		}
		q := seen(rng, n, alpha, false)
		require.NoError(t, empirical.Denoise(ctx, v, q))
		for s := range 2 {
			total, mean := 0.0, make([]float64, n)
			far := math.Inf(1)
			dist := func(j int) (d float64) {
				for i := range n {
					e := float64(q.X[s*n+i]) - math.Sqrt(alpha)*float64(data[j*n+i])
					d += e * e / (1 - alpha) / 2
				}
				return d
			}
			for j := range count {
				far = min(far, dist(j))
			}
			for j := range count {
				p := math.Exp(far - dist(j))
				total += p
				for i := range n {
					mean[i] += p * float64(data[j*n+i])
				}
			}
			for i := range n {
				require.InDelta(t, mean[i]/total, v[s*n+i], 1e-6)
			}
		}
	}
	// The nearest one alone is a window of the data.
	nearest, err := denoise.NewWindows(data, n, denoise.WindowsConfig{Top: 1})
	require.NoError(t, err)
	q := seen(rng, n, 0.3, false)
	require.NoError(t, nearest.Denoise(ctx, v, q))
	assert.Contains(t, chunks(data, n), v[:n])
	two, err := denoise.NewWindows(data, n, denoise.WindowsConfig{Top: count - 1})
	require.NoError(t, err)
	require.NoError(t, two.Denoise(ctx, v, q))
	q.Alpha[0] = 1
	require.NoError(t, empirical.Denoise(ctx, v, q))
	assert.Equal(t, q.X[:n], v[:n])
	assert.True(t, exact.Race || testing.AllocsPerRun(10, func() { _ = empirical.Denoise(ctx, v, q) }) == 0)
	q.X[n] = float32(math.NaN())
	assert.ErrorContains(t, empirical.Denoise(ctx, v, q), "not finite")
	q.Clean = make([]bool, 2*n)
	q.Clean[0] = true
	assert.ErrorContains(t, empirical.Denoise(ctx, v, q), "Bandwidth = 0 with clean entries, want > 0")
}

func chunks(data []float32, n int) (out [][]float32) {
	for at := 0; at < len(data); at += n {
		out = append(out, data[at:at+n])
	}
	return out
}

func TestWindowsRefusals(t *testing.T) {
	for want, f := range map[string]func() (*denoise.Windows, error){
		"len(data) = 3": func() (*denoise.Windows, error) {
			return denoise.NewWindows(make([]float32, 3), 2, denoise.WindowsConfig{})
		},
		"Bandwidth = -1": func() (*denoise.Windows, error) {
			return denoise.NewWindows(make([]float32, 2), 2, denoise.WindowsConfig{Bandwidth: -1})
		},
		"Top = -1": func() (*denoise.Windows, error) {
			return denoise.NewWindows(make([]float32, 2), 2, denoise.WindowsConfig{Top: -1})
		},
		"data[1] = +Inf,": func() (*denoise.Windows, error) {
			return denoise.NewWindows([]float32{0, float32(math.Inf(1))}, 2, denoise.WindowsConfig{})
		},
	} {
		_, err := f()
		assert.ErrorContains(t, err, want)
	}
}
