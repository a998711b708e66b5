package unlearn_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/unlearn"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/stretchr/testify/require"
)

// chains returns two dependent distributions of three tokens with three levels,
// and their exact denoisers; the mask is level 3.
func chains(t testing.TB) (q, away energy.Model, dq, da energy.Denoiser[int32]) {
	q = energy.Func{Sites: 3, Levels: 3, E: func(x []int32) float64 {
		return float64(0.5*math.Abs(float64(x[0]-x[1]))) + float64(0.8*math.Abs(float64(x[1]-x[2])))
	}}
	away = energy.Func{Sites: 3, Levels: 3, E: func(x []int32) float64 {
		return float64(0.4*float64(x[0])) - float64(0.3*float64(x[2]*x[1]))
	}}
	dq = exact.Must(denoise.NewTable(q, denoise.Absorbing))
	da = exact.Must(denoise.NewTable(away, denoise.Absorbing))
	return q, away, dq, da
}

// paths draws samples at λ and returns the mean path divergence and its error.
func paths(t *testing.T, e *unlearn.Erasure, p diffusion.Masked, samples, steps int) (mean, se float64) {
	t.Helper()
	d, err := diffusion.New(context.Background(), energy.Denoiser[int32](e), diffusion.Process[int32](p), diffusion.Config{Steps: steps, Batch: 100, Seed: 1})
	require.NoError(t, err)
	x := make([]int32, 3*samples)
	require.NoError(t, d.Sample(t.Context(), x))
	g := make([]float64, samples)
	e.Violation(g, x)
	squares := 0.0
	for _, v := range g {
		mean -= v / float64(samples)
		squares += v * v / float64(samples)
	}
	return mean, math.Sqrt((squares - mean*mean) / float64(samples-1))
}

// At λ = 0 with exact denoisers and tokens one by one the path divergence is
// KL(q‖q_1), by the chain rule; on a grid of steps it differs by what happens
// when several tokens fall in one step.
func TestErasurePath(t *testing.T) {
	exact.SkipUnderRace(t)
	q, away, dq, da := chains(t)
	want := unlearn.KL(table(q), table(away))
	e := exact.Must(unlearn.NewErasure(dq, []energy.Denoiser[int32]{da}, []float64{0}, unlearn.ErasureConfig{Mask: 3}))
	sites, levels := e.Shape()
	byHand := energy.Noised[int32]{X: slices.Repeat([]int32{3}, sites), Time: []float64{1}, Alpha: []float64{0}}
	require.ErrorContains(t, e.Denoise(context.Background(), make([]float32, sites*levels), byHand), "Noised.Reveals = 0")
	byHand.Reveals = energy.RevealsOne
	require.ErrorContains(t, e.Denoise(context.Background(), make([]float32, sites*levels), byHand), "Noised.Sample = nil")
	mean, se := paths(t, e, diffusion.Masked{Mask: 3, FirstHitting: true}, 4000, 0)
	require.InDelta(t, want, mean, 4.9*se)
	require.Greater(t, math.Abs(want/2-mean), 4.9*se)

	e = exact.Must(unlearn.NewErasure(dq, []energy.Denoiser[int32]{da}, []float64{0}, unlearn.ErasureConfig{Mask: 3}))
	mean, se = paths(t, e, diffusion.Masked{Mask: 3}, 2000, 256)
	// Two tokens fall in one step with probability 3/256 per pair at most.
	require.InDelta(t, want, mean, 4.9*se+3.0/256*want)
}

