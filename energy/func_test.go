package energy_test

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// rugged is an energy without structure; every third state of those with
// x_0 = 2 has probability zero.
func rugged(x []int32) float64 {
	k := 0.0
	for i, v := range x {
		k += float64(v) * math.Pow(3, float64(i))
	}
	if x[0] == 2 && int(k)%9 == 2 {
		return math.Inf(1)
	}
	return 3 * math.Sin(k*k)
}

// energyOnly hides everything but the energy of a model.
type energyOnly struct{ energy.Model }

// conditionalOnly hides everything but energy and conditionals.
type conditionalOnly struct {
	energy.Model
	c energy.Conditional
}

func (m conditionalOnly) Conditional(d []float64, site int, x []int32) { m.c.Conditional(d, site, x) }

// checkByEvaluation checks that all differences of m are exact: float64 ones to
// the bit, the table to one rounding.
func checkByEvaluation(t *testing.T, m energy.Model, e func(x []int32) float64) {
	t.Helper()
	sites, levels := m.Shape()
	c, d := energy.Conditionals(m), energy.Differences(m)
	row := make([]float64, levels)
	table := make([]float32, 2*sites*levels)
	two := make([]float64, 2)
	for _, x := range exact.States(sites, levels) {
		if math.IsInf(e(x), 1) {
			continue
		}
		d.Gradient(two, table, append(append([]int32(nil), x...), x...))
		require.Equal(t, []float64{e(x), e(x)}, two)
		y := append([]int32(nil), x...)
		for i := range x {
			c.Conditional(row, i, x)
			for l := range levels {
				y[i] = int32(l)
				want := e(y) - e(x)
				require.Equal(t, want, row[l])
				require.Equal(t, float32(want), table[i*levels+l])
				require.Equal(t, float32(want), table[(sites+i)*levels+l])
			}
			y[i] = x[i]
		}
		require.Equal(t, y, x, "x is not modified")
	}
}

func TestFuncIsExact(t *testing.T) {
	f := energy.Func{Sites: 4, Levels: 3, E: rugged}
	checkByEvaluation(t, f, rugged)
	checkByEvaluation(t, energyOnly{f}, rugged)
	checkByEvaluation(t, conditionalOnly{f, f}, rugged)
	checkByEvaluation(t, energy.Func{Sites: 3, Levels: 1, E: rugged}, rugged)
}

func TestFuncProtectsTheCaller(t *testing.T) {
	f := energy.Func{Sites: 2, Levels: 2, E: func(x []int32) float64 {
		e := float64(x[0] + 2*x[1])
		x[0], x[1] = 7, 7
		return e
	}}
	x := []int32{0, 1, 1, 1}
	e := make([]float64, 2)
	f.Energy(e, x)
	assert.Equal(t, []float64{2, 3}, e)
	assert.Equal(t, []int32{0, 1, 1, 1}, x)
}

func TestDifferencesPrefersTheModels(t *testing.T) {
	f := energy.Func{Sites: 4, Levels: 3, E: rugged}
	assert.IsType(t, f, energy.Differences(f))
	assert.IsType(t, f, energy.Conditionals(f))
	d := energy.Differences(conditionalOnly{f, f})
	c, ok := energy.As[energy.Conditional](d)
	assert.True(t, ok)
	assert.IsType(t, conditionalOnly{}, c)
	_, ok = energy.As[energy.Graphical](d)
	assert.False(t, ok)
	twice := energy.Conditionals(energy.Differences(energyOnly{f}))
	checkByEvaluation(t, twice, rugged)
}

func TestDifferencesAtTheEdges(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	e := []float64{1, inf, nan}
	f := energy.Func{Sites: 1, Levels: 3, E: func(x []int32) float64 { return e[x[0]] }}
	for _, m := range []energy.Model{f, energyOnly{f}} {
		d := make([]float64, 3)
		energy.Conditionals(m).Conditional(d, 0, []int32{0})
		assert.Equal(t, []float64{0, inf}, d[:2])
		assert.True(t, math.IsNaN(d[2]))
		energy.Conditionals(m).Conditional(d, 0, []int32{1})
		assert.Zero(t, d[1], "the gauge holds at probability zero, too")
	}
}

