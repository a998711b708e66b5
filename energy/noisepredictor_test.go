package energy_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
)

func TestNoisePredictorConverts(t *testing.T) {
	noise := energy.DenoiserFunc[float32]{Sites: 2, Levels: 1, F: func(_ context.Context, v []float32, q energy.Noised[float32]) error {
		v[0], v[1] = 0.5, -1
		return nil
	}}
	v := make([]float32, 2)
	x := []float32{1, 2}
	require.NoError(t, energy.NoisePredictor{Denoiser: noise}.Denoise(context.Background(), v, energy.Noised[float32]{X: x, Alpha: []float64{0.36}, Time: []float64{0.64}, Sample: []int{0}, Src: make([]rand.Source, 1), Clean: []bool{false, true}}))
	assert.InDelta(t, (1-0.8*0.5)/0.6, v[0], 1e-6)
	assert.Equal(t, float32(2), v[1])
}