// What the path is comes from the process. Where a projection, guidance or particles
// decide what is revealed, and under another corruption, nothing is measured: a projected
// run had a total variation of .14 to its target at λ = 0, and the wrong corruption .47.
func TestErasureKnowsItsPath(t *testing.T) {
	q, away, dq, da := chains(t)
	run := func(p diffusion.Process[int32], cfg diffusion.Config, terminal bool) error {
		e := exact.Must(unlearn.NewErasure(dq, []energy.Denoiser[int32]{da}, []float64{0}, unlearn.ErasureConfig{Mask: 3}))
		cfg.Steps = 4
		d, err := diffusion.New(t.Context(), energy.Denoiser[int32](e), p, cfg)
		if err != nil {
			return err
		}
		draw := d.Sample
		if terminal {
			draw = e.Terminal(d.Sample, 2, rand.NewPCG(1, 2))
		}
		return draw(t.Context(), make([]int32, 30))
	}
	one, each := diffusion.Masked{Mask: 3, FirstHitting: true}, diffusion.Masked{Mask: 3}
	odd := diffusion.Config{Projector: projection.Path{Language: exact.Must(constraint.NewResidue([]int{0, 1, 2, 0}, 2, 1))}}
	for name, c := range map[string]struct {
		process  diffusion.Process[int32]
		cfg      diffusion.Config
		terminal bool
		want     string
	}{
		"one by one":                    {one, diffusion.Config{}, false, ""},
		"one by one, terminal":          {one, diffusion.Config{}, true, ""},
		"on a grid":                     {each, diffusion.Config{}, false, ""},
		"on a grid, terminal":           {each, diffusion.Config{}, true, "want RevealsOne after Terminal"},
		"projected":                     {one, odd, false, "without a projector"},
		"projected, terminal":           {one, odd, true, "without a projector"},
		"masked again":                  {diffusion.Remask{Mask: 3}, diffusion.Config{}, false, "want RevealsOne or RevealsEach"},
		"uniform noise":                 {diffusion.Uniform{}, diffusion.Config{}, false, "the process has no mask"},
		"given tokens, terminal":        {one, diffusion.Config{Clamp: []int32{1, -1, -1}}, true, "tokens are given, want none after Terminal"},
		"given tokens, path divergence": {one, diffusion.Config{Clamp: []int32{1, -1, -1}}, false, ""},
	} {
		err := run(c.process, c.cfg, c.terminal)
		if c.want == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.want, name)
		}
	}
	noisy, noisyAway := exact.Must(denoise.NewTable(q, denoise.Noisy)), exact.Must(denoise.NewTable(away, denoise.Noisy))
	require.ErrorContains(t, exact.Error(unlearn.NewErasure(noisy, []energy.Denoiser[int32]{noisyAway}, []float64{0}, unlearn.ErasureConfig{Mask: 2})), "q predicts tokens that were replaced by others")
	require.ErrorContains(t, exact.Error(unlearn.NewErasure(dq, []energy.Denoiser[int32]{da}, []float64{0}, unlearn.ErasureConfig{Mask: 2})), "q predicts tokens masked by level 3, want Mask = 2")
}

// The loop of the paper meets the bound, and what is sampled has moved away.
func TestErasureInference(t *testing.T) {
	q, away, dq, da := chains(t)
	const states = 200
	start := unlearn.KL(table(q), table(away))
	bound := start + 0.4
	e := exact.Must(unlearn.NewErasure(dq, []energy.Denoiser[int32]{da}, []float64{bound}, unlearn.ErasureConfig{Mask: 3}))
	d, err := diffusion.New(context.Background(), energy.Denoiser[int32](e), diffusion.Process[int32](diffusion.Masked{Mask: 3, FirstHitting: true}), diffusion.Config{Batch: states, Seed: 2})
	require.NoError(t, err)
	p := exact.Must(dual.NewResampler(3, states, d.Sample))
	inf := exact.Must(dual.NewInference(context.Background(), e, p, dual.Config{Rule: dual.Ascent{Step: dual.Constant(0.1)}, Max: new(0.9)}))
	require.NoError(t, inf.Run(t.Context(), 120))
	c := inf.Certificate()
	require.LessOrEqual(t, math.Abs(c.Violation[0]), 14*c.ViolationSE[0], "t quantile of 9 batches at 1e-6")
	require.Greater(t, c.Lambda[0], 0.05)
	require.Equal(t, 120, p.Len())

	// The exact distribution at this λ̄ is further from away than q was.
	u := exact.Must(unlearn.New(table(q), table(away)))
	require.Greater(t, unlearn.KL(exact.Must(u.Law(unlearn.ReverseKL, c.Lambda)), table(away)), start)
}