func TestFuncRefuses(t *testing.T) {
	const want = "energy: Func{Sites: 0, Levels: 2, E set: true}, want Sites ≥ 1, Levels ≥ 1 and E"
	assert.PanicsWithValue(t, want, func() { energy.Func{Levels: 2, E: rugged}.Energy(nil, nil) })
	assert.Panics(t, func() { energy.Func{Sites: 1, Levels: 2}.Gradient(nil, nil, nil) })
	f := energy.Func{Sites: 9, Levels: 2, E: rugged}
	assert.PanicsWithValue(t, "energy: len(x) = 7, want a multiple of 9", func() { f.Energy(nil, make([]int32, 7)) })
	assert.PanicsWithValue(t, "energy: len(e) = 1, want 2", func() { f.Energy(make([]float64, 1), make([]int32, 18)) })
	for _, m := range []energy.Model{f, energyOnly{f}} {
		assert.PanicsWithValue(t, "energy: len(d) = 3, want 2", func() { energy.Conditionals(m).Conditional(make([]float64, 3), 0, make([]int32, 9)) })
		assert.PanicsWithValue(t, "energy: len(x) = 8, want 9", func() { energy.Conditionals(m).Conditional(make([]float64, 2), 0, make([]int32, 8)) })
		assert.PanicsWithValue(t, "energy: len(g) = 1, want 18", func() { energy.Differences(m).Gradient(make([]float64, 1), make([]float32, 1), make([]int32, 9)) })
	}
}

func TestEvaluationIsConcurrentAndAllocatesNothing(t *testing.T) {
	// Both are run before, so that the pools are warm.
	f := energy.Func{Sites: 4, Levels: 3, E: rugged}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { checkByEvaluation(t, f, rugged) })
	}
	wg.Wait()
	if exact.Race {
		return // the detector empties pools at random
	}
	x, e, g, d := make([]int32, 4), make([]float64, 1), make([]float32, 12), make([]float64, 3)
	for _, m := range []energy.Model{f, energyOnly{f}} {
		c, diff := energy.Conditionals(m), energy.Differences(m)
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			m.Energy(e, x)
			c.Conditional(d, 2, x)
			diff.Gradient(e, g, x)
		}))
	}
}

func TestRealFunc(t *testing.T) {
	f := energy.RealFunc{Dim: 2, E: func(x []float32) float64 { return math.Sin(float64(x[0])) * float64(x[1]) },
		Grad: func(g, x []float32) {
			g[0] = float32(math.Cos(float64(x[0]))) * x[1]
			g[1] = float32(math.Sin(float64(x[0])))
		}}
	x, e := []float32{1, 2, -0.5, 3}, make([]float64, 2)
	f.Energy(e, x)
	require.Equal(t, []float64{2 * math.Sin(1), 3 * math.Sin(-0.5)}, e)
	require.Equal(t, 2, f.Sites())
	exact.Score(t, f, x)
	require.Panics(t, func() { f.Energy(e, x[:3]) })
	require.Panics(t, func() { f.Score(make([]float32, 3), x) })
	require.PanicsWithValue(t, "energy: RealFunc{Dim: 0}, want Dim ≥ 1", func() { energy.RealFunc{}.Energy(e, x) })
}

// The table made of a field or of windows is the model's own, entry by entry, and
// so is that of a sum of models that know different things.
func TestTableOfFieldsAndWindows(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	a, b := newDouble(r, 3, 2), newDouble(r, 3, 2)
	field := without{without{a, "Differentiable"}, "Windowed"}
	window := without{without{b, "Differentiable"}, "Binary"}
	check := func(m energy.Model, same func(x []int32) float64) {
		t.Helper()
		_, ok := energy.As[energy.Conditional](energy.Differences(m))
		require.True(t, ok, "what else the model knows")
		exact.CheckModel(t, energy.Differences(m), true, same)
	}
	check(field, a.one)
	check(window, b.one)
	check(exact.Must(energy.Sum(field, window)), func(x []int32) float64 { return a.one(x) + b.one(x) })
	for _, levels := range []int{3, 5} {
		c := newDouble(r, 3, levels)
		m := without{c, "Differentiable"}
		check(without{m, "Binary"}, c.one)
		// A field is asked of two levels only, whatever the type says.
		x, e, g := []int32{2, 0, 1}, make([]float64, 1), make([]float32, 3*levels)
		want := make([]float32, len(g))
		energy.Differences(m).Gradient(e, g, x)
		c.Gradient(e, want, x)
		require.Equal(t, want, g)
	}
	require.Panics(t, func() { energy.Differences(field).Gradient(make([]float64, 1), make([]float32, 5), make([]int32, 3)) })
	require.Panics(t, func() { energy.Differences(window).Gradient(make([]float64, 1), make([]float32, 5), make([]int32, 3)) })
}
