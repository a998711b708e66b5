package denoise_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/stretchr/testify/require"
)

// wayward is a denoiser of three tokens of two letters and the mask 2 whose predictions are
// no conditionals of one distribution, as those of a network are not.
func wayward() energy.Denoiser[int32] {
	return energy.DenoiserFunc[int32]{Sites: 3, Levels: 3, IgnoresTime: true, F: func(_ context.Context, v []float32, q energy.Noised[int32]) error {
		for s := range q.Time {
			x := q.X[3*s : 3*s+3]
			for i := range x {
				h := float32(0.3 * float64(i))
				for j, l := range x {
					if j != i && l != 2 {
						h += float32(0.7*float64(j+1)-0.9*float64(l)) * float32(1+i)
					}
				}
				copy(v[(3*s+i)*3:], []float32{1, 1 + h, 5}) // and a log-weight of the mask, which counts for nothing
			}
		}
		return nil
	}}
}

// truth returns what a masked diffusion with d generates, by enumeration of all orders.
func truth(t *testing.T, d energy.Denoiser[int32], x []int32) (p float64) {
	t.Helper()
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		at, prob, v := []int32{2, 2, 2}, 1.0, make([]float32, 9)
		for _, i := range order {
			require.NoError(t, d.Denoise(t.Context(), v, energy.Noised[int32]{X: at, Time: []float64{1}, Alpha: []float64{0}}))
			a, b := math.Exp(float64(v[3*i])), math.Exp(float64(v[3*i+1]))
			prob *= []float64{a, b}[x[i]] / (a + b)
			at[i] = x[i]
		}
		p += prob / 6
	}
	return p
}

// A likelihood by K orders is a distribution, and that of many is what the diffusion
// generates: the mean over choices of few orders is not off, that of the logarithms is below.
func TestLikelihood(t *testing.T) {
	d := wayward()
	states := exact.States(3, 2)
	want := make([]float64, len(states))
	for k, x := range states {
		want[k] = truth(t, d, x)
	}
	mean, logs := make([]float64, len(states)), make([]float64, len(states))
	squares := make([]float64, len(states))
	const choices = 2000
	for seed := range uint64(choices) {
		l := exact.Must(denoise.NewLikelihood(d, 2, 2, seed))
		sum := 0.0
		for k, x := range states {
			var e [1]float64
			l.Energy(e[:], x)
			p := math.Exp(-e[0])
			sum += p
			mean[k] += p / choices
			logs[k] -= e[0] / choices
			squares[k] += p * p / choices
		}
		require.InDelta(t, 1, sum, 1e-12)
	}
	for k := range states {
		se := math.Sqrt((squares[k] - mean[k]*mean[k]) / choices)
		require.InDelta(t, want[k], mean[k], 5.5*se, states[k]) // 1e-6 for 8 states
		require.Less(t, logs[k], math.Log(want[k]), states[k])
	}

	// What it states of its error, by many orders, in more chunks than one.
	l := exact.Must(denoise.NewLikelihood(d, 2, 500, 1))
	all, logp, se := []int32{}, make([]float64, len(states)), make([]float64, len(states))
	for _, x := range states {
		all = append(all, x...)
	}
	require.NoError(t, l.LogProb(t.Context(), logp, se, all))
	off := 0.0
	for k := range states {
		z := (logp[k] - math.Log(want[k])) / se[k]
		require.Less(t, math.Abs(z), 5.5, states[k])
		off += math.Abs(z) / float64(len(states))
	}
	require.Greater(t, off, 0.1, "the errors are too large")
}

// The diffusion generates what the likelihood says.
func TestLikelihoodIsOfTheDiffusion(t *testing.T) {
	d := wayward()
	run := exact.Must(diffusion.New(t.Context(), d, diffusion.Process[int32](diffusion.Masked{Mask: 2, FirstHitting: true}), diffusion.Config{Seed: 5}))
	const n = 20000
	x := make([]int32, 3*n)
	require.NoError(t, run.Sample(t.Context(), x))
	counts := map[[3]int32]int{}
	for s := range n {
		counts[[3]int32(x[3*s:3*s+3])]++
	}
	l := exact.Must(denoise.NewLikelihood(d, 2, 2000, 3))
	for _, x := range exact.States(3, 2) {
		var e [1]float64
		l.Energy(e[:], x)
		p := math.Exp(-e[0])
		require.InDelta(t, p, float64(counts[[3]int32(x)])/n, 5.5*math.Sqrt(p*(1-p)/n)+0.01*p, x)
	}
}

