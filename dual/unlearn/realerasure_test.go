package unlearn_test

import (
	"context"
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/unlearn"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
	"github.com/stretchr/testify/require"
)

// bells is a mixture of normal distributions in the plane, of one variance.
type bells struct {
	weight   []float64
	mean     [][]float64
	variance float64
}

func (b bells) denoiser() energy.Denoiser[float32] {
	var cov [][]float64
	for range b.mean {
		cov = append(cov, []float64{b.variance, 0, 0, b.variance})
	}
	return exact.Must(denoise.NewMixture(exact.Must(continuous.NewMixture(b.weight, b.mean, cov))))
}

func (b bells) density(x, y float64) (p float64) {
	for k, m := range b.mean {
		p += b.weight[k] * math.Exp(-((x-m[0])*(x-m[0])+(y-m[1])*(y-m[1]))/(2*b.variance)) / (2 * math.Pi * b.variance)
	}
	return p
}

// kl returns KL(b‖other) by quadrature.
func (b bells) kl(other bells) (sum float64) {
	const h = 0.05
	for i := -120; i <= 120; i++ {
		for j := -120; j <= 120; j++ {
			x, y := float64(i)*h, float64(j)*h
			if p := b.density(x, y); p > 0 {
				sum += h * h * p * math.Log(p/other.density(x, y))
			}
		}
	}
	return sum
}

// divergence draws samples and returns the mean of their path divergences above the bound, with
// its error.
func divergence(t *testing.T, e *unlearn.RealErasure, p diffusion.Gaussian, steps, samples int) (mean, se float64, x []float32) {
	t.Helper()
	d := exact.Must(diffusion.New(t.Context(), energy.Denoiser[float32](e), diffusion.Process[float32](p), diffusion.Config{Steps: steps, Batch: 100, Seed: 1}))
	x = make([]float32, e.Sites()*samples)
	require.NoError(t, d.Sample(t.Context(), x))
	g, squares := make([]float64, samples), 0.0
	e.Violation(g, x)
	for _, v := range g {
		mean -= v / float64(samples)
		squares += v * v / float64(samples)
	}
	return mean, math.Sqrt((squares - mean*mean) / float64(samples-1)), x
}

// At λ = 0 with exact denoisers and fine steps, the path divergence is KL(q‖q_1), here of two
// mixtures by quadrature. For a flow it is, too.
func TestRealErasurePath(t *testing.T) {
	exact.SkipUnderRace(t)
	q := bells{[]float64{0.6, 0.4}, [][]float64{{-1, 0.5}, {1.2, 0}}, 0.3}
	away := bells{[]float64{0.3, 0.7}, [][]float64{{-0.8, 0}, {1, 1}}, 0.4}
	want := q.kl(away)
	e := exact.Must(unlearn.NewRealErasure(q.denoiser(), []energy.Denoiser[float32]{away.denoiser()}, []float64{0}))
	for name, p := range map[string]diffusion.Gaussian{"DDPM": {Eta: 1}, "flow": {Schedule: noise.Straight{}}} {
		require.NoError(t, e.SetLambda([]float64{0}))
		mean, se, _ := divergence(t, e, p, 150, 2000)
		require.InDelta(t, want, mean, 5*se+0.02*want, "%s: 5e-7 and the steps' error", name)
		require.Greater(t, want, 20*se, "the test can tell")
		t.Logf("%s: %v ± %v, want %v", name, mean, se, want)
	}
}

