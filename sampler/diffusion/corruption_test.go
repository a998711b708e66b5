package diffusion_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/scored"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/unmask"
)

// A denoiser that knows its mask is run under a process with that mask only, also
// behind wrappers: another one gave samples of another distribution.
func TestMaskIsTheDenoisers(t *testing.T) {
	m, err := model.NewIndependent(make([]float64, 6), 3)
	require.NoError(t, err)
	masked, err := denoise.NewIndependent(m, denoise.Absorbing)
	require.NoError(t, err)
	noisy, err := denoise.NewIndependent(m, denoise.Noisy)
	require.NoError(t, err)

	const other = "masked by level 3, want that as Mask"
	for name, c := range map[string]struct {
		d    energy.Denoiser[int32]
		p    diffusion.Process[int32]
		want string
	}{
		"same":            {masked, diffusion.Masked{Mask: 3}, ""},
		"ordered":         {masked, diffusion.Ordered{Mask: 3}, ""},
		"uniform":         {noisy, diffusion.Uniform{}, ""},
		"other":           {masked, diffusion.Masked{}, other},
		"other, ordered":  {masked, diffusion.Ordered{Mask: 1}, other},
		"other, remasked": {masked, diffusion.Remask{Mask: 1}, other},
		"other, planned":  {masked, unmask.EntropyBound{Mask: 1}, other},
		"none":            {masked, diffusion.Uniform{}, "masked by level 3, and the process has no mask"},
		"too many":        {noisy, diffusion.Masked{Mask: 2}, "replaced by others, and the process masks them"},
		"tempered":        {denoise.Tempered{Denoiser: masked}, diffusion.Masked{Mask: 1}, other},
		"tempered, same":  {&denoise.Tempered{Denoiser: masked}, diffusion.Masked{Mask: 3}, ""},
		"guided":          {diffusion.ClassifierFree{Conditional: masked, Unconditional: masked}, diffusion.Masked{}, other},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := diffusion.New(context.Background(), c.d, c.p, diffusion.Config{Steps: 2})
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}

	_, err = scored.New(context.Background(), masked, diffusion.Masked{Mask: 1}, scored.Config{Judge: constraint.Linear{A: []constraint.Row{{Index: []int32{0}, Value: []float64{1}}}, B: []float64{9}}})
	require.ErrorContains(t, err, other)
	_, err = denoise.NewMetered(masked, 1, 0)
	require.ErrorContains(t, err, "mask = 1, want 3, the denoiser's")
}

// A network says nothing about its mask; where all it predicts is one that the
// process does not have, the error asks.
func TestPredictionOfTheMaskAlone(t *testing.T) {
	never := float32(math.Inf(-1))
	d := energy.DenoiserFunc[int32]{Sites: 2, Levels: 3, F: func(_ context.Context, v []float32, _ energy.Noised[int32]) error {
		copy(v, []float32{never, never, 0, never, never, 0})
		return nil
	}}
	r, err := diffusion.New[int32](context.Background(), d, diffusion.Masked{Mask: 2}, diffusion.Config{Batch: 1})
	require.NoError(t, err)
	require.ErrorContains(t, r.Sample(context.Background(), make([]int32, 2)), "is Mask the denoiser's?")
}