// For an exact denoiser every order has the same probability, that of the model.
func TestLikelihoodOfAModel(t *testing.T) {
	m := exact.Must(model.NewMarkov(5, 3, 1, []float64{.2, .3, .5}, []float64{.5, .5, 0, .1, .2, .7, .3, .3, .4}))
	l := exact.Must(denoise.NewLikelihood(exact.Must(denoise.NewMarkov(m, denoise.Absorbing)), 3, 3, 1))
	r := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		x := make([]int32, 5)
		for i := range x {
			x[i] = int32(r.IntN(3))
		}
		var logp, se [1]float64
		require.NoError(t, l.LogProb(t.Context(), logp[:], se[:], x))
		if want := m.LogProb(x); math.IsInf(want, -1) {
			require.Equal(t, want, logp[0], x)
			require.Zero(t, se[0])
		} else {
			require.InDelta(t, want, logp[0], 1e-5, x)
			require.Less(t, se[0], 1e-5)
		}
	}
	var e, se [1]float64
	l.Energy(e[:], []int32{0, 1, 3, 1, 0})
	require.Equal(t, math.Inf(1), e[0], "a state with the mask")
	one := exact.Must(denoise.NewLikelihood(wayward(), 2, 1, 1))
	require.NoError(t, one.LogProb(t.Context(), e[:], se[:], []int32{0, 1, 1}))
	require.Equal(t, math.Inf(1), se[0])
	require.Less(t, e[0], 0.0)
}

func TestLikelihoodErrors(t *testing.T) {
	d := wayward()
	for want, err := range map[string]error{
		"d = nil":                      exact.Error(denoise.NewLikelihood(nil, 2, 1, 1)),
		"mask = 3 of 3 levels":         exact.Error(denoise.NewLikelihood(d, 3, 1, 1)),
		"orders = 0, want ≥ 1":         exact.Error(denoise.NewLikelihood(d, 2, 0, 1)),
		"d is not TimeFree":            exact.Error(denoise.NewLikelihood(energy.DenoiserFunc[int32]{Sites: 1, Levels: 2}, 1, 1, 1)),
		"mask = 1, the denoiser's is ": exact.Error(denoise.NewLikelihood(exact.Must(denoise.NewIndependent(exact.Must(model.NewIndependent(make([]float64, 6), 2)), denoise.Absorbing)), 1, 1, 1)),
	} {
		require.ErrorContains(t, err, want)
	}
	broken := errors.New("broken")
	fails := energy.DenoiserFunc[int32]{Sites: 2, Levels: 3, IgnoresTime: true, F: func(context.Context, []float32, energy.Noised[int32]) error { return broken }}
	l := exact.Must(denoise.NewLikelihood(fails, 2, 1, 1))
	var e [1]float64
	require.ErrorIs(t, l.LogProb(t.Context(), e[:], nil, []int32{0, 1}), broken)
	l.Energy(e[:], []int32{0, 1})
	require.True(t, math.IsNaN(e[0]))
	fails.F = func(_ context.Context, v []float32, _ energy.Noised[int32]) error {
		for i := range v {
			v[i] = float32(math.Inf(-1))
		}
		return nil
	}
	require.ErrorContains(t, exact.Must(denoise.NewLikelihood(fails, 2, 1, 1)).LogProb(t.Context(), e[:], nil, []int32{0, 1}), "the largest log-weight is -Inf, want a finite number")
	require.PanicsWithValue(t, "denoise: len(se) = 2, want 1", func() { _ = l.LogProb(t.Context(), e[:], make([]float64, 2), []int32{0, 1}) })
}

// The probability of a word under what a masked diffusion generates.
func ExampleLikelihood() {
	chain, err := model.NewMarkov(4, 2, 1, []float64{0.5, 0.5}, []float64{0.9, 0.1, 0.2, 0.8})
	if err != nil {
		panic(err)
	}
	d, err := denoise.NewMarkov(chain, denoise.Absorbing) // or a network: neural.NewMasked
	if err != nil {
		panic(err)
	}
	l, err := denoise.NewLikelihood(d, 2, 16, 1)
	if err != nil {
		panic(err)
	}
	var logp, se [1]float64
	if err := l.LogProb(context.Background(), logp[:], se[:], []int32{0, 0, 1, 1}); err != nil {
		panic(err)
	}
	fmt.Printf("%.4f, exactly %.4f\n", math.Exp(logp[0]), 0.5*0.9*0.1*0.8)
	// Output: 0.0360, exactly 0.0360
}
