package diffusion_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// together predicts tokens for whole batches only. Its first prediction for sample 0 is none.
type together struct{ batch int }

func (together) Shape() (sites, levels int) { return 2, 3 }

func (d together) Denoise(_ context.Context, v []float32, q energy.Noised[int32]) error {
	if len(q.Time) < d.batch {
		return errors.New("a sample is missing")
	}
	for i := range v {
		v[i] = 0
	}
	for i := range 6 {
		v[i] = float32(math.Inf(-1))
	}
	return nil
}

// If a denoiser fails because a sample has failed before, the error of that sample is not lost.
func TestFirstFault(t *testing.T) {
	d, err := diffusion.New[int32](context.Background(), together{4}, diffusion.Uniform{}, diffusion.Config{Steps: 8, Batch: 4, Seed: 1})
	require.NoError(t, err)
	err = d.Sample(context.Background(), make([]int32, 8))
	require.ErrorContains(t, err, "a sample is missing; before that: diffusion: Runner: sample 0, step 0")
}
