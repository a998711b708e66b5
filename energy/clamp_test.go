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

// clampedTo is the energy of a with sites fixed.
func clampedTo(a *double, fixed map[int]int32) func(x []int32) float64 {
	return func(x []int32) float64 {
		for i, l := range fixed {
			if x[i] != l {
				return math.Inf(1)
			}
		}
		return a.one(x)
	}
}

func TestClampIsTheConditionalLaw(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, fixed := range []map[int]int32{{}, {2: 0}, {0: 1, 3: 1}, {0: 1, 1: 0, 2: 1, 3: 0}} {
		a := newDouble(r, 4, 2)
		m, err := energy.Clamp(a, fixed)
		require.NoError(t, err)
		checkOnSupport(t, m, clampedTo(a, fixed))
		checkWindows(t, m, clampedTo(a, fixed))
		assert.Equal(t, fullSupport, supports(m))
	}
	a := newDouble(r, 4, 3)
	fixed := map[int]int32{1: 2, 2: 1}
	m, err := energy.Clamp(without{a, "Binary"}, fixed)
	require.NoError(t, err)
	checkOnSupport(t, m, clampedTo(a, fixed))
	checkWindows(t, m, clampedTo(a, fixed))
}

func TestClampSupportsWhatTheModelDoes(t *testing.T) {
	a := newDouble(rand.New(rand.NewPCG(2, 2)), 3, 2)
	for _, kind := range fullSupport {
		m, err := energy.Clamp(without{a, kind}, map[int]int32{1: 1})
		require.NoError(t, err)
		want := supports(without{a, kind})
		if kind == "Supported" {
			want = fullSupport // Clamp repairs by itself
		}
		assert.Equal(t, want, supports(m), kind)
	}
	m, err := energy.Clamp(energyOnly{a}, map[int]int32{1: 1})
	require.NoError(t, err)
	assert.Equal(t, []string{"Supported"}, supports(m))
}

func TestClampEstimates(t *testing.T) {
	a := newDouble(rand.New(rand.NewPCG(3, 3)), 3, 2)
	m, err := energy.Clamp(a, map[int]int32{1: 0})
	require.NoError(t, err)
	s, ok := energy.As[energy.Stochastic](m)
	require.True(t, ok)
	got, want := make([]float32, 6), make([]float32, 6)
	s.Estimate(got, make([]int32, 3), []rand.Source{rand.NewPCG(1, 1)})
	a.Estimate(want, make([]int32, 3), []rand.Source{rand.NewPCG(1, 1)})
	want[2], want[3] = 0, float32(math.Inf(1))
	assert.Equal(t, want, got)
}

func TestClampHasTheSupportItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		sites, levels := rapid.IntRange(1, 4).Draw(t, "sites"), rapid.IntRange(1, 3).Draw(t, "levels")
		fixed := rapid.MapOf(rapid.IntRange(0, sites-1), rapid.Int32Range(0, int32(levels-1))).Draw(t, "fixed")
		m, err := energy.Clamp(energyOnly{newDouble(r, sites, levels)}, fixed)
		require.NoError(t, err)
		p, _ := exact.Law(m)
		s, ok := energy.As[energy.Supported](m)
		require.True(t, ok)
		x := make([]int32, sites)
		for k := range p {
			exact.State(x, k, levels)
			inside := true
			for i, l := range fixed {
				inside = inside && x[i] == l
			}
			require.Equal(t, inside, p[k] > 0)
			before := append([]int32(nil), x...)
			s.Repair(x)
			require.Positive(t, p[exact.Index(x, levels)])
			for i := range x {
				if _, is := fixed[i]; !is {
					require.Equal(t, before[i], x[i], "free sites are left alone")
				}
			}
		}
	})
}

func TestClampRefuses(t *testing.T) {
	a := newDouble(rand.New(rand.NewPCG(4, 4)), 3, 2)
	for want, fixed := range map[string]map[int]int32{
		"energy: Clamp: site 3 is fixed, want 0 … 2":  {3: 0, 7: 0},
		"energy: Clamp: site -1 is fixed, want 0 … 2": {-1: 0},
		"energy: Clamp: fixed[1] = 2, want 0 … 1":     {1: 2, 2: 5},
		"energy: Clamp: fixed[0] = -1, want 0 … 1":    {0: -1},
	} {
		_, err := energy.Clamp(a, fixed)
		assert.EqualError(t, err, want)
	}
	_, err := energy.Clamp(nil, nil)
	assert.EqualError(t, err, "energy: Clamp: m is nil")
	m, err := energy.Clamp(a, nil)
	require.NoError(t, err)
	s, _ := energy.As[energy.Supported](m)
	assert.PanicsWithValue(t, "energy: len(x) = 4, want a multiple of 3", func() { s.Repair(make([]int32, 4)) })
}
