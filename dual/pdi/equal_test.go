package pdi_test

import (
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
)

// An equality and a range within one diffusion, from either side: multipliers are those of
// the exact optimum, means are met, and the report is in the user's terms. So it is with
// the Monte Carlo score of the same constraints.
func TestEqualitiesAndRanges(t *testing.T) {
	exact.SkipUnderRace(t)
	base := exact.Must(continuous.NewDiagonal([]float64{1, 2}, []float64{-1, 0, 1, 0.5}, []float64{0.5, 0.8}))
	first, second := exact.Must(continuous.NewLinear([]float64{1, 0}, 0)), exact.Must(continuous.NewLinear([]float64{0, 1}, 0))
	for _, c := range []struct {
		at, low, high float64
		sign          float64 // of the equality's multiplier
	}{{-0.2, 0.6, 0.9, 1}, {0.8, -0.5, 0, -1}} {
		constraints := []dual.Constraint[float32]{dual.Between(first, c.at, c.at).Named("first", "m", 0), dual.Between(second, c.low, c.high).Named("second", "m", 0)}
		p := exact.Must(pdi.NewMixture(base, 1, constraints...))
		star := exact.Must(p.Solve(t.Context()))
		require.Positive(t, c.sign*star.Lambda[0])
		law, mean := p.Law(star.Lambda), make([]float64, 2)
		law.Mean(mean)
		require.InDelta(t, c.at, mean[0], 1e-9)
		require.True(t, math.Abs(mean[1]-c.low) < 1e-9 || math.Abs(mean[1]-c.high) < 1e-9, "the range binds: %v", mean)
		require.Len(t, star.Report().Constraints, 2)

		lag := exact.Must(dual.NewRealLagrangian(base, 1, constraints...))
		guess := pdi.GibbsOptions{Candidates: 64, Center: []float64{0.3}, Spread: []float64{1.5}}
		for name, predictor := range map[string]pdi.Predictor{"mixture": p, "candidates": exact.Must(pdi.NewGibbsScore(lag, guess))} {
			d := exact.Must(pdi.New(t.Context(), predictor, pdi.Config{}))
			x := sample(t, d, 256, 256, 100, 0)
			report := exact.Must(dual.Judge(predictor, d.Lambda(), x)).Report(0.05)
			require.Equal(t, "first", report.Constraints[0].Name, name)
			for i, l := range report.Constraints {
				require.InDelta(t, mean[i], l.Value, 0.02+2*l.SE, "%s\n%s", name, report)
			}
		}
		// With the paper's rule, too.
		d := exact.Must(pdi.New(t.Context(), p, pdi.Config{Rule: dual.Ascent{Step: dual.Constant(0.05)}}))
		sample(t, d, 128, 128, 100, 0)
		require.Positive(t, c.sign*d.Average()[0])
	}
	_, err := pdi.New(t.Context(), exact.Must(pdi.NewMixture(base, 1, dual.AtMost(first, 0))), pdi.Config{Start: []float64{-1}})
	require.Error(t, err)
	square := dual.AtMost(square{1}, 0)
	_, err = pdi.NewMixture(exact.Must(continuous.NewDiagonal([]float64{1}, []float64{0}, []float64{1})), 1, square)
	require.ErrorContains(t, err, "row 0 is not linear")
}
