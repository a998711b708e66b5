package unlearn_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual/unlearn"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/stretchr/testify/require"
)

// Rejection draws the distributions of the formulations exactly.
func TestRejection(t *testing.T) {
	exact.SkipUnderRace(t)
	u := exact.Must(unlearn.New(known, forgotten))
	// A diffusion is what is drawn from: its method Sample fits.
	words := exact.Must(denoise.NewTable(energy.Func{Sites: 1, Levels: 4, E: func(x []int32) float64 { return -math.Log(known[x[0]]) }}, denoise.Absorbing))
	run := func() *diffusion.Runner[int32] {
		return exact.Must(diffusion.New(t.Context(), energy.Denoiser[int32](words), diffusion.Process[int32](diffusion.Masked{Mask: 4, FirstHitting: true}), diffusion.Config{Seed: 7}))
	}
	ratio := func(x []int32) []float64 { return []float64{forgotten[x[0]] / known[x[0]]} }
	counts := func(accept func(x []int32) float64) ([]int, *unlearn.Rejection[int32]) {
		r := exact.Must(unlearn.NewRejection(1, 64, run().Sample, accept, 0, sampler.NewStream(7, 1<<32)))
		c := make([]int, 4)
		for range 500 {
			require.NoError(t, r.Run(t.Context(), 1))
			for _, x := range r.States() {
				c[x]++
			}
		}
		require.Equal(t, 500, r.Len())
		given := make([]int32, 64)
		require.NoError(t, r.SetStates(given))
		require.Equal(t, given, r.States())
		require.Error(t, r.SetStates(given[:3]))
		return c, r
	}
	forward, r := counts(func(x []int32) float64 { return unlearn.AcceptForward([]float64{0.2}, ratio(x)) })
	p := exact.Must(u.Law(unlearn.ForwardKL, []float64{0.2}))
	exact.Counts(t, forward, p, 1e-6)
	n := 500 * 64 / r.Acceptance()
	// However many states there are, the draws are the same.
	other := exact.Must(unlearn.NewRejection(1, 5, run().Sample, func(x []int32) float64 { return unlearn.AcceptForward([]float64{0.2}, ratio(x)) }, 0, sampler.NewStream(7, 1<<32)))
	whole := exact.Must(unlearn.NewRejection(1, 15, run().Sample, func(x []int32) float64 { return unlearn.AcceptForward([]float64{0.2}, ratio(x)) }, 0, sampler.NewStream(7, 1<<32)))
	require.NoError(t, whole.Run(t.Context(), 1))
	var parts []int32
	for range 3 {
		require.NoError(t, other.Run(t.Context(), 1))
		parts = append(parts, other.States()...)
	}
	require.Equal(t, whole.States(), parts)
	require.InDelta(t, 0.8, r.Acceptance(), 4.9*math.Sqrt(0.8*0.2/n))
	require.Less(t, exact.PValue(forward, known), 1e-6, "q itself is another distribution")

	tilted, _ := counts(func(x []int32) float64 { return unlearn.AcceptLikelihood([]float64{1.5}, ratio(x)) })
	exact.Counts(t, tilted, exact.Must(u.Law(unlearn.LikelihoodRatio, []float64{1.5})), 1e-6)
	require.Less(t, exact.PValue(tilted, p), 1e-6)
}

func TestRejectionErrors(t *testing.T) {
	draw := func(context.Context, []float32) error { return nil }
	build := func(draw func(context.Context, []float32) error, accept float64) error {
		r, err := unlearn.NewRejection(2, 1, draw, func([]float32) float64 { return accept }, 100, rand.NewPCG(1, 2))
		require.NoError(t, err)
		require.Zero(t, r.Acceptance())
		require.NoError(t, r.Reset())
		return r.Run(t.Context(), 1)
	}
	var trials *unlearn.TrialsError
	require.ErrorAs(t, build(draw, math.Inf(-1)), &trials)
	require.Equal(t, 100, trials.Trials)
	require.Contains(t, trials.Error(), "100 trials")
	require.ErrorContains(t, build(draw, 0.1), "want ≤ 0")
	require.ErrorContains(t, build(draw, unlearn.AcceptForward([]float64{0.5}, []float64{3})), "NaN")
	broken := errors.New("broken")
	require.ErrorIs(t, build(func(context.Context, []float32) error { return broken }, 0), broken)
	accept := func([]float32) float64 { return 0 }
	for _, err := range []error{
		exact.Error(unlearn.NewRejection(0, 1, draw, accept, 0, rand.NewPCG(1, 2))),
		exact.Error(unlearn.NewRejection(2, 0, draw, accept, 0, rand.NewPCG(1, 2))),
		exact.Error(unlearn.NewRejection(2, 1, draw, nil, 0, rand.NewPCG(1, 2))),
		exact.Error(unlearn.NewRejection(2, 1, draw, accept, -1, rand.NewPCG(1, 2))),
		exact.Error(unlearn.NewRejection(2, 1, draw, accept, 0, nil)),
	} {
		require.Error(t, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := exact.Must(unlearn.NewRejection(2, 1, draw, accept, 0, rand.NewPCG(1, 2)))
	require.ErrorIs(t, r.Run(ctx, 1), context.Canceled)
}
