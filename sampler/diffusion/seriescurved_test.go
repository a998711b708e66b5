package diffusion_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint/series"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection/proximal"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/distance"
)

// An autocorrelation, which is not convex, beside the order of prices and a
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
