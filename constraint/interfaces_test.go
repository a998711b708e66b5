package constraint_test

import (
	"context"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/stretchr/testify/require"
)

type (
	wrappedDFA     struct{ *constraint.DFA }
	wrappedProduct struct{ *constraint.Intersection }
)

// never embeds Any and takes a token out.
type never struct{ constraint.Any }

func (never) Next(state int, token int32) int {
	if token == 2 {
		return -1
	}
	return state
}

// What a language can do is asked through interfaces: a wrapper is compiled,
// intersected and complemented as what it embeds.
func TestWrappedLanguages(t *testing.T) {
	ctx := context.Background()
	d, err := constraint.Compile(ctx, constraint.Count{Levels: []int32{1}, Min: 2, Max: 3}, 3, constraint.Limits{})
	require.NoError(t, err)
	same, err := constraint.Compile(ctx, wrappedDFA{d}, 3, constraint.Limits{States: 1})
	require.NoError(t, err)
	require.Same(t, d, same)

	mask, err := constraint.NewMask(3, [][]int32{{0, 1}})
	require.NoError(t, err)
	for _, all := range []constraint.Automaton{constraint.Any{}, &constraint.Any{}} {
		p, err := constraint.Intersect(all, mask, d)
		require.NoError(t, err)
		rest, m := constraint.Split(p)
		require.NotNil(t, m)
		require.Equal(t, constraint.Automaton(d), rest)
	}

	// What embeds Any may have changed it: it stays.
	p, err := constraint.Intersect(never{}, mask, d)
	require.NoError(t, err)
	require.Len(t, p.Parts(), 3)
	rest, _ := constraint.Split(p)
	require.False(t, constraint.Accepts(rest, []int32{1, 1, 2}))

	p, err = constraint.Intersect(d, mask)
	require.NoError(t, err)
	for _, part := range []constraint.Automaton{p, wrappedProduct{p}, &wrappedProduct{p}} {
		q, err := constraint.Intersect(part, constraint.Count{Levels: []int32{2}, Max: 1})
		require.NoError(t, err)
		require.Len(t, q.Parts(), 3)
	}
}

// negation wraps a complement, which knows what it is the complement of.
type negation struct{ complemented }

type complemented interface {
	constraint.Automaton
	Complement() constraint.Automaton
}

func TestWrappedComplement(t *testing.T) {
	c := constraint.Count{Levels: []int32{1}, Max: 1}
	n, ok := constraint.Complement(c).(complemented)
	require.True(t, ok)
	require.Equal(t, constraint.Automaton(c), constraint.Complement(negation{n}))
	require.Equal(t, constraint.Automaton(c), constraint.Complement(n))
}
