package energy_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// fullSupport is what a double supports.
var fullSupport = minus(kinds, "Bipartite")

// checkWindows checks Window of m on all states of finite energy against e, to
// one rounding of float32 and 2⁻⁴⁰ for the differences of energies.
func checkWindows(t *testing.T, m energy.Model, e func(x []int32) float64) {
	t.Helper()
	wm, ok := energy.As[energy.Windowed](m)
	require.True(t, ok)
	sites, levels := m.Shape()
	o, ok := energy.As[energy.Ordinal](m)
	require.True(t, ok)
	require.Len(t, o.Values(), levels)
	require.Equal(t, o.Values(), wm.Values())
	for _, w := range []int{0, 1, levels} {
		g, got := make([]float32, sites*(2*w+1)), make([]float64, 1)
		for _, x := range exact.States(sites, levels) {
			wm.Window(got, g, x, w)
			if math.IsInf(e(x), 1) {
				require.Equal(t, e(x), got[0])
				continue
			}
			require.InDelta(t, e(x), got[0], 0x1p-40)
			for i := range x {
				for c := range 2*w + 1 {
					want, l := math.Inf(1), x[i]+int32(c-w)
					if l >= 0 && int(l) < levels {
						y := append([]int32(nil), x...)
						y[i] = l
						want = e(y) - e(x)
					}
					at := float64(g[i*(2*w+1)+c])
					if math.IsInf(want, 1) {
						require.Equal(t, want, at)
					} else {
						require.InDelta(t, want, at, 0x1p-40+4*exact.Rounding32*(math.Abs(want)+10))
					}
				}
			}
		}
	}
}

func TestSumAddsEverything(t *testing.T) {
	for _, levels := range []int{2, 3} {
		r := rand.New(rand.NewPCG(1, uint64(levels)))
		a, b, c := newDouble(r, 4, levels), newDouble(r, 4, levels), newDouble(r, 4, levels)
		c.w = []float64{0, 0, 0.5, 0} // an edge that a and b lack
		m, err := energy.Sum(a, b, c)
		require.NoError(t, err)
		brute := func(x []int32) float64 { return a.one(x) + b.one(x) + c.one(x) }
		if levels == 2 {
			exact.CheckModel(t, m, true, brute)
			assert.Equal(t, fullSupport, supports(m))
		} else {
			// The double claims a field for any number of levels.
			ternary, err := energy.Sum(without{a, "Binary"}, without{b, "Binary"}, without{c, "Binary"})
			require.NoError(t, err)
			exact.CheckModel(t, ternary, true, brute)
		}
		checkWindows(t, m, brute)
	}
}

func TestSumSupportsWhatItsPartsDo(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	a, b := newDouble(r, 3, 2), newDouble(r, 3, 2)
	for _, kind := range fullSupport {
		m, err := energy.Sum(a, without{b, kind})
		require.NoError(t, err)
		lost := map[string][]string{
			"Conditional": {"Conditional", "Local"},
			"Ordinal":     {"Windowed"},   // a's values will do
			"Stochastic":  {"never lost"}, // b's table will do
			"Supported":   {"never lost"},
			// b's field will do
			"Differentiable": {"never lost"},
		}[kind]
		if lost == nil {
			lost = []string{kind}
		}
		assert.Equal(t, minus(fullSupport, lost...), supports(m), kind)
		o, ok := energy.As[energy.Graphical](m)
		if ok {
			assert.Equal(t, supports(m), supports(o), "what As gives can be asked again")
		}
	}
	m, err := energy.Sum(a, energyOnly{b})
	require.NoError(t, err)
	assert.Equal(t, []string{"Ordinal", "Supported"}, supports(m))
	checkByDifferences(t, m, func(x []int32) float64 { return a.one(x) + b.one(x) })
}

// checkByDifferences checks that the evaluated table of m is right.
func checkByDifferences(t *testing.T, m energy.Model, brute func(x []int32) float64) {
	t.Helper()
	exact.CheckModel(t, energy.Differences(m), true, brute)
}

func TestSumOfZeroesKeepsThem(t *testing.T) {
	inf := math.Inf(1)
	r := rand.New(rand.NewPCG(3, 3))
	a, b := newDouble(r, 3, 3), newDouble(r, 3, 3)
	a.u[1][2], b.u[0][1] = inf, inf
	m, err := energy.Sum(without{a, "Binary"}, without{b, "Binary"})
	require.NoError(t, err)
	checkOnSupport(t, m, func(x []int32) float64 {
		if x[1] == 2 || x[0] == 1 {
			return inf
		}
		return a.one(x) + b.one(x)
	})
}

