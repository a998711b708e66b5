package neural

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// pullbackNet is a network of reals whose states do not fit into one chunk.
func pullbackNet(t *testing.T) (net *Transformer, q energy.Noised[float32]) {
	cfg := shapes["reals"]
	cfg.Length = 48 // 10 states a chunk
	net = randomNet(t, cfg, 3)
	sites := cfg.Length * cfg.Channels
	rng := rand.New(rand.NewPCG(4, 4))
	x := make([]float32, 11*sites)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	q = noised(x, sites, 0.25, 0.36)
	copy(q.Alpha, []float64{0.9, 0.36, 0.1, 0.5, 0.7})
	q.Clean = make([]bool, len(x))
	for i := range q.Clean {
		q.Clean[i] = rng.IntN(5) == 0
	}
	return net, q
}

// The products are differences (of fourth order) of the predictions along random directions,
// uᵀ(Jw) = (uᵀJ)w, of a network of means and of velocities, with and without
// entries that are known. The product of J itself with u, in place of its transpose,
// fails.
func TestPullbackIsTheDerivativeOfDenoise(t *testing.T) {
	ctx := context.Background()
	net, q := pullbackNet(t)
	reals := exact.Must(NewReals(net, Options{Workers: 2}))
	known := q.Clean
	for name, d := range map[string]energy.Denoiser[float32]{
		"mean": reals, "velocity": &denoise.Velocity{Denoiser: reals},
	} {
		for _, q.Clean = range [][]bool{nil, known} {
			m, ok := energy.As[denoise.Differentiable](d)
			require.True(t, ok, name)
			sites, _ := m.Shape()
			states := len(q.X) / sites
			const per = 3
			rng := rand.New(rand.NewPCG(7, 7))
			rows, w := make([]float32, states*per*sites), make([]float64, len(q.X))
			for i := range rows {
				rows[i] = float32(rng.NormFloat64())
			}
			for i := range w {
				w[i] = rng.NormFloat64()
			}
			v, dst, plain := make([]float32, len(q.X)), make([]float32, len(rows)), make([]float32, len(q.X))
			require.NoError(t, m.Pullback(ctx, v, dst, rows, q))
			require.NoError(t, d.Denoise(ctx, plain, q))
			assert.InDeltaSlice(t, plain, v, 1e-4, name)

			const h = 2e-3
			moved := [4][]float32{}
			for k, sign := range [4]float64{1, -1, 2, -2} {
				moved[k] = make([]float32, len(v))
				at := q
				at.X = make([]float32, len(q.X))
				for i, x := range q.X {
					at.X[i] = float32(float64(x) + sign*h*w[i])
				}
				require.NoError(t, d.Denoise(ctx, moved[k], at))
			}
			broken := 0
			for s := range states {
				for k := range per {
					want, got, twin, size := 0.0, 0.0, 0.0, 0.0
					for j := range sites {
						i, r := s*sites+j, (s*per+k)*sites+j
						near, far := float64(moved[0][i])-float64(moved[1][i]), float64(moved[2][i])-float64(moved[3][i])
						slope := (8*near - far) / (12 * h)
						want += float64(rows[r]) * slope
						got += float64(dst[r]) * w[i]
						twin += float64(dst[(s*per+(k+1)%per)*sites+j]) * w[i]
						size += slope * slope
					}
					assert.InDelta(t, want, got, 5e-3*(1+math.Sqrt(size)), "%s, state %d, row %d", name, s, k)
					if math.Abs(want-twin) > 5e-3*(1+math.Sqrt(size)) {
						broken++
					}
				}
			}
			assert.Greater(t, broken, states*per/2, "another row's products must fail")
		}
	}
}

func TestPullbacksDoNotDependOnWorkersAndDoNotAllocate(t *testing.T) {
	ctx := context.Background()
	net, q := pullbackNet(t)
	rows := make([]float32, 2*len(q.X))
	for i := range rows {
		rows[i] = float32(math.Sin(float64(i)))
	}
	var want []float32
	for _, workers := range []int{1, 3} {
		d := denoise.Velocity{Denoiser: exact.Must(NewReals(net, Options{Workers: workers}))}
		m, _ := energy.As[denoise.Differentiable](d)
		v, dst := make([]float32, len(q.X)), make([]float32, len(rows))
		require.NoError(t, m.Pullback(ctx, v, dst, rows, q))
		if want == nil {
			want = dst
		}
		assert.Equal(t, want, dst)
		if !exact.Race {
			exact.Steady(t, "pullback", func() { _ = m.Pullback(ctx, v, dst, rows, q) })
		}
	}
}

func TestPullbackRefuses(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	net, q := pullbackNet(t)
	d := exact.Must(NewReals(net, Options{Level: func(t, _ float64) float64 { return math.Log(t) }}))
	v, rows := make([]float32, len(q.X)), make([]float32, len(q.X))
	assert.PanicsWithValue(t, "neural: len(dst) = 1, want 1056", func() { _ = d.Pullback(ctx, v, v[:1], rows, q) })
	assert.Panics(t, func() { _ = d.Pullback(ctx, v, v[:1], rows[:1], q) })
	assert.NoError(t, d.Pullback(ctx, v, nil, nil, q))
	q.Time[3] = 0
	assert.ErrorContains(t, d.Pullback(ctx, v, v, rows, q), "neural: Reals: state 3: Level(t = 0")
	q.Alpha[2] = 2
	m, _ := energy.As[denoise.Differentiable](denoise.Velocity{Denoiser: d})
	assert.ErrorContains(t, m.Pullback(ctx, v, make([]float32, len(v)), rows, q), "denoise: Velocity: state 2: ᾱ = 2")
	stop()
	assert.ErrorIs(t, d.Pullback(ctx, v, v, rows, q), context.Canceled)
	_, ok := energy.As[denoise.Differentiable](denoise.Velocity{Denoiser: energy.DenoiserFunc[float32]{}})
	assert.False(t, ok)
	pass := net.NewPass(1)
	assert.Panics(t, func() { pass.InputGradient(nil) })
}
