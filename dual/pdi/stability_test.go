package pdi_test

import (
	"context"
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
	"github.com/stretchr/testify/require"
)

// scripted is a rule that moves λ as a function of the step.
type scripted func(step int) float64

func (f scripted) Bind(context.Context, int) (dual.Updater, error) { return scriptedUpdater{f}, nil }

type scriptedUpdater struct{ at scripted }

func (u scriptedUpdater) Update(lambda []float64, b *dual.Batch) error {
	lambda[0] = u.at(b.Step + 1)
	return nil
}
func (scriptedUpdater) AppendBinary(b []byte) ([]byte, error) { return b, nil }
func (scriptedUpdater) UnmarshalBinary([]byte) error          { return nil }

// Samples of a normal distribution are those at the fixed multiplier Tilt, however the
// multiplier moved: by the same noise, for schedules of every kind.
func TestStability(t *testing.T) {
	const variance, steps, samples = 0.6, 40, 8
	base := exact.Must(continuous.NewDiagonal([]float64{1}, []float64{0.3}, []float64{variance}))
	p := exact.Must(pdi.NewMixture(base, 0.5, dual.AtMost(exact.Must(continuous.NewLinear([]float64{2}, 1)), 0)))
	for _, schedule := range []noise.Schedule{noise.CosineBar{}, noise.LinearBeta{}, noise.PolynomialSNR{}, noise.PolynomialSNR{Power: 1, Max: 50}} {
		run := func(cfg pdi.Config) ([]float32, *pdi.Denoiser) {
			d := exact.Must(pdi.New(t.Context(), p, cfg))
			run := exact.Must(diffusion.New(t.Context(), d, diffusion.Process[float32](diffusion.Gaussian{Eta: 1, Schedule: schedule}), diffusion.Config{Steps: steps, Batch: samples, Seed: 1}))
			x := make([]float32, samples)
			require.NoError(t, run.Sample(t.Context(), x))
			return x, d
		}
		for _, at := range []scripted{
			func(step int) float64 { return float64(step) / steps },
			func(step int) float64 { return 1 + math.Sin(float64(step)/3) },
			func(step int) float64 { return float64(step / (steps - 1)) }, // the last step alone
		} {
			for _, again := range []bool{false, true} {
				x, d := run(pdi.Config{Rule: at, Again: again})
				w := exact.Must(d.Stability(variance))
				require.Len(t, w, steps)
				sum := 0.0
				for _, v := range w {
					require.GreaterOrEqual(t, v, 0.0)
					sum += v
				}
				require.InDelta(t, 1, sum, 1e-12)
				tilt := exact.Must(d.Tilt(variance))
				y, _ := run(pdi.Config{Fixed: true, Start: tilt})
				for s := range x {
					require.InDelta(t, y[s], x[s], 1e-4, "%T", schedule)
				}
				z, _ := run(pdi.Config{Fixed: true, Start: []float64{tilt[0] + 0.05}}) // the broken twin
				require.Greater(t, math.Abs(float64(z[0]-x[0])), 1e-2)
			}
		}
	}
	d := exact.Must(pdi.New(t.Context(), p, pdi.Config{}))
	for _, v := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		_, err := d.Stability(v)
		require.ErrorContains(t, err, "pdi: Stability: variance = ")
		_, err = d.Tilt(v)
		require.Error(t, err)
	}
	require.Nil(t, exact.Must(d.Tilt(1)), "before the first step")
}