func TestSumEstimates(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	a, b, c := newDouble(r, 3, 2), newDouble(r, 3, 2), newDouble(r, 3, 2)
	m, err := energy.Sum(a, without{c, "Stochastic"}, b)
	require.NoError(t, err)
	s, ok := energy.As[energy.Stochastic](m)
	require.True(t, ok)
	x := []int32{0, 1, 1, 1, 0, 0}
	sources := func() []rand.Source { return []rand.Source{rand.NewPCG(1, 1), rand.NewPCG(2, 2)} }
	got, one, want := make([]float32, 12), make([]float32, 12), make([]float32, 12)
	s.Estimate(got, x, sources())
	src := sources()
	a.Estimate(want, x, src)
	b.Estimate(one, x, src) // goes on in the streams: independent noise
	for k := range want {
		want[k] += one[k]
	}
	c.Gradient(make([]float64, 2), one, x)
	for k := range want {
		want[k] += one[k]
	}
	assert.Equal(t, want, got)
	m, err = energy.Sum(a, energyOnly{b})
	require.NoError(t, err)
	assert.False(t, has[energy.Stochastic](m))
}

func TestSumRepairs(t *testing.T) {
	a := newDouble(rand.New(rand.NewPCG(5, 5)), 3, 3)
	c, err := energy.Clamp(a, map[int]int32{2: 2})
	require.NoError(t, err)
	d, err := energy.Clamp(energyOnly{a}, map[int]int32{0: 0})
	require.NoError(t, err)
	m, err := energy.Sum(d, energyOnly{a}, c)
	require.NoError(t, err)
	s, ok := energy.As[energy.Supported](m)
	require.True(t, ok)
	x := []int32{2, 2, 0, 0, 0, 0}
	s.Repair(x)
	assert.Equal(t, []int32{0, 2, 2, 0, 0, 2}, x, "fixed sites have their way")
}

func TestSumOfOneIsIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		a := newDouble(r, rapid.IntRange(1, 5).Draw(t, "sites"), rapid.IntRange(1, 3).Draw(t, "levels"))
		m, err := energy.Sum(a)
		require.NoError(t, err)
		require.Same(t, a, m)
	})
}

func TestSumIsAPermutationInvariantLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		a, b, c := newDouble(r, 4, 2), newDouble(r, 4, 2), newDouble(r, 4, 2)
		one, err := energy.Sum(a, b, c)
		require.NoError(t, err)
		inner, err := energy.Sum(c, a)
		require.NoError(t, err)
		two, err := energy.Sum(b, inner)
		require.NoError(t, err)
		p, z := exact.Law(one)
		q, y := exact.Law(two)
		require.InDelta(t, z, y, 1e-12) // a few dozen roundings of numbers below 100
		require.InDeltaSlice(t, p, q, 1e-12)
	})
}

func TestSumRefuses(t *testing.T) {
	a := newDouble(rand.New(rand.NewPCG(6, 6)), 3, 2)
	for want, models := range map[string][]energy.Model{
		"energy: Sum: no models, want ≥ 1":                                                  {},
		"energy: Sum: models[1] is nil":                                                     {a, nil},
		"energy: Sum: models[0] has 0 sites and 2 levels, want both ≥ 1":                    {energy.Func{Levels: 2}, a},
		"energy: Sum: models[1] has 4 sites and 2 levels, want 3 and 2 as models[0]":        {a, energy.Func{Sites: 4, Levels: 2}},
		"energy: Sum: models[1] has 3 sites and 3 levels, want 3 and 2 as models[0]":        {a, energy.Func{Sites: 3, Levels: 3}},
		"energy: Sum: models[2] has the level values [0 5], want [0 1] as an earlier model": {energyOnly{a}, a, otherValues{a}},
	} {
		_, err := energy.Sum(models...)
		assert.EqualError(t, err, want)
	}
}

// otherValues has values of its own.
type otherValues struct{ *double }

func (otherValues) Values() []float32 { return []float32{0, 5} }

func TestSumAllocatesNothing(t *testing.T) {
	if exact.Race {
		t.Skip("the race detector empties pools")
	}
	g, err := model.NewIsing(model.Lattice{4, 4}, 0.3, 0.1)
	require.NoError(t, err)
	h, err := model.NewIsing(model.Lattice{4, 4}, -0.1, 0.2)
	require.NoError(t, err)
	sum, err := energy.Sum(g, h)
	require.NoError(t, err)
	scaled, err := energy.Scale(sum, 0.7)
	require.NoError(t, err)
	m, err := energy.Clamp(scaled, map[int]int32{3: 1})
	require.NoError(t, err)
	exact.NoAllocations(t, m)
}