func TestErasureErrors(t *testing.T) {
	_, _, dq, da := chains(t)
	one := []energy.Denoiser[int32]{da}
	other := exact.Must(denoise.NewTable(energy.Func{Sites: 2, Levels: 3, E: func([]int32) float64 { return 0 }}, denoise.Absorbing))
	for _, err := range []error{
		exact.Error(unlearn.NewErasure(nil, one, []float64{1}, unlearn.ErasureConfig{Mask: 3})),
		exact.Error(unlearn.NewErasure(dq, nil, nil, unlearn.ErasureConfig{Mask: 3})),
		exact.Error(unlearn.NewErasure(dq, one, nil, unlearn.ErasureConfig{Mask: 3})),
		exact.Error(unlearn.NewErasure(dq, one, []float64{1}, unlearn.ErasureConfig{Mask: 4})),
		exact.Error(unlearn.NewErasure(dq, one, []float64{math.NaN()}, unlearn.ErasureConfig{Mask: 3})),
		exact.Error(unlearn.NewErasure(dq, []energy.Denoiser[int32]{nil}, []float64{1}, unlearn.ErasureConfig{Mask: 3})),
		exact.Error(unlearn.NewErasure(dq, []energy.Denoiser[int32]{other}, []float64{1}, unlearn.ErasureConfig{Mask: 3})),
		exact.Error(dual.NewResampler[int32](0, 1, nil)),
	} {
		require.Error(t, err)
	}
	e := exact.Must(unlearn.NewErasure(dq, one, []float64{1}, unlearn.ErasureConfig{Mask: 3}))
	for _, lambda := range []float64{-1, 1, math.NaN()} {
		require.Error(t, e.SetLambda([]float64{lambda}))
	}
	require.Panics(t, func() { e.Violation(make([]float64, 1), make([]int32, 3)) })
	broken := errors.New("broken")
	bad := energy.DenoiserFunc[int32]{Sites: 3, Levels: 4, F: func(context.Context, []float32, energy.Noised[int32]) error { return broken }}
	hole := energy.DenoiserFunc[int32]{Sites: 3, Levels: 4, F: func(_ context.Context, v []float32, _ energy.Noised[int32]) error {
		for k := range v {
			v[k] = 0
			if k%4 == 1 {
				v[k] = float32(math.Inf(-1))
			}
		}
		return nil
	}}
	nothing := energy.DenoiserFunc[int32]{Sites: 3, Levels: 4, F: func(_ context.Context, v []float32, _ energy.Noised[int32]) error {
		for k := range v {
			v[k] = float32(math.Inf(-1))
		}
		return nil
	}}
	run := func(q, a energy.Denoiser[int32]) error {
		e := exact.Must(unlearn.NewErasure(q, []energy.Denoiser[int32]{a}, []float64{1}, unlearn.ErasureConfig{Mask: 3}))
		d, err := diffusion.New(context.Background(), energy.Denoiser[int32](e), diffusion.Process[int32](diffusion.Masked{Mask: 3}), diffusion.Config{Steps: 2})
		require.NoError(t, err)
		return exact.Must(dual.NewResampler(3, 1, d.Sample)).Run(t.Context(), 1)
	}
	require.ErrorIs(t, run(bad, da), broken)
	require.ErrorIs(t, run(dq, bad), broken)
	require.ErrorContains(t, run(dq, hole), "no weight where q gives")
	require.ErrorContains(t, run(nothing, da), "every level weight zero")
}

// The loop's multiplier is the same number on every GOARCH: products are rounded and
// logarithms are our own.
func TestErasureBits(t *testing.T) {
	_, _, dq, da := chains(t)
	e := exact.Must(unlearn.NewErasure(dq, []energy.Denoiser[int32]{da}, []float64{0.9}, unlearn.ErasureConfig{Mask: 3}))
	d, err := diffusion.New(context.Background(), energy.Denoiser[int32](e), diffusion.Process[int32](diffusion.Masked{Mask: 3, FirstHitting: true}), diffusion.Config{Batch: 50, Seed: 2})
	require.NoError(t, err)
	inf := exact.Must(dual.NewInference(context.Background(), e, exact.Must(dual.NewResampler(3, 50, d.Sample)), dual.Config{Rule: dual.Ascent{Step: dual.Constant(0.1)}, Max: new(0.9)}))
	require.NoError(t, inf.Run(t.Context(), 20))
	require.Equal(t, uint64(0x3fe154d27551c8e3), math.Float64bits(inf.Lambda()[0]))
}