// Normal distributions of one variance: the optimum at λ is normal with that variance and mean
// (m − λm_1)/(1−λ), and so is the product of the steps. The dual ascent finds the λ of a bound.
func TestRealErasureOptimum(t *testing.T) {
	exact.SkipUnderRace(t)
	const m, m1, v, b = 0.4, -0.5, 0.6, 2.0
	q := exact.Must(denoise.NewGaussian([]float64{m}, []float64{v}))
	away := exact.Must(denoise.NewGaussian([]float64{m1}, []float64{v}))
	e := exact.Must(unlearn.NewRealErasure(q, []energy.Denoiser[float32]{away}, []float64{b}))
	d := exact.Must(diffusion.New(t.Context(), energy.Denoiser[float32](e), diffusion.Process[float32](diffusion.Gaussian{Eta: 1}), diffusion.Config{Steps: 100, Batch: 64, Seed: 1}))
	inf := exact.Must(dual.NewInference(t.Context(), e, exact.Must(dual.NewResampler(1, 64, d.Sample)), dual.Config{Rule: dual.Ascent{Step: dual.Constant(0.05)}, Max: new(0.9)}))
	require.NoError(t, inf.Run(t.Context(), 100))
	// KL = (m−m_1)²/((1−λ)²·2v)
	want := 1 - (m-m1)/math.Sqrt(2*v*b)
	lambda := inf.Average()[0]
	require.InDelta(t, want, lambda, 0.05)
	// The predictions differ by the same number in all states, so that the sum over the steps is
	// known, and tends to the bound.
	schedule, c, last := noise.LinearBeta{}, (m-m1)*(m-m1)/((1-want)*(1-want)), 0.0
	for _, steps := range []int{100, 3000} {
		last = 0
		for k := steps; k > 0; k-- {
			snr := schedule.Alpha(float64(k)/float64(steps)) / (1 - schedule.Alpha(float64(k)/float64(steps)))
			next := 2 * snr // a last step counts with SNR_t
			if k > 1 {
				a := schedule.Alpha(float64(k-1) / float64(steps))
				next = a / (1 - a)
			}
			last += (next - snr) * c / 2 / ((1 + v*snr) * (1 + v*snr))
		}
		require.NoError(t, e.SetLambda([]float64{want}))
		mean, _, _ := divergence(t, e, diffusion.Gaussian{Eta: 1}, steps, 2)
		require.InDelta(t, last, b+mean, 1e-4, "%d steps", steps)
	}
	require.InDelta(t, b, last, 0.01*b)
	require.NoError(t, e.SetLambda([]float64{want}))
	_, _, x := divergence(t, e, diffusion.Gaussian{Eta: 1}, 100, 2000)
	sum := 0.0
	for _, v := range x {
		sum += float64(v) / float64(len(x))
	}
	require.InDelta(t, (m-want*m1)/(1-want), sum, 5*math.Sqrt(v/float64(len(x)))+0.02)
}

func TestRealErasureRefuses(t *testing.T) {
	g := exact.Must(denoise.NewGaussian([]float64{0}, []float64{1}))
	two := exact.Must(denoise.NewGaussian([]float64{0, 0}, []float64{1, 0, 0, 1}))
	all := []energy.Denoiser[float32]{g}
	for want, make := range map[string]func() (*unlearn.RealErasure, error){
		"q set = false":            func() (*unlearn.RealErasure, error) { return unlearn.NewRealErasure(nil, all, []float64{1}) },
		"2 bounds":                 func() (*unlearn.RealErasure, error) { return unlearn.NewRealErasure(g, all, []float64{1, 2}) },
		"away[0] has 1 sites":      func() (*unlearn.RealErasure, error) { return unlearn.NewRealErasure(two, all, []float64{1}) },
		"b[0] = NaN, want a finit": func() (*unlearn.RealErasure, error) { return unlearn.NewRealErasure(g, all, []float64{math.NaN()}) },
		"away[0] is nil": func() (*unlearn.RealErasure, error) {
			return unlearn.NewRealErasure(g, []energy.Denoiser[float32]{nil}, []float64{1})
		},
	} {
		_, err := make()
		require.ErrorContains(t, err, want)
	}
	e := exact.Must(unlearn.NewRealErasure(g, all, []float64{1}))
	require.ErrorContains(t, e.SetLambda([]float64{1}), "want < 1")
	require.ErrorContains(t, e.SetLambda([]float64{-1}), "want ≥ 0")
	v, x := make([]float32, 1), []float32{0}
	at := func(alpha float64, sample []int) error {
		return e.Denoise(context.Background(), v, energy.Noised[float32]{X: x, Time: []float64{0.5}, Alpha: []float64{alpha}, Sample: sample})
	}
	require.ErrorContains(t, at(0.5, nil), "Noised.Sample = nil")
	require.NoError(t, at(0.5, []int{3}))
	require.ErrorContains(t, at(0.5, []int{3}), "want finite and rising")
	require.Panics(t, func() { e.Violation(make([]float64, 2), make([]float32, 2)) })
	require.Equal(t, []dual.Row{{Name: "KL from away[0]", Unit: "nats", Bound: 1, AtLeast: true}}, e.Rows())
	require.Equal(t, 1, e.Len())
	require.Equal(t, 1.0, e.Beta())
}
