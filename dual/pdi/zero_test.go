package pdi_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// square is x² − b in one dimension.
type square struct{ b float64 }

func (square) Sites() int { return 1 }
func (q square) Energy(e []float64, x []float32) {
	for s, v := range x {
		e[s] = float64(v)*float64(v) - q.b
	}
}
func (square) Score(s, x []float32) {
	for i, v := range x {
		s[i] = -2 * v
	}
}

// The zero options in one dimension: two normal distributions with E x² at most a bound, whose
// λ* is known by quadrature.
func TestZeroOptions(t *testing.T) {
	exact.SkipRepeated(t)
	base := exact.Must(continuous.NewDiagonal([]float64{1, 1}, []float64{-1.5, 1.5}, []float64{0.5, 0.5}))
	for _, bound := range []float64{1, 0.5} {
		lag := exact.Must(dual.NewRealLagrangian(base, 1, dual.AtMost(square{bound}, 0)))
		mean := func(lambda float64) (m float64) {
			z, e := 0.0, make([]float64, 1)
			for x := -8.0; x < 8; x += 1e-3 {
				base.Energy(e, []float32{float32(x)})
				w := math.Exp(-e[0] - lambda*x*x)
				z += w
				m += w * x * x
			}
			return m / z
		}
		lo, hi := 0.0, 10.0
		for range 60 {
			if mid := (lo + hi) / 2; mean(mid) > bound {
				lo = mid
			} else {
				hi = mid
			}
		}
		d := exact.Must(pdi.New(context.Background(), exact.Must(pdi.NewGibbsScore(lag, pdi.GibbsOptions{Center: []float64{0}, Spread: []float64{3}})), pdi.Config{}))
		x := seeded(t, d, 512, 512, 250, 0, 7)
		got := 0.0
		for _, v := range x {
			got += float64(v) * float64(v) / float64(len(x))
		}
		// The last steps correct what is left with states that hardly move: λ̄ is the estimate.
		t.Logf("bound %v: λ* %.4f, λ %.4f, λ̄ %.4f, E x² %.4f; %s", bound, lo, d.Lambda()[0], d.Average()[0], got, d.Warning())
		require.InEpsilon(t, bound, got, 0.02)
		require.InEpsilon(t, lo, d.Average()[0], 0.15) // 3 standard deviations: λ makes up for the mean of 512 draws
	}
	// Without a guess there is no such estimate, and the paper's is asked for by name.
	lag := exact.Must(dual.NewRealLagrangian(base, 1, dual.AtMost(square{1}, 0)))
	require.ErrorContains(t, exact.Error(pdi.NewGibbsScore(lag, pdi.GibbsOptions{})), "Center and Spread = nil")
}

// A run whose predictions are single candidates ends with an error, unless that is allowed.
func TestScarce(t *testing.T) {
	p := newConstrained(t).estimated(pdi.GibbsOptions{Candidates: 2, Score: true})
	for _, allowed := range []bool{false, true} {
		d := exact.Must(pdi.New(context.Background(), p, pdi.Config{Domain: pdi.Box(-5, 5), Scarce: allowed, Rule: quick}))
		diff := exact.Must(diffusion.New(context.Background(), d, diffusion.Process[float32](diffusion.Gaussian{Eta: 1, Wide: true, Schedule: noise.CosineBar{}}), diffusion.Config{Steps: 20, Batch: 8, Seed: 1}))
		err := diff.Sample(t.Context(), make([]float32, 8*30))
		if allowed {
			require.NoError(t, err)
			require.Contains(t, d.Warning(), "fewer than 2 effective candidates")
			continue
		}
		var scarce *pdi.ScarceError
		require.ErrorAs(t, err, &scarce)
		require.ErrorContains(t, err, "Config.Scarce")
		require.Greater(t, 2*scarce.Few, scarce.Steps)
	}
}

// Rules whose steps need the variance of samples are refused; those with a step are not.
func TestRulesOfForecasts(t *testing.T) {
	p := newConstrained(t).predictor
	for _, rule := range []dual.Rule{dual.Auto{}, dual.Ascent{}, dual.PI{}, dual.AdaGrad{}, dual.Extragradient{}, dual.Decay{}} {
		var spread *dual.SpreadError
		require.ErrorAs(t, exact.Error(pdi.New(t.Context(), p, pdi.Config{Rule: rule})), &spread, "%T", rule)
		require.NotEmpty(t, spread.Rule)
	}
	step := dual.Constant(0.3)
	for _, rule := range []dual.Rule{dual.Ascent{Step: step}, dual.PI{Integral: step}, dual.Extragradient{Step: step}, dual.Decay{Rule: dual.Ascent{Step: step}}} {
		require.NoError(t, exact.Error(pdi.New(t.Context(), p, pdi.Config{Rule: rule})), "%T", rule)
	}
}
