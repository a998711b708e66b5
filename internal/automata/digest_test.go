package automata

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Digests agree exactly where languages do: whatever the states are called and
// how many of them are equivalent.
func TestDigestIsOfTheLanguage(t *testing.T) {
	ctx := context.Background()
	const sites = 20 // beyond all states of a table
	rapid.Check(t, func(rt *rapid.T) {
		a, b := drawTable(rt), drawTable(rt)
		least, err := Minimal(ctx, a)
		require.NoError(rt, err)
		other, err := Minimal(ctx, b)
		require.NoError(rt, err)
		digest := func(a Automaton, levels int) uint64 {
			d, err := Digest(ctx, a, sites, levels)
			require.NoError(rt, err)
			return d
		}
		if least != nil {
			require.Equal(rt, digest(least, a.Levels()), digest(a, a.Levels()))
		}
		if a.Levels() == b.Levels() {
			same := reflect.DeepEqual(least, other)
			require.Equal(rt, same, digest(a, a.Levels()) == digest(b, b.Levels()))
		}
	})
}

// ring has more table entries than are written out: token k leads from s to
// s + k + skip.
type ring struct{ states, skip int }

func (r ring) States() int                     { return r.states }
func (r ring) Start() int                      { return 0 }
func (r ring) Next(state int, token int32) int { return (state + int(token) + r.skip) % r.states }
func (r ring) Accepting(state int) bool        { return state%3 == 0 }

func TestDigestOfLargeAutomata(t *testing.T) {
	if testing.Short() {
		t.Skip("walks four million edges")
	}
	ctx := context.Background()
	const levels = 2048
	digest := func(r ring) uint64 {
		require.Greater(t, r.states*levels, canonEntries)
		d, err := Digest(ctx, r, 6, levels)
		require.NoError(t, err)
		return d
	}
	one := digest(ring{2100, 1})
	require.Equal(t, one, digest(ring{2100, 1}))
	require.NotEqual(t, one, digest(ring{2100, 2}))
	require.NotEqual(t, one, digest(ring{2101, 1}))
}

func TestDigestEndsWithItsContext(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	_, err := Digest(ctx, ring{5, 1}, 6, 2)
	require.ErrorIs(t, err, cause)
}

// named says what it is called; plain does not.
type named struct{ ring }

func (named) String() string { return "a ring" }

func TestNames(t *testing.T) {
	require.Equal(t, "a ring", Name(named{}))
	require.Equal(t, "automata.ring", Name(ring{}))
	require.Equal(t, "automata.ring", Name(&ring{}))
}

// Tokens that a table does not know are dead, and a class of their own.
func TestUnknownTokens(t *testing.T) {
	table := &Table{Class: []int32{0, 1, 0}, Width: 2, To: []int32{0, -1}, Final: []bool{true}}
	require.Equal(t, -1, table.Next(0, 3))
	require.Equal(t, -1, table.Next(0, -1))
	of, n := table.Classes(5)
	require.Equal(t, []int32{0, 1, 0, 2, 2}, of)
	require.Equal(t, 3, n)
	of, n = table.Classes(3)
	require.Equal(t, table.Class, of)
	require.Equal(t, 2, n)
	of, n = table.Classes(2)
	require.Equal(t, []int32{0, 1}, of)
	require.Equal(t, 2, n)
}
