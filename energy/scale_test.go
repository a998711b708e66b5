package energy_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

func TestScaleScalesEverything(t *testing.T) {
	for _, beta := range []float64{0, 0.3, 2.5} {
		r := rand.New(rand.NewPCG(1, 1))
		a := newDouble(r, 4, 2)
		m, err := energy.Scale(a, beta)
		require.NoError(t, err)
		brute := func(x []int32) float64 { return beta * a.one(x) }
		exact.CheckModel(t, m, false, brute)
		checkWindows(t, m, brute)
		assert.Equal(t, fullSupport, supports(m))

		noGraph, err := energy.Scale(without{a, "Graphical"}, beta)
		require.NoError(t, err)
		exact.CheckModel(t, noGraph, false, brute)

		b := newDouble(r, 3, 3)
		b.u[1][2] = math.Inf(1)
		m, err = energy.Scale(without{b, "Binary"}, beta)
		require.NoError(t, err)
		checkOnSupport(t, m, func(x []int32) float64 {
			if x[1] == 2 {
				return math.Inf(1) // 0·∞ is ∞ here
			}
			return beta * b.one(x)
		})
	}
}

func TestScaleSupportsWhatTheModelDoes(t *testing.T) {
	a := newDouble(rand.New(rand.NewPCG(2, 2)), 3, 2)
	for _, kind := range fullSupport {
		m, err := energy.Scale(without{a, kind}, 2)
		require.NoError(t, err)
		assert.Equal(t, supports(without{a, kind}), supports(m), kind)
	}
	m, err := energy.Scale(energyOnly{a}, 2)
	require.NoError(t, err)
	assert.Empty(t, supports(m))
	x := []int32{0, 0, 0}
	m, err = energy.Scale(a, 2)
	require.NoError(t, err)
	s, _ := energy.As[energy.Supported](m)
	s.Repair(x)
	assert.Equal(t, []int32{1, 0, 0}, x)
}

func TestScaleEstimates(t *testing.T) {
	a := newDouble(rand.New(rand.NewPCG(3, 3)), 3, 2)
	m, err := energy.Scale(a, 0.5)
	require.NoError(t, err)
	s, _ := energy.As[energy.Stochastic](m)
	got, want := make([]float32, 6), make([]float32, 6)
	s.Estimate(got, make([]int32, 3), []rand.Source{rand.NewPCG(1, 1)})
	a.Estimate(want, make([]int32, 3), []rand.Source{rand.NewPCG(1, 1)})
	for k := range want {
		want[k] *= 0.5
	}
	assert.Equal(t, want, got)
}

func TestScaleByOneIsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		a := newDouble(r, rapid.IntRange(1, 5).Draw(t, "sites"), rapid.IntRange(1, 3).Draw(t, "levels"))
		m, err := energy.Scale(a, 1)
		require.NoError(t, err)
		require.Same(t, a, m)
		// Halves are exact, so twice a half is it, too.
		half, err := energy.Scale(a, 0.5)
		require.NoError(t, err)
		again, err := energy.Scale(half, 2)
		require.NoError(t, err)
		x := make([]int32, a.sites)
		for i := range x {
			x[i] = int32(r.IntN(a.levels))
		}
		e, f := make([]float64, 1), make([]float64, 1)
		a.Energy(e, x)
		again.Energy(f, x)
		require.Equal(t, e, f)
	})
}

func TestScaleRefuses(t *testing.T) {
	a := newDouble(rand.New(rand.NewPCG(4, 4)), 3, 2)
	for _, beta := range []float64{-1, math.NaN(), math.Inf(1)} {
		_, err := energy.Scale(a, beta)
		assert.ErrorContains(t, err, "want 0 ≤ beta < ∞")
	}
	_, err := energy.Scale(nil, 1)
	assert.EqualError(t, err, "energy: Scale: m is nil")
}
