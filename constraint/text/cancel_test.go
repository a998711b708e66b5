package text

import (
	"context"
	"slices"
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

// A long list of words is read under the context: it ends before the last word, which is
// wrong, is met.
func TestWordsAreReadUnderTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	list := append(slices.Repeat([]string{"long"}, 1000), "")
	_, err := Words(ctx, Bytes(), constraint.Limits{}, " ", list...)
	require.ErrorIs(t, err, context.Canceled)
	var argument *constraint.ArgumentError
	_, err = Words(t.Context(), Bytes(), constraint.Limits{}, " ", list...)
	require.ErrorAs(t, err, &argument)
}
