package text

import (
	"context"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
)

// TestEveryPollOfTextsCancels cancels compilations at every point at which they
// look at the context.
func TestEveryPollOfTextsCancels(t *testing.T) {
	for name, compile := range map[string]func(ctx context.Context) (*constraint.DFA, error){
		"Lift": func(ctx context.Context) (*constraint.DFA, error) {
			return Lift(ctx, parity{}, Runes("ab"), constraint.Limits{})
		},
		"Regexp": func(ctx context.Context) (*constraint.DFA, error) {
			return Regexp(ctx, `(a|b)*a(a|b){9}`, Runes("ab"), constraint.Limits{})
		},
		"WordAt": func(ctx context.Context) (*constraint.DFA, error) {
			return WordAt(ctx, Runes("ab "), constraint.Limits{}, -2, " ", "ab")
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
