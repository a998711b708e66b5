package energy_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ExampleEnumerate gives the exact answers that samplers are held to, for the
// 4×4 torus of Zhang, Liu and Liu 2022.
func ExampleEnumerate() {
	m, err := model.NewIsing(model.Lattice{4, 4}, 0.2, 0.2)
	if err != nil {
		panic(err)
	}
	e, err := energy.Enumerate(context.Background(), m, energy.Magnetization)
	if err != nil {
		panic(err)
	}
	fmt.Printf("log Z %.10f, mean spin %.10f\n", e.LogZ, e.Means[0])
	// Output: log Z 12.5985025974, mean spin 0.4800050727
}

func TestEnumerateAgreesWithTheOracle(t *testing.T) {
	for _, shape := range [][2]int{{1, 1}, {5, 1}, {1, 7}, {13, 2}, {8, 3}, {6, 5}} {
		sites, levels := shape[0], shape[1]
		m := energy.Func{Sites: sites, Levels: levels, E: func(x []int32) float64 {
			e := 0.0
			for i, l := range x {
				e += math.Sin(float64(i+1)*float64(l)) * 40
			}
			if len(x) > 1 && x[0] == x[1] && levels > 2 {
				return math.Inf(1)
			}
			return e
		}}
		first := func(x []int32) float64 { return float64(x[0]) }
		last := func(x []int32) float64 { return float64(x[len(x)-1]) }
		got, err := energy.Enumerate(context.Background(), m, first, last)
		require.NoError(t, err)
		p, logZ := exact.Law(m)
		assert.InDelta(t, logZ, got.LogZ, 1e-10)
		assert.InDelta(t, exact.Expect(p, sites, levels, first), got.Means[0], 1e-10)
		assert.InDelta(t, exact.Expect(p, sites, levels, last), got.Means[1], 1e-10)
	}
}

func TestEnumerateErrors(t *testing.T) {
	big := energy.Func{Sites: 29, Levels: 2, E: func([]int32) float64 { return 0 }}
	_, err := energy.Enumerate(context.Background(), big)
	assert.ErrorContains(t, err, "29 sites of 2 levels have more than 268435456 states")

	constant := func(v float64) energy.Func {
		return energy.Func{Sites: 2, Levels: 2, E: func([]int32) float64 { return v }}
	}
	_, err = energy.Enumerate(context.Background(), constant(math.NaN()))
	assert.ErrorContains(t, err, "the energy of state [0 0] is NaN")
	_, err = energy.Enumerate(context.Background(), constant(math.Inf(-1)))
	assert.ErrorContains(t, err, "is -Inf")
	_, err = energy.Enumerate(context.Background(), constant(math.Inf(1)))
	assert.ErrorContains(t, err, "every state has energy +Inf")

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = energy.Enumerate(ctx, constant(0))
	assert.True(t, errors.Is(err, context.Canceled))
}

func TestMagnetization(t *testing.T) {
	require.Equal(t, 0.0, energy.Magnetization([]int32{0, 1, 1, 0}))
	require.Equal(t, -1.0, energy.Magnetization([]int32{0, 0}))
	require.Equal(t, 1.0/3, energy.Magnetization([]int32{1, 1, 0}))
}

// Once its context has ended, Enumerate evaluates few states more, however slow they are.
func TestEnumerateStopsSoon(t *testing.T) {
	for _, slow := range []string{"model", "function"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("why")
		var calls, late atomic.Int64
		work := func(of string) {
			if of != slow {
				return
			}
			if ctx.Err() != nil {
				late.Add(1)
			}
			if calls.Add(1) == 100 {
				cancel(why)
			}
		}
		m := energy.Func{Sites: 20, Levels: 2, E: func([]int32) float64 { work("model"); return 0 }}
		_, err := energy.Enumerate(ctx, m, func([]int32) float64 { work("function"); return 1 })
		assert.ErrorIs(t, err, why, slow)
		assert.LessOrEqual(t, late.Load(), int64(32*runtime.GOMAXPROCS(0)), slow)
		cancel(nil)
	}
}

func BenchmarkEnumerate(b *testing.B) {
	m, err := model.NewIsing(model.Lattice{4, 5}, 0.2, 0.2)
	require.NoError(b, err)
	for b.Loop() {
		_, err := energy.Enumerate(b.Context(), m, energy.Magnetization)
		require.NoError(b, err)
	}
}
