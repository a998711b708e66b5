package prior

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/poll"
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

// Between two polls of the context lies a bounded number of operations, of many hidden
// states or tokens too.
func TestWorkBetweenLooks(t *testing.T) {
	const h, sites = 600, 3
	m := randomHMM(rand.New(rand.NewPCG(1, 1)), h, 2)
	p := Path{HMM: m, Language: constraint.Count{Levels: []int32{1}, Min: 1, Max: 1}}
	c, err := p.Compile(t.Context(), sites, 2)
	require.NoError(t, err)
	x, dst := []int32{1, 0, 0}, make([]float64, 2*sites)
	const sums = (sites - 1) * 2 * h * h // transitions of two states of the language
	for name, sum := range map[string]func(ctx context.Context) error{
		"Compile":   func(ctx context.Context) error { _, err := p.Compile(ctx, sites, 2); return err },
		"LogZ":      func(ctx context.Context) error { _, err := c.LogZ(ctx, nil); return err },
		"LogProb":   func(ctx context.Context) error { _, err := c.LogProb(ctx, x, nil); return err },
		"Marginals": func(ctx context.Context) error { return c.Marginals(ctx, dst, nil) },
	} {
		looks, err := exact.Looks(sum)
		require.NoError(t, err, name)
		require.GreaterOrEqual(t, looks, sums/poll.Every, name)
	}
}

// A token of a language that tells all tokens apart is looked up once, not once for each
// other token: the work is what the meter counts.
func BenchmarkManyTokens(b *testing.B) {
	const k = 400
	uniform := make([]float64, k)
	for i := range uniform {
		uniform[i] = 1.0 / k
	}
	p := Path{HMM: Markov(uniform, slices.Repeat(uniform, k)), Language: distinct(k)}
	for b.Loop() {
		if _, err := p.Compile(b.Context(), 2, k); err != nil {
			b.Fatal(err)
		}
	}
}

// distinct is the language of the sequences of k tokens without two equal ones in a row.
type distinct int

func (d distinct) States() int { return int(d) + 1 }
func (d distinct) Start() int  { return int(d) }
func (d distinct) Next(state int, token int32) int {
	if state == int(token) {
		return -1
	}
	return int(token)
}
func (d distinct) Accepting(int) bool { return true }
