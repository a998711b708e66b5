package sampler_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Where clean samples are N(0, 1) the wide noise keeps x_t at N(0, 1) whatever
// the number of steps; the prediction √ᾱ·x of the last step is the sample. The
// narrow noise of η = 1 falls short.
func TestGaussianWide(t *testing.T) {
	const samples, steps = 40000, 6
	unit := energy.DenoiserFunc[float32]{Sites: 1, Levels: 1, F: func(_ context.Context, v []float32, q energy.Noised[float32]) error {
		for s, a := range q.Alpha {
			v[s] = float32(math.Sqrt(a) * float64(q.X[s]))
		}
		return nil
	}}
	run := func(p sampler.Gaussian) []int {
		d, err := sampler.NewDiffusion(unit, sampler.Process[float32](p), sampler.DiffusionConfig{Steps: steps, Batch: 1000, Seed: 3})
		require.NoError(t, err)
		x := make([]float32, samples)
		require.NoError(t, d.Sample(context.Background(), x))
		return exact.Bins(x, 1)
	}
	cosine := sampler.CosineBar{}
	law := exact.Binned(distuv.Normal{Mu: 0, Sigma: math.Sqrt(cosine.Alpha(1.0 / steps))}.CDF)
	exact.Counts(t, run(sampler.Gaussian{Eta: 1, Wide: true, Schedule: cosine}), law, 1e-6)
	require.Less(t, exact.PValue(run(sampler.Gaussian{Eta: 1, Schedule: cosine}), law), 1e-6)
	_, err := sampler.NewDiffusion(unit, sampler.Process[float32](sampler.Gaussian{Wide: true}), sampler.DiffusionConfig{})
	require.ErrorContains(t, err, "want 1 where Wide is set")
}
