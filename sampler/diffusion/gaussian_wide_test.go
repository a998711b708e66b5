package diffusion_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// Where clean samples are N(0, 1) the wide noise keeps x_t at N(0, 1) whatever
// the number of steps; the prediction √ᾱ·x of the last step is the sample. The
// narrow noise of η = 1 falls short.
func TestGaussianWide(t *testing.T) {
	exact.SkipUnderRace(t)
	const samples, steps = 40000, 6
	unit := energy.DenoiserFunc[float32]{Sites: 1, Levels: 1, F: func(_ context.Context, v []float32, q energy.Noised[float32]) error {
		for s, a := range q.Alpha {
			v[s] = float32(math.Sqrt(a) * float64(q.X[s]))
		}
		return nil
	}}
	run := func(p diffusion.Gaussian) []int {
		d, err := diffusion.New(context.Background(), unit, diffusion.Process[float32](p), diffusion.Config{Steps: steps, Batch: 1000, Seed: 3, Workers: 1})
		require.NoError(t, err)
		x := make([]float32, samples)
		require.NoError(t, d.Sample(context.Background(), x))
		return exact.Bins(x, 1)
	}
	cosine := noise.CosineBar{}
	law := exact.Binned(distuv.Normal{Mu: 0, Sigma: math.Sqrt(cosine.Alpha(1.0 / steps))}.CDF)
	exact.Counts(t, run(diffusion.Gaussian{Eta: 1, Wide: true, Schedule: cosine}), law, 1e-6)
	require.Less(t, exact.PValue(run(diffusion.Gaussian{Eta: 1, Schedule: cosine}), law), 1e-6)
	_, err := diffusion.New(context.Background(), unit, diffusion.Process[float32](diffusion.Gaussian{Wide: true}), diffusion.Config{})
	require.ErrorContains(t, err, "want 1 where Wide is set")
}
