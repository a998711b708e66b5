package mcmc

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// wrapped embeds a count, as a user's own type does.
type wrapped struct{ constraint.Count }

// TestCountByPointerAndInside checks that a count by value, by pointer, inside
// another type and with a mask are all seen as the count that they are, and
// that chains do not tell them apart.
func TestCountByPointerAndInside(t *testing.T) {
	m := exact.NewRugged(5, 3, 1, 0.5, 3)
	for _, c := range []constraint.Count{
		{Levels: []int32{1, 2, 1, 9}, Min: 1, Max: 3},
		{Levels: []int32{0}, Min: 2, Max: constraint.Unbounded},
		{Levels: []int32{2}, Max: 0},
	} {
		mask, err := constraint.NewMask(3, [][]int32{{0, 1}})
		require.NoError(t, err)
		both, err := constraint.Intersect(mask, &c)
		require.NoError(t, err)
		want := newCounted(c, 3)
		require.NotNil(t, want)
		require.Equal(t, max(c.Min, 0), want.min)
		require.Equal(t, c.Max, want.max)
		require.Equal(t, want, newCounted(&c, 3))
		require.Equal(t, want, newCounted(wrapped{c}, 3))
		require.Equal(t, want, newCounted(&wrapped{c}, 3))
		masked := newCounted(both, 3)
		require.Same(t, mask, masked.mask)
		require.Equal(t, want.in, masked.in)

		var runs [][]int32
		for _, language := range []constraint.Automaton{c, &c, wrapped{c}} {
			ch, err := sampler.NewChains(context.Background(), m, PairGibbs{Within: language}, sampler.Config{Chains: 3, Seed: 4})
			require.NoError(t, err)
			require.NoError(t, ch.Run(t.Context(), 40))
			runs = append(runs, ch.States())
		}
		require.Equal(t, runs[0], runs[1])
		require.Equal(t, runs[0], runs[2])
	}
	require.Nil(t, newCounted(constraint.Any{}, 3))
}
