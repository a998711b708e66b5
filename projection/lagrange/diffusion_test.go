package lagrange_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/projection/lagrange"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// A diffusion under a score ends in sequences that satisfy it, whatever became of
// tokens on the way, and as many workers as one likes give the same.
func TestKLInADiffusion(t *testing.T) {
	const sites, levels = 8, 3
	m, err := model.NewMarkov(sites, levels, 1, []float64{.6, .3, .1}, []float64{
		.7, .2, .1,
		.5, .4, .1,
		.4, .3, .3,
	})
	require.NoError(t, err)
	model, err := denoise.NewMarkov(m, denoise.Noisy)
	require.NoError(t, err)
	set := constraint.Count{Levels: []int32{2}, Min: 4, Max: 5}
	draw := func(workers int) []int32 {
		d, err := diffusion.New(context.Background(), model, diffusion.Uniform{}, diffusion.Config{
			Steps: 12, Seed: 3, Workers: workers,
			Projector: lagrange.Projector{Constraint: set.Linear(sites, levels)},
		})
		require.NoError(t, err)
		x := make([]int32, 200*sites)
		require.NoError(t, d.Sample(t.Context(), x))
		return x
	}
	x := draw(1)
	for i := 0; i < len(x); i += sites {
		assert.True(t, constraint.Accepts(set, x[i:i+sites]), "%v", x[i:i+sites])
	}
	assert.Equal(t, x, draw(3))
}
