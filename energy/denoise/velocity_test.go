package denoise_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
)

// The exact velocity of a Gaussian on straight paths is its exact denoiser: with
// x_0 ~ N(m, c), z = (1−s)x_0 + sε has E[ε − x_0 | z] from Cov(ε − x_0, z) = s − (1−s)c.
func TestVelocityConverts(t *testing.T) {
	mean, variance := []float64{0.5, -1}, []float64{2, 0.25}
	velocity := energy.DenoiserFunc[float32]{Sites: 2, Levels: 1, F: func(_ context.Context, v []float32, q energy.Noised[float32]) error {
		for i, z := range q.X {
			s, m, c := q.Time[i/2], mean[i%2], variance[i%2]
			v[i] = float32(-m + (s-(1-s)*c)/((1-s)*(1-s)*c+s*s)*(float64(z)-(1-s)*m))
		}
		return nil
	}}
	exact, err := denoise.NewGaussian(mean, []float64{variance[0], 0, 0, variance[1]})
	require.NoError(t, err)
	alphas := []float64{1, 0.99, 0.5, 0.1, 1e-4, 0}
	q := energy.Noised[float32]{Alpha: alphas, Time: make([]float64, 6), Sample: make([]int, 6), Src: make([]rand.Source, 6)}
	for i := range 12 {
		q.X = append(q.X, float32(math.Sin(float64(i*i))))
	}
	shown := append([]float32(nil), q.X...)
	got, want := make([]float32, 12), make([]float32, 12)
	p := denoise.Velocity{Denoiser: velocity}
	require.NoError(t, p.Denoise(context.Background(), got, q))
	require.NoError(t, exact.Denoise(context.Background(), want, q))
	assert.InDeltaSlice(t, want, got, 2e-6)
	assert.Equal(t, shown, q.X, "the states of the caller")
	assert.Equal(t, make([]float64, 6), q.Time)

	q.Clean = make([]bool, 12)
	q.Clean[3] = true
	require.NoError(t, p.Denoise(context.Background(), want, q))
	assert.Equal(t, q.X[3], want[3])
	assert.Equal(t, got[2], want[2])

	q.Alpha = []float64{1, 0.5, 0.5, 1.5, 0, 0}
	assert.EqualError(t, p.Denoise(context.Background(), got, q), "denoise: Velocity: state 3: ᾱ = 1.5, want 0 … 1")
	assert.ErrorContains(t, denoise.Velocity{}.Denoise(context.Background(), got, q), "denoise: Velocity")
}

// constantSlope is a velocity 2z_0 + z_1, 3z_1 with its products.
type constantSlope struct{ fail error }

func (constantSlope) Shape() (sites, levels int) { return 2, 1 }

func (c constantSlope) Denoise(_ context.Context, v []float32, q energy.Noised[float32]) error {
	for i := 0; i < len(v); i += 2 {
		v[i], v[i+1] = 2*q.X[i]+q.X[i+1], 3*q.X[i+1]
	}
	return c.fail
}

func (c constantSlope) Pullback(ctx context.Context, v, dst, rows []float32, q energy.Noised[float32]) error {
	for i := 0; i < len(rows); i += 2 {
		dst[i], dst[i+1] = 2*rows[i], rows[i]+3*rows[i+1]
	}
	return c.Denoise(ctx, v, q)
}

// The products of a denoiser of velocities by hand: J = (I − s·∂û/∂z)/c with
// c = √ᾱ + √(1−ᾱ), s = √(1−ᾱ)/c.
func TestPullbackOfAVelocity(t *testing.T) {
	ctx := context.Background()
	q := energy.Noised[float32]{X: []float32{1, 2, -1, 4}, Alpha: []float64{0.36, 1}, Time: make([]float64, 2), Sample: make([]int, 2), Src: make([]rand.Source, 2)}
	rows := []float32{1, 0, 0, 1, 1, 0, 0, 1} // two of each state
	m, ok := energy.As[denoise.Differentiable](&denoise.Velocity{Denoiser: constantSlope{}})
	require.True(t, ok)
	v, want, dst := make([]float32, 4), make([]float32, 4), make([]float32, 8)
	require.NoError(t, m.Pullback(ctx, v, dst, rows, q))
	require.NoError(t, denoise.Velocity{Denoiser: constantSlope{}}.Denoise(ctx, want, q))
	assert.Equal(t, want, v)
	const c, s = 1.4, 0.8 / 1.4
	assert.InDeltaSlice(t, []float32{(1 - s*2) / c, -s / c, 0, (1 - s*3) / c, 1, 0, 0, 1}, dst, 1e-6)
	q.Clean = []bool{false, true, false, false}
	require.NoError(t, m.Pullback(ctx, v, dst, rows, q))
	assert.Equal(t, float32(2), v[1])
	assert.InDeltaSlice(t, []float32{(1 - s*2) / c, -s, 0, 1}, dst[:4], 1e-6) // what is known is shown as it is
	assert.Panics(t, func() { _ = m.Pullback(ctx, v, dst[:4], rows, q) })
	m, _ = energy.As[denoise.Differentiable](denoise.Velocity{Denoiser: constantSlope{errors.New("out of order")}})
	assert.EqualError(t, m.Pullback(ctx, v, dst, rows, q), "out of order")
	q.Alpha[0] = -1
	assert.ErrorContains(t, m.Pullback(ctx, v, dst, rows, q), "denoise: Velocity: state 0: ᾱ = -1")
	_, ok = energy.As[denoise.Differentiable](denoise.Velocity{})
	assert.False(t, ok)
}
