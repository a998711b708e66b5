package unlearn_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual/unlearn"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/stretchr/testify/require"
)

// survivals draws from a without its tokens, and returns the estimates 1 − ∏(1 − h).
func survivals(t *testing.T, a *unlearn.Avoiding, p diffusion.Masked, n int) (x []int32, left []float64) {
	t.Helper()
	sites, _ := a.Shape()
	d := exact.Must(diffusion.New(t.Context(), energy.Denoiser[int32](a), diffusion.Process[int32](p), diffusion.Config{Seed: 5, Steps: 40}))
	x, left = make([]int32, n*sites), make([]float64, n)
	require.NoError(t, d.Sample(t.Context(), x))
	a.LogSurvival(left, x)
	for s, v := range left {
		left[s] = -math.Expm1(v)
	}
	return x, left
}

// The probability of a token by enumeration, and by the survival of samples without it:
// with half of the binomial's deviation at least.
func TestAvoiding(t *testing.T) {
	exact.SkipUnderRace(t)
	q, _ := four()
	p := table(q)
	dq := exact.Must(denoise.NewTable(q, denoise.Absorbing))
	for _, tokens := range [][]int32{{2}, {0, 2}} {
		want := 0.0
		for k, x := range exact.States(4, 3) {
			if slices.ContainsFunc(x, func(l int32) bool { return slices.Contains(tokens, l) }) {
				want += p[k]
			}
		}
		for name, process := range map[string]diffusion.Masked{"one by one": {Mask: 3, FirstHitting: true}, "on a grid": {Mask: 3}} {
			a := exact.Must(unlearn.NewAvoiding(dq, 3, tokens...))
			x, left := survivals(t, a, process, 4000)
			for _, l := range x {
				require.NotContains(t, tokens, l)
			}
			mean, squares := 0.0, 0.0
			for _, v := range left {
				mean += v / 4000
				squares += v * v / 4000
			}
			se := math.Sqrt((squares - mean*mean) / 4000)
			t.Logf("%v %s: %.4f ± %.4f, exactly %.4f", tokens, name, mean, se, want)
			if process.FirstHitting { // a grid of 40 steps reveals some tokens together
				require.InDelta(t, want, mean, 4.9*se)
				require.Greater(t, math.Abs(want-mean/2), 4.9*se)
			} else {
				require.InDelta(t, want, mean, 4.9*se+0.02)
			}
			require.Less(t, se, 0.9*math.Sqrt(want*(1-want)/4000))
		}
	}
}

// Where a token cannot be avoided the sample has it, and does not survive.
func TestAvoidingTheInevitable(t *testing.T) {
	always := energy.DenoiserFunc[int32]{Sites: 2, Levels: 3, F: func(_ context.Context, v []float32, q energy.Noised[int32]) error {
		for i := range v {
			v[i] = float32(math.Inf(-1))
			if i%3 == 1 {
				v[i] = 0
			}
		}
		return nil
	}}
	x, left := survivals(t, exact.Must(unlearn.NewAvoiding(always, 2, 1)), diffusion.Masked{Mask: 2, FirstHitting: true}, 3)
	require.Equal(t, []int32{1, 1, 1, 1, 1, 1}, x)
	require.Equal(t, []float64{1, 1, 1}, left)
}

func TestAvoidingErrors(t *testing.T) {
	q, _ := four()
	dq := exact.Must(denoise.NewTable(q, denoise.Absorbing))
	for want, err := range map[string]error{
		"q = nil":                   exact.Error(unlearn.NewAvoiding(nil, 3, 1)),
		"mask = 4 of 4 levels":      exact.Error(unlearn.NewAvoiding(dq, 4, 1)),
		"tokens[0] = 3, want 0 … 3": exact.Error(unlearn.NewAvoiding(dq, 3, 3)),
		"tokens[1] = -1":            exact.Error(unlearn.NewAvoiding(dq, 3, 1, -1)),
		"0 tokens of 4 levels":      exact.Error(unlearn.NewAvoiding(dq, 3)),
		"one that is left":          exact.Error(unlearn.NewAvoiding(dq, 3, 0, 1, 2, 2)),
		"without a projector":       exact.Must(unlearn.NewAvoiding(dq, 3, 1)).Denoise(t.Context(), make([]float32, 16), energy.Noised[int32]{X: []int32{3, 3, 3, 3}, Time: []float64{1}, Alpha: []float64{0}}),
		"Noised.Sample = nil, want": exact.Must(unlearn.NewAvoiding(dq, 3, 1)).Denoise(t.Context(), make([]float32, 16), energy.Noised[int32]{X: []int32{3, 3, 3, 3}, Time: []float64{1}, Alpha: []float64{0}, Reveals: energy.RevealsOne}),
		"process has no mask":       exact.Error(diffusion.New(t.Context(), energy.Denoiser[int32](exact.Must(unlearn.NewAvoiding(dq, 3, 1))), diffusion.Process[int32](diffusion.Uniform{}), diffusion.Config{})),
	} {
		require.ErrorContains(t, err, want)
	}
	a := exact.Must(unlearn.NewAvoiding(dq, 3, 1))
	require.Panics(t, func() { a.LogSurvival(make([]float64, 1), make([]int32, 4)) })
}

// How often words of four fair letters have a 1, from words that have none.
func ExampleAvoiding() {
	a, err := unlearn.NewAvoiding(words(0), 2, 1)
	if err != nil {
		log.Fatal(err)
	}
	d, err := diffusion.New(context.Background(), energy.Denoiser[int32](a), diffusion.Process[int32](diffusion.Masked{Mask: 2, FirstHitting: true}), diffusion.Config{})
	if err != nil {
		log.Fatal(err)
	}
	x, survived := make([]int32, 4), make([]float64, 1)
	if err := d.Sample(context.Background(), x); err != nil {
		log.Fatal(err)
	}
	a.LogSurvival(survived, x)
	fmt.Printf("%v: a word has a 1 with probability %.4f\n", x, 1-math.Exp(survived[0]))
	// Output: [0 0 0 0]: a word has a 1 with probability 0.9375
}
