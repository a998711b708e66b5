package unlearn_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/unlearn"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/stretchr/testify/require"
)

// four returns two dependent distributions on 81 states.
func four() (q, away energy.Model) {
	q = energy.Func{Sites: 4, Levels: 3, E: func(x []int32) float64 {
		return 0.9*math.Abs(float64(x[0]-x[1])) + 0.8*math.Abs(float64(x[1]-x[2])) + 0.7*math.Abs(float64(x[2]-x[3]))
	}}
	away = energy.Func{Sites: 4, Levels: 3, E: func(x []int32) float64 {
		return 0.4*float64(x[0]) - 0.5*float64(x[2]*x[1]) + 0.3*float64(x[3]*x[0])
	}}
	return q, away
}

// erasing returns the erasure of four with tokens one by one, and its diffusion.
func erasing(t testing.TB, b float64) (*unlearn.Erasure, *diffusion.Runner[int32]) {
	q, away := four()
	e := exact.Must(unlearn.NewErasure(exact.Must(denoise.NewTable(q, denoise.Absorbing)),
		[]energy.Denoiser[int32]{exact.Must(denoise.NewTable(away, denoise.Absorbing))}, []float64{b}, unlearn.ErasureConfig{Mask: 3}))
	return e, exact.Must(diffusion.New(context.Background(), energy.Denoiser[int32](e), diffusion.Process[int32](diffusion.Masked{Mask: 3, FirstHitting: true}), diffusion.Config{Batch: 1000, Seed: 3}))
}

// Errors and reports state the bounds in nats.
func TestErasureRows(t *testing.T) {
	e, _ := erasing(t, 0.7)
	require.Equal(t, []dual.Row{{Name: "KL from away[0]", Unit: "nats", Bound: 0.7, AtLeast: true}}, e.Rows())
}

// At λ = ½ and .9 the particles draw the optimum and their violations are those
// of its divergence, by enumeration. The site-wise mix does not, and its path
// divergence is above that of what it samples: it cannot certify KL ≥ b.
func TestTerminal(t *testing.T) {
	exact.SkipUnderRace(t)
	q, away := four()
	u := exact.Must(unlearn.New(table(q), table(away)))
	draws, slack := 25000, 0.02
	if testing.Short() {
		draws, slack = 4000, 0.05
	}
	share := func(x []int32) []float64 {
		count := make([]float64, 81)
		for s := 0; s < len(x); s += 4 {
			k := 0
			for i := 3; i >= 0; i-- {
				k = 3*k + int(x[s+i])
			}
			count[k] += 4 / float64(len(x))
		}
		return count
	}
	tv := func(x []int32, p []float64) float64 {
		sum := 0.0
		for k, v := range share(x) {
			sum += math.Abs(v-p[k]) / 2
		}
		return sum
	}
	for _, lambda := range []float64{0.5, 0.9} {
		p := exact.Must(u.Law(unlearn.ReverseKL, []float64{lambda}))
		want := unlearn.KL(p, table(away))
		plain, d := erasing(t, 0)
		require.NoError(t, plain.SetLambda([]float64{lambda}))
		x := make([]int32, 4*draws)
		require.NoError(t, d.Sample(t.Context(), x))
		g := make([]float64, draws)
		plain.Violation(g, x)
		path, off := 0.0, tv(x, p)
		mix := unlearn.KL(share(x), table(away)) // of what is sampled
		for _, v := range g {
			path -= v / float64(draws)
		}

		e, d := erasing(t, 0)
		draw := e.Terminal(d.Sample, 4, rand.NewPCG(1, 2))
		require.NoError(t, e.SetLambda([]float64{lambda}))
		require.InDelta(t, 1-lambda, e.Beta(), 1e-15)
		require.NoError(t, draw(t.Context(), x))
		e.Violation(g, x)
		terminal, squares := 0.0, 0.0
		for _, v := range g {
			terminal -= v / float64(draws)
			squares += v * v / float64(draws)
		}
		se := math.Sqrt((squares - terminal*terminal) / float64(draws))
		near := tv(x, p)
		t.Logf("λ = %v: TV %.4f, of the mix %.4f; KL %.4f, by particles %.4f ± %.4f; of the mix %.4f, path %.4f; %.0f effective", lambda, near, off, want, terminal, se, mix, path, e.Effective())
		if lambda == 0.5 {
			require.LessOrEqual(t, near, slack)
			require.InDelta(t, want, terminal, 4.9*se)
			require.Greater(t, off, 0.07, "the broken twin")
		}
		require.Greater(t, path, mix+0.01, "above the divergence of what is sampled: no certificate of KL ≥ b")
	}
}

// The loop finds the exact multiplier, by the default rule.
func TestTerminalInference(t *testing.T) {
	exact.SkipRepeated(t)
	q, away := four()
	u := exact.Must(unlearn.New(table(q), table(away)))
	bound := unlearn.KL(table(q), table(away)) + 0.5
	star := exact.Must(u.Solve(t.Context(), unlearn.ReverseKL, []float64{bound}))
	e, d := erasing(t, bound)
	p := exact.Must(dual.NewResampler(4, 200, e.Terminal(d.Sample, 4, rand.NewPCG(1, 2))))
	inf := exact.Must(dual.NewInference(context.Background(), e, p, dual.Config{Max: new(0.9)}))
	require.NoError(t, inf.Run(t.Context(), 60))
	t.Logf("λ̄ = %.4f, λ* = %.4f", inf.Average()[0], star.Lambda[0])
	require.InDelta(t, star.Lambda[0], inf.Average()[0], 0.02)
}

func TestTerminalErrors(t *testing.T) {
	q, away := four()
	dq, da := exact.Must(denoise.NewTable(q, denoise.Absorbing)), exact.Must(denoise.NewTable(away, denoise.Absorbing))
	e := exact.Must(unlearn.NewErasure(dq, []energy.Denoiser[int32]{da}, []float64{0}, unlearn.ErasureConfig{Mask: 3}))
	d := exact.Must(diffusion.New(t.Context(), energy.Denoiser[int32](e), diffusion.Process[int32](diffusion.Masked{Mask: 3, FirstHitting: true}), diffusion.Config{}))
	x := make([]int32, 40)
	require.ErrorContains(t, e.Terminal(d.Sample, 0, rand.NewPCG(1, 2))(t.Context(), x), "particles = 0")
	idle := func(context.Context, []int32) error { return nil }
	require.ErrorContains(t, e.Terminal(idle, 2, rand.NewPCG(1, 2))(t.Context(), x), "0 samples measured")
}
