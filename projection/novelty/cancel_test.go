package novelty

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// Sums over what is new are polled on the way and end with the error of the context; a
// Commit that ends so leaves the set as it was. A nil v is the uniform distribution.
func TestCancelled(t *testing.T) {
	const sites, levels = 20, 2
	lexicon := new(constraint.Lexicon)
	r, y := rand.New(rand.NewPCG(1, 1)), make([]int32, sites)
	for range 20000 {
		for i := range y {
			y[i] = int32(r.IntN(levels))
		}
		lexicon.Add(y)
	}
	clear(y)
	lexicon.Add(y)
	known := lexicon.Len()
	s, err := Projector{Seen: lexicon, Trials: 1}.Compile(t.Context(), sites, levels)
	require.NoError(t, err)
	v := make([]float32, sites*levels)
	x := make([]int32, sites)
	least := map[string]int{"LogZ": 2, "LogProb": 2, "Draw": 2} // a search is short
	for name, sum := range map[string]func(ctx context.Context, v []float32) error{
		"LogZ":    func(ctx context.Context, v []float32) error { _, err := s.LogZ(ctx, v); return err },
		"LogProb": func(ctx context.Context, v []float32) error { _, err := s.LogProb(ctx, v); return err },
		"Draw": func(ctx context.Context, v []float32) error {
			_, err := s.Draw(ctx, x, v, rand.NewPCG(1, 1))
			return err
		},
		"Nearest": func(ctx context.Context, v []float32) error {
			if v == nil {
				v = make([]float32, sites*levels)
			}
			_, err := s.Nearest(ctx, x, append([]float32(nil), v...))
			return err
		},
	} {
		polls := exact.Cancelled(func(ctx context.Context) error { return sum(ctx, v) },
			func(err error) { require.ErrorIs(t, err, context.Canceled, name) })
		require.Greater(t, polls, least[name], name)
		require.NoError(t, sum(t.Context(), nil), name)
		require.Equal(t, known, lexicon.Len(), name)
	}
	clear(x) // known
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Commit(ended, x, v, nil), context.Canceled)
	require.Equal(t, known, lexicon.Len())
	a, err := s.LogProb(t.Context(), nil)
	require.NoError(t, err)
	b, err := s.LogProb(t.Context(), make([]float32, len(v)))
	require.NoError(t, err)
	require.Equal(t, b, a)
}
