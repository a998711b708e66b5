package unlearn_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual/unlearn"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/stretchr/testify/require"
)

// Rejection draws the distributions of the formulations exactly.
func TestRejection(t *testing.T) {
	exact.SkipUnderRace(t)
	u := exact.Must(unlearn.New(known, forgotten))
	draw := func(x []int32, src rand.Source) error {
		v := rand.New(src).Float64()
		for k, q := range known {
			if v -= q; v < 0 {
				x[0] = int32(k)
				return nil
			}
		}
		x[0] = 3
		return nil
	}
	ratio := func(x []int32) []float64 { return []float64{forgotten[x[0]] / known[x[0]]} }
	counts := func(accept func(x []int32) float64) ([]int, *unlearn.Rejection[int32]) {
		var src []rand.Source
		for k := range 64 {
			src = append(src, sampler.NewStream(7, uint64(k)))
		}
		r := exact.Must(unlearn.NewRejection(1, draw, accept, 0, src...))
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
	require.InDelta(t, 0.8, r.Acceptance(), 4.9*math.Sqrt(0.8*0.2/n))
	require.Less(t, exact.PValue(forward, known), 1e-6, "q itself is another distribution")

	tilted, _ := counts(func(x []int32) float64 { return unlearn.AcceptLikelihood([]float64{1.5}, ratio(x)) })
	exact.Counts(t, tilted, exact.Must(u.Law(unlearn.LikelihoodRatio, []float64{1.5})), 1e-6)
	require.Less(t, exact.PValue(tilted, p), 1e-6)
}

func TestRejectionErrors(t *testing.T) {
	draw := func(x []float32, src rand.Source) error { return nil }
	build := func(draw func([]float32, rand.Source) error, accept float64) error {
		r, err := unlearn.NewRejection(2, draw, func([]float32) float64 { return accept }, 100, rand.NewPCG(1, 2))
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
	require.ErrorIs(t, build(func([]float32, rand.Source) error { return broken }, 0), broken)
	_, err := unlearn.NewRejection(0, draw, func([]float32) float64 { return 0 }, 0, rand.NewPCG(1, 2))
	require.Error(t, err)
}
