package constraint

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
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
