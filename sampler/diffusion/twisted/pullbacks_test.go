package twisted_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/twisted"
)

// plain is a denoiser that says nothing of its covariance.
type plain struct{ energy.Denoiser[float32] }

// pulled is a mixture that has products with its Jacobian, √ᾱ/(1−ᾱ)·Cov, times
// factor.
type pulled struct {
	plain
	mixture *denoise.Mixture
	factor  float64
	fail    error
}

func (p pulled) Pullback(ctx context.Context, v, dst, rows []float32, q energy.Noised[float32]) error {
	if err := p.Denoise(ctx, v, q); err != nil || p.fail != nil {
		return errors.Join(err, p.fail)
	}
	n, _ := p.Shape()
	mean, u, out := make([]float64, n), make([]float64, n), make([]float64, n)
	per := len(rows) / len(q.X)
	for s := range q.Alpha {
		for at := s * per * n; at < (s+1)*per*n; at += n {
			for j := range u {
				u[j] = float64(rows[at+j])
			}
			if _, err := p.mixture.Moments(mean, out, u, q.X[s*n:(s+1)*n], q.Alpha[s]); err != nil {
				return err
			}
			for j, x := range out {
				dst[at+j] = float32(p.factor * math.Sqrt(q.Alpha[s]) / (1 - q.Alpha[s]) * x)
			}
		}
	}
	return nil
}

// A denoiser with products draws what one does whose predictions are differenced, and,
// where products are asked for in all directions, what one does that knows its
// covariance; a denoiser with wrong products does neither.
func TestPullbacksTakeThePlaceOfDifferences(t *testing.T) {
	m, set, _ := uneven(t)
	d := denoiser(t, m)
	const samples = 20
	run := func(model energy.Denoiser[float32], full bool) []float32 {
		s, err := twisted.New(t.Context(), model, set, twisted.Config{Schedule: schedule, Steps: 40, Particles: 4, Seed: 5, Full: full})
		require.NoError(t, err)
		x := make([]float32, 2*samples)
		require.NoError(t, s.Sample(t.Context(), x))
		return x
	}
	far := func(x, y []float32) (share float64) {
		for i := range x {
			if math.Abs(float64(x[i])-float64(y[i])) > 0.02 {
				share += 1 / float64(len(x))
			}
		}
		return share
	}
	right := pulled{plain{d}, d, 1, nil}
	wrong := pulled{plain{d}, d, 0.5, nil}
	for _, model := range []energy.Denoiser[float32]{right, &right} {
		require.LessOrEqual(t, far(run(plain{d}, false), run(model, false)), 0.1) // a particle may be chosen otherwise
		require.LessOrEqual(t, far(run(d, true), run(model, true)), 0.1)
	}
	require.Greater(t, far(run(plain{d}, false), run(wrong, false)), 0.3)
	require.Greater(t, far(run(d, true), run(wrong, true)), 0.3)

	s, err := twisted.New(t.Context(), pulled{plain{d}, d, 1, errors.New("out of order")}, set, twisted.Config{Schedule: schedule})
	require.NoError(t, err)
	require.EqualError(t, s.Sample(t.Context(), make([]float32, 2)), "twisted: cloud 0: step 0: out of order")
	s, err = twisted.New(t.Context(), pulled{plain{d}, d, math.NaN(), nil}, set, twisted.Config{Schedule: schedule})
	require.NoError(t, err)
	require.Error(t, s.Sample(t.Context(), make([]float32, 2)))
}

// linear is a network of velocities with constant products.
type linear struct{ energy.DenoiserFunc[float32] }

func (l linear) Pullback(ctx context.Context, v, dst, rows []float32, q energy.Noised[float32]) error {
	for i, x := range rows {
		dst[i] = -x
	}
	return l.Denoise(ctx, v, q)
}

// A step with products allocates nothing.
func TestStepsWithPullbacksAllocateNothing(t *testing.T) {
	if exact.Race {
		t.Skip("the race detector allocates")
	}
	_, set, _ := uneven(t)
	l := linear{energy.DenoiserFunc[float32]{Sites: 2, Levels: 1, F: func(_ context.Context, v []float32, q energy.Noised[float32]) error {
		for i, x := range q.X {
			v[i] = -x
		}
		return nil
	}}}
	count := func(steps int) float64 {
		s, err := twisted.New(t.Context(), denoise.Velocity{Denoiser: l}, set, twisted.Config{Schedule: schedule, Steps: steps, Particles: 8, Workers: 1})
		require.NoError(t, err)
		x := make([]float32, 2)
		return testing.AllocsPerRun(5, func() { _ = s.Sample(context.Background(), x) })
	}
	require.LessOrEqual(t, count(30), count(10)+1)
}
