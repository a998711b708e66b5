package tilt

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// states returns a list of so many random states and the arguments of recession: the first
// ones have probability 1, the others none.
func states(rows, alive, others int) (t *List, lambda, p []float64) {
	r := rand.New(rand.NewPCG(uint64(rows), uint64(alive)))
	t = New(1, rows, nil)
	g := make([]float64, rows)
	for range alive + others {
		for j := range g {
			g[j] = r.NormFloat64()
		}
		t.Append(0, g)
	}
	return t, slices.Repeat([]float64{1}, rows), append(slices.Repeat([]float64{1}, alive), make([]float64, others)...)
}

// Elimination ends where it would take minutes, and with the context; a small one goes to
// its end, on rows that leave a direction u ≥ 0 (the last row of the small list is made so).
func TestExactWorkIsBounded(t *testing.T) {
	ctx := context.Background()
	list, lambda, p := states(100, 90, 3)
	u, err := list.recession(ctx, lambda, p, 1e-7)
	require.NoError(t, err)
	require.Nil(t, u)

	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = list.recession(ended, lambda, p, 1e-7)
	require.ErrorIs(t, err, context.Canceled)

	small := New(1, 2, nil)
	small.Append(0, []float64{1, -1}) // u = (1, 1) is 0 here
	small.Append(0, []float64{2, -2})
	small.Append(0, []float64{1, 1}) // and positive here
	u, err = small.recession(ctx, []float64{1, 1}, []float64{1, 1, 0}, 1e-7)
	require.NoError(t, err)
	require.Equal(t, []float64{0.5, 0.5}, floats(u))

	// Many states that do not raise the rank.
	many := New(1, 3, nil)
	for range 1000 {
		many.Append(0, []float64{1, -1, 0})
	}
	many.Append(0, []float64{1, 1, 1})
	u, err = many.recession(ctx, []float64{1, 1, 1}, append(slices.Repeat([]float64{1}, 1000), 0), 1e-7)
	require.NoError(t, err)
	require.NotNil(t, u)
}
