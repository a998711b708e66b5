package exact

import (
	"context"
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/stretchr/testify/require"
)

// Must returns v if err is nil, and panics otherwise.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Error returns the error of a call that also returns a value. It shortens tests of calls that must
// fail.
func Error[T any](_ T, err error) error { return err }

// countdown is a context that is cancelled at its n-th call of Err.
type countdown struct {
	context.Context
	n *int
}

func (c countdown) Err() error {
	if *c.n--; *c.n < 0 {
		return context.Canceled
	}
	return nil
}

// Cancelled tests that a computation can be cancelled wherever it polls its context. It runs the
// computation once for every poll, cancels the context at that poll, and passes the computation's
// error to check. Cancelled returns the number of polls in a run that succeeds. If there are many
// polls, it skips some, and the result may be up to a quarter too large.
func Cancelled(run func(ctx context.Context) error, check func(err error)) (polls int) {
	for ; ; polls++ {
		left := polls
		err := run(countdown{context.Background(), &left})
		if err == nil {
			return polls
		}
		check(err)
		if polls > 40 {
			polls += polls / 4 // many polls: try some
		}
	}
}

// Looks runs a computation and counts how many times it polls its context. It returns this number
// and the computation's error.
func Looks(run func(ctx context.Context) error) (int, error) {
	left := math.MaxInt
	err := run(countdown{context.Background(), &left})
	return math.MaxInt - left, err
}

// Steady asserts that f does not allocate memory after its first calls, which fill pools of
// buffers. It measures several times, because other goroutines may allocate and garbage collection
// empties pools. Under the race detector, pools drop items, so Steady only calls f.
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

// NoAllocations asserts that a model does not allocate memory in the methods that a sampling kernel
// calls in every step.
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
