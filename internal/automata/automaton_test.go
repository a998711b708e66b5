package automata

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

type claims struct{ valid, finite error }

func (c *claims) Validate() error { return c.valid }
func (c *claims) Finite() error   { return c.finite }

// What no table can hold is named before anything is compiled: nil, fields out of range, too
// many states.
func TestTabulable(t *testing.T) {
	bad, large := errors.New("bad field"), errors.New("no table")
	require.EqualError(t, Tabulable(nil), "language = nil, want one")
	require.EqualError(t, Validate((*claims)(nil)), "language = (*automata.claims)(nil), want one")
	require.NoError(t, Tabulable(&Table{}))
	require.NoError(t, Tabulable(&claims{}))
	require.Equal(t, large, Tabulable(&claims{finite: large}))
	require.Equal(t, bad, Tabulable(&claims{bad, large}))
	require.NoError(t, Validate(&claims{finite: large}))
}
