package proximal_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/series"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection/proximal"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The nearest series to a prediction that has given features.
func ExampleProjector() {
	b := series.NewBuilder(series.Shape{Length: 4, Channels: 1, Tolerance: -1})
	b.Mean(0, 1)
	b.Trend(0, 0, 4, false)
	set, err := b.Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	solver, err := proximal.Projector{Set: set}.Compile(context.Background(), 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	z := make([]float64, 4)
	_, err = solver.Solve(z, []float64{0, 3, 1, 2})
	fmt.Printf("%.3f %v\n", z, err)
	// Output: [-0.500 1.500 1.500 1.500] <nil>
}

// Autocorrelation together with OHLC order, on predictions of every kind: the
// set is not convex, but the result must be in it.
func TestProximalAutocorrelation(t *testing.T) {
	exact.SkipUnderRace(t)
	const length, channels = 96, 4
	b := series.NewBuilder(series.Shape{
		Length: length, Channels: channels, Shift: []float64{10, 11, 9, 10}, Scale: []float64{2, 2.1, 1.9, 2},
	})
	b.OHLC(0, 1, 2, 3)
	b.Autocorrelation(3, 12, 0.4)
	b.Autocorrelation(0, 12, 0.3)
	set, err := b.Build()
	require.NoError(t, err)
	solver, err := proximal.Projector{Set: set}.Compile(t.Context(), length*channels)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(9, 9))
	v, z, z32 := make([]float64, length*channels), make([]float64, length*channels), make([]float32, length*channels)
	for _, spread := range []float64{0.01, 0.3, 1, 3} {
		for range 3 {
			for i := range v {
				v[i] = spread * rng.NormFloat64()
				if i >= channels {
					v[i] += 0.9 * v[i-channels]
				}
			}
			c, err := solver.Solve(z, v)
			require.NoError(t, err, "%+v", c)
			for i, x := range z {
				z32[i] = float32(x)
			}
			worst, what := set.Violation(z32)
			assert.LessOrEqual(t, worst, 1e-6, "%s", what)
			assert.LessOrEqual(t, c.Violation, 1e-7)
		}
	}
}

// Contradictory limits are named before anything runs.
func TestProximalNamesContradictions(t *testing.T) {
	b := series.NewBuilder(series.Shape{Length: 10, Channels: 2, Names: []string{"price", "volume"}})
	b.Bounds(0, 0, 1)
	b.Bounds(1, 0, math.Inf(1))
	b.Mean(0, 2)
	set, err := b.Build()
	require.NoError(t, err)
	_, err = proximal.Projector{Set: set}.Compile(t.Context(), 20)
	require.ErrorIs(t, err, constraint.ErrInfeasible)
	assert.ErrorContains(t, err, "price at 0 ≤ 1")
	assert.ErrorContains(t, err, "exclude each other")
	var proof *proximal.ContradictionError
	require.True(t, errors.As(err, &proof))
	assert.Contains(t, proof.Names, "mean of price = 2")
	assert.Len(t, proof.Rows, 11)
}

// Multipliers of curved inequalities come after those of all linear rows, also
// where the last linear rows have no bounds and are left out of the iteration.
func TestMultipliersOfCurvesBehindOpenRows(t *testing.T) {
	const length = 8
	b := series.NewBuilder(series.Shape{Length: length, Channels: 1})
	b.Autocorrelation(0, 1, 0.2)
	b.Bounds(0, math.Inf(-1), math.Inf(1))
	set, err := b.Build()
	require.NoError(t, err)
	require.Equal(t, length+2, set.Len())
	solver, err := proximal.Projector{Set: set}.Compile(t.Context(), length)
	require.NoError(t, err)
	z := make([]float64, length)
	_, err = solver.Solve(z, []float64{1, -1, 1, 2, -1, 0, 1, -2})
	require.NoError(t, err)
	y := make([]float64, set.Len())
	solver.Multipliers(y)
	assert.Equal(t, make([]float64, length), y[:length], "open rows")
	assert.Positive(t, y[length+1], "the lower bound of the autocorrelation")
}
