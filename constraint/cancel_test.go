package constraint

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// countdown is a context that is cancelled at its n-th look.
type countdown struct {
	context.Context
	n *int
}

func (c countdown) Err() error {
	if *c.n--; *c.n < 0 {
		return context.Canceled
	}
	return nil
}

// TestEveryPollCancels cancels compilations at every point at which they look
// at the context.
func TestEveryPollCancels(t *testing.T) {
	even := plain{parity{}}
	for name, compile := range map[string]func(ctx context.Context) (*DFA, error){
		"Compile": func(ctx context.Context) (*DFA, error) {
			return Compile(ctx, Count{Levels: []int32{0}, Min: 600}, 2, Limits{})
		},
		"Lift": func(ctx context.Context) (*DFA, error) { return Lift(ctx, even, Runes("ab"), Limits{}) },
		"Regexp": func(ctx context.Context) (*DFA, error) {
			return Regexp(ctx, `(a|b)*a(a|b){9}`, Runes("ab"), Limits{})
		},
		"Concat": func(ctx context.Context) (*DFA, error) { return Concat(ctx, 2, Limits{}, even, even, even) },
		"TextWordAt": func(ctx context.Context) (*DFA, error) {
			return TextWordAt(ctx, Runes("ab "), Limits{}, -2, " ", "ab")
		},
	} {
		polls := 0
		for ; ; polls++ {
			left := polls
			d, err := compile(countdown{context.Background(), &left})
			if err == nil {
				require.NotNil(t, d)
				break
			}
			require.Nil(t, d)
			require.ErrorIs(t, err, context.Canceled, name)
			if polls > 40 {
				polls += polls / 4 // many polls: look at some
			}
		}
		require.Greater(t, polls, 1, name)
	}
}
