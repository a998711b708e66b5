package diffusion_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection/proximal"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// total keeps the sum of two reals within −¼ … ¼.
func total() constraint.Slabs {
	return constraint.Slabs{A: constraint.Rows([]float64{1, 1}, 2), Lower: []float64{-0.25}, Upper: []float64{0.25}}
}

// A sample of reals is in the set with its clamped entries, or it is given up.
func TestAProjectionThatMovesAClampEndsTheSample(t *testing.T) {
	nan := float32(math.NaN())
	model := exact.Must(denoise.NewGaussian([]float64{0, 0}, []float64{1, 0.3, 0.3, 1}))
	known := total()
	known.A, known.Lower, known.Upper = append(known.A, constraint.Rows([]float64{0, 1}, 2)...), append(known.Lower, 2), append(known.Upper, 2)
	for name, c := range map[string]struct {
		set   constraint.Slabs
		state bool
		inner bool // every sample is
	}{
		"a set that does not know the clamp":            {total(), false, false},
		"a set that does not know the clamp, on states": {total(), true, false},
		"a set that does":                               {known, false, true},
	} {
		for _, fill := range []bool{false, true} {
			cfg := diffusion.Config{Steps: 5, Projector: proximal.Projector{Set: c.set}, ProjectState: c.state, ClampReal: []float32{nan, 2}}
			x := make([]float32, 2*20)
			if fill {
				cfg.ClampReal = nil
				for i := range x {
					x[i] = []float32{nan, 2}[i%2]
				}
			}
			d := exact.Must(diffusion.New(context.Background(), energy.Denoiser[float32](model), diffusion.Gaussian{Eta: 1}, cfg))
			draw := d.Sample
			if fill {
				draw = d.Fill
			}
			err := draw(context.Background(), x)
			if c.inner {
				require.NoError(t, err, name)
				for i := 0; i < len(x); i += 2 {
					assert.Equal(t, float32(2), x[i+1])
					assert.InDelta(t, 0, x[i]+x[i+1], 0.25+1e-5)
				}
				continue
			}
			var each diffusion.SampleErrors
			require.ErrorAs(t, err, &each, name)
			for _, err := range each {
				require.ErrorContains(t, err, "site 1 is clamped at 2, and the projection moves it to", name)
			}
		}
	}
}

// A penalty does not push the last, projected state out of the set.
func TestAPenaltyLeavesTheLastProjectionInTheSet(t *testing.T) {
	model := exact.Must(denoise.NewGaussian([]float64{3, 3}, []float64{1, 0.3, 0.3, 1}))
	p := diffusion.Penalised{Set: total(), Weight: 0.4}
	d := exact.Must(diffusion.New(context.Background(), energy.Denoiser[float32](model), p, diffusion.Config{Steps: 6, Projector: proximal.Projector{Set: total()}}))
	x := make([]float32, 2*50)
	require.NoError(t, d.Sample(context.Background(), x))
	for i := 0; i < len(x); i += 2 {
		assert.InDelta(t, 0, x[i]+x[i+1], 0.25+1e-5)
	}
}

// A prediction that is infinite is an error of its sample, as NaN is.
func TestAnInfinitePredictionIsNoSample(t *testing.T) {
	for _, bad := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
		f := energy.DenoiserFunc[float32]{Sites: 2, Levels: 1, F: func(_ context.Context, v []float32, _ energy.Noised[float32]) error {
			for i := range v {
				v[i] = []float32{0, float32(bad)}[i%2]
			}
			return nil
		}}
		for _, p := range []diffusion.Process[float32]{diffusion.Gaussian{}, diffusion.ECI{}} {
			d := exact.Must(diffusion.New(context.Background(), energy.Denoiser[float32](f), p, diffusion.Config{Steps: 1}))
			err := d.Sample(context.Background(), make([]float32, 2))
			var prediction *diffusion.PredictionError
			require.ErrorAs(t, err, &prediction, "%T, %v", p, bad)
			assert.Equal(t, 1, prediction.Site)
			assert.Contains(t, err.Error(), "the prediction for site 1 has a value that is NaN or +Inf (or -Inf, for reals)")
		}
	}
}

// Clamped entries are finite.
func TestAnInfiniteClampIsRefused(t *testing.T) {
	inf := float32(math.Inf(1))
	model := exact.Must(denoise.NewGaussian([]float64{0, 0}, []float64{1, 0.3, 0.3, 1}))
	_, err := diffusion.New(context.Background(), energy.Denoiser[float32](model), diffusion.Gaussian{}, diffusion.Config{ClampReal: []float32{0, inf}})
	require.ErrorContains(t, err, "Config.ClampReal = [0 +Inf], want finite entries")
	d := exact.Must(diffusion.New(context.Background(), energy.Denoiser[float32](model), diffusion.Gaussian{}, diffusion.Config{}))
	require.ErrorContains(t, d.Fill(context.Background(), []float32{0, -inf}), "x[1] = -Inf, want a finite number")
}
