package constraint

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// TestEveryPollCancels cancels compilations at every point at which they look
// at the context.
func TestEveryPollCancels(t *testing.T) {
	even, err := NewResidue([]int{1, 0}, 2, 0)
	require.NoError(t, err)
	for name, compile := range map[string]func(ctx context.Context) (*DFA, error){
		"Compile": func(ctx context.Context) (*DFA, error) {
			return Compile(ctx, Count{Levels: []int32{0}, Min: 600, Max: Unbounded}, 2, Limits{})
		},
		"Concat": func(ctx context.Context) (*DFA, error) {
			return Concat(ctx, 2, Limits{}, plain{even}, plain{even}, plain{even})
		},
	} {
		looks := exact.Cancelled(func(ctx context.Context) error {
			d, err := compile(ctx)
			require.Equal(t, err == nil, d != nil, name)
			return err
		}, func(err error) { require.ErrorIs(t, err, context.Canceled, name) })
		require.Greater(t, looks, 1, name)
	}
}

// Between two polls of the context lies a bounded number of operations, whatever takes
// them: states, tokens of few states, or transitions.
func TestWorkBetweenLooks(t *testing.T) {
	even, err := NewResidue([]int{1, 0}, 2, 0)
	require.NoError(t, err)
	const levels, states = 1 << 17, 1 << 6
	r, next := rand.New(rand.NewPCG(1, 1)), make([]int32, states*levels/32)
	for i := range next {
		next[i] = int32(r.IntN(states))
	}
	end := make([]bool, states)
	end[1] = true
	for name, c := range map[string]struct {
		operations int
		run        func(ctx context.Context) error
	}{
		"Compile of many tokens": {2 * levels, func(ctx context.Context) error {
			_, err := Compile(ctx, plain{even}, levels, Limits{})
			return err
		}},
		"NewDFA of many transitions": {6 * len(next), func(ctx context.Context) error {
			_, err := NewDFA(ctx, levels/32, next, end)
			return err
		}},
		"Concat of many tokens": {2 * levels, func(ctx context.Context) error {
			_, err := Concat(ctx, levels, Limits{}, plain{even}, plain{even})
			return err
		}},
	} {
		looks, err := exact.Looks(c.run)
		require.NoError(t, err, name)
		require.GreaterOrEqual(t, looks, c.operations/poll.Every, name)
	}
}

// A table that is read or given is made minimal under a context, a read one also within
// limits.
func TestReadDFA(t *testing.T) {
	d, err := Compile(t.Context(), Count{Levels: []int32{0}, Min: 600, Max: Unbounded}, 2, Limits{})
	require.NoError(t, err)
	d = d.Named("many")
	b, err := d.MarshalBinary()
	require.NoError(t, err)
	for name, build := range map[string]func(ctx context.Context) (*DFA, error){
		"ReadDFA": func(ctx context.Context) (*DFA, error) { return ReadDFA(ctx, b, Limits{}) },
		"NewDFA":  func(ctx context.Context) (*DFA, error) { return NewDFA(ctx, 2, expand(d), d.table.Final) },
	} {
		looks := exact.Cancelled(func(ctx context.Context) error {
			again, err := build(ctx)
			if err == nil {
				require.Equal(t, d.table, again.table, name)
			}
			return err
		}, func(err error) { require.ErrorIs(t, err, context.Canceled, name) })
		require.Positive(t, looks, name) // minimisation polls at the start and every 2²⁰ transitions
	}
	var limit *LimitError
	_, err = ReadDFA(t.Context(), b, Limits{States: 600})
	require.ErrorAs(t, err, &limit)
	_, err = ReadDFA(t.Context(), b[1:], Limits{})
	require.Error(t, err)
}
