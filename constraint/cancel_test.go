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
