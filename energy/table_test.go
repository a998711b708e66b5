package energy_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

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
