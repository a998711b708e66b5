package prior

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// Sums poll their context on the way and end with its error; a nil v leaves the model as
// it is; Marginals are probabilities.
func TestCancelled(t *testing.T) {
	const sites, levels = 200, 2
	m := randomHMM(rand.New(rand.NewPCG(1, 1)), 8, levels)
	c, err := Path{HMM: m, Language: constraint.Count{Levels: []int32{1}, Min: 30, Max: 90}}.Compile(t.Context(), sites, levels)
	require.NoError(t, err)
	x, p := make([]int32, sites), make([]float64, sites*levels)
	for name, sum := range map[string]func(ctx context.Context) error{
		"LogZ":      func(ctx context.Context) error { _, err := c.LogZ(ctx, nil); return err },
		"Draw":      func(ctx context.Context) error { _, err := c.Draw(ctx, x, nil, rand.NewPCG(1, 1)); return err },
		"LogProb":   func(ctx context.Context) error { _, err := c.LogProb(ctx, x, nil); return err },
		"Marginals": func(ctx context.Context) error { return c.Marginals(ctx, p, nil) },
		"Advance":   func(ctx context.Context) error { return c.Advance(ctx, p[:levels], x[:1]) },
	} {
		polls := exact.Cancelled(sum, func(err error) { require.ErrorIs(t, err, context.Canceled, name) })
		require.Greater(t, polls, 2, name)
	}
	require.NoError(t, c.Marginals(t.Context(), p, nil))
	for i := range sites {
		require.InDelta(t, 1, p[2*i]+p[2*i+1], 1e-9)
	}
	want, err := c.LogZ(t.Context(), make([]float32, sites*levels))
	require.NoError(t, err)
	got, err := c.LogZ(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, want, got)
}
