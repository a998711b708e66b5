package diffusion

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// random is a denoiser whose log-weights are random but fixed for a state.
func random(sites, levels int, seed uint64) energy.DenoiserFunc[int32] {
	return energy.DenoiserFunc[int32]{Sites: sites, Levels: levels, IgnoresTime: true, F: func(_ context.Context, v []float32, q energy.Noised[int32]) error {
		size := sites * levels
		for s := range q.Time {
			h := seed
			for _, l := range q.X[s*sites : (s+1)*sites] {
				h = h*31 + uint64(l)
			}
			r := rand.New(rand.NewPCG(h, 1))
			for i := range size {
				v[s*size+i] = float32(5 * r.NormFloat64())
			}
		}
		return nil
	}}
}

// Whatever the shape, the process and the clamps: levels are in range, no mask
// survives, clamps hold, and workers and batches change nothing.
func TestDiffusionProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sites, levels := rapid.IntRange(1, 12).Draw(t, "sites"), rapid.IntRange(2, 9).Draw(t, "levels")
		mask := int32(rapid.IntRange(0, levels-1).Draw(t, "mask"))
		schedule := rapid.SampledFrom([]noise.Schedule{nil, noise.Cosine{}, noise.CosineSquared{}, noise.LinearSigma{}, noise.GeometricSigma{}}).Draw(t, "schedule")
		process := rapid.SampledFrom([]Process[int32]{
			Masked{Mask: mask, Schedule: schedule}, Masked{Mask: mask, Schedule: schedule, FirstHitting: true},
			Remask{Mask: mask, Schedule: schedule, Rule: RemaskLoop}, Remask{Mask: mask, Schedule: schedule, Rule: RemaskConfidence, Eta: 1},
			Ordered{Mask: mask, Schedule: schedule, Block: 1 + sites/3, Score: ScoreMargin}, Uniform{Schedule: schedule},
		}).Draw(t, "process")
		_, uniform := process.(Uniform)
		n := rapid.IntRange(0, 7).Draw(t, "samples")
		given := make([]int32, n*sites)
		for i := range given {
			given[i] = int32(rapid.IntRange(-1, levels-1).Draw(t, "given"))
			if given[i] == mask && !uniform {
				given[i] = -1
			}
		}
		cfg := Config{Steps: rapid.IntRange(1, 9).Draw(t, "steps"), Seed: rapid.Uint64().Draw(t, "seed"), Workers: 1, Batch: 1}
		model := random(sites, levels, cfg.Seed)
		fill := func(cfg Config) []int32 {
			d, err := New(context.Background(), model, process, cfg)
			require.NoError(t, err)
			x := append([]int32(nil), given...)
			require.NoError(t, d.Fill(context.Background(), x))
			require.Equal(t, n, d.Len())
			return x
		}
		x := fill(cfg)
		for i, l := range x {
			require.True(t, l >= 0 && int(l) < levels)
			require.True(t, uniform || l != mask)
			require.True(t, given[i] < 0 || l == given[i])
		}
		cfg.Workers, cfg.Batch = rapid.IntRange(1, 4).Draw(t, "workers"), rapid.IntRange(1, 9).Draw(t, "batch")
		require.Equal(t, x, fill(cfg))
	})
}
