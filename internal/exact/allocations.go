package exact

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
)

// Steady asserts that f allocates nothing once pools are warm. What allocates does
// so whenever it is measured; a garbage collection, which empties pools, or another
// goroutine of the test does not. Under the race detector, which makes pools drop
// what they are given, it only calls f.
func Steady(t *testing.T, name string, f func()) {
	t.Helper()
	if Race {
		f()
		return
	}
	least := math.Inf(1)
	for attempt := 0; attempt < 5 && least > 0; attempt++ {
		f()
		least = min(least, testing.AllocsPerRun(20, f))
	}
	require.Zero(t, least, name)
}

// NoAllocations calls every method that a kernel calls in a step.
func NoAllocations(t *testing.T, m energy.Model) {
	t.Helper()
	sites, levels := m.Shape()
	x, e := make([]int32, 2*sites), make([]float64, 2)
	g, d := make([]float32, len(x)*levels), make([]float64, sites*levels)
	Steady(t, "Energy", func() { m.Energy(e, x) })
	if m, ok := energy.As[energy.Differentiable](m); ok {
		Steady(t, "Gradient", func() { m.Gradient(e, g, x) })
	}
	if m, ok := energy.As[energy.Binary](m); ok {
		Steady(t, "Field", func() { m.Field(e, g[:len(x)], x) })
	}
	if m, ok := energy.As[energy.Conditional](m); ok {
		Steady(t, "Conditional", func() { m.Conditional(d[:levels], 1, x[:sites]) })
	}
	if m, ok := energy.As[energy.Local](m); ok {
		Steady(t, "Locals", func() { m.Locals(d, x[:sites]) })
		Steady(t, "Move", func() { m.Move(d, 1, 1, x[:sites]) })
	}
	if m, ok := energy.As[energy.Windowed](m); ok {
		Steady(t, "Window", func() { m.Window(e, g, x, 0) })
	}
}
