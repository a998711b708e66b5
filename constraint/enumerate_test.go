package constraint

import (
	"context"

	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
)

// testingT is a *testing.T or a *rapid.T.
type testingT interface {
	require.TestingT
	Helper()
}

// requireLanguage compares an automaton with a predicate on every sequence of
// at most length tokens, then its compiled form, then the properties that both have.
func requireLanguage(t testingT, a Automaton, levels, length int, want func(x []int32) bool) {
	t.Helper()
	exact.Accepts(t, a, levels, length, want)
	requireClasses(t, a, levels)
	d, err := Compile(context.Background(), a, levels, Limits{})
	if err != nil {
		require.ErrorIs(t, err, ErrInfeasible)
		exact.Sequences(levels, length, func(x []int32) { require.False(t, want(x), "%v", x) })
		return
	}
	exact.Accepts(t, d, levels, length, want)
	exact.Minimal(t, d)
}

// requireClasses walks the reachable states and checks that tokens of a class
// agree and that every state number is below States.
func requireClasses(t testingT, a Automaton, levels int) {
	t.Helper()
	of, n := automata.Classes(a, levels)
	require.Len(t, of, levels)
	rep := automata.Representatives(of, n)
	for c, r := range rep {
		require.Equal(t, int32(c), of[r], "class %d has no token", c)
	}
	seen := map[int]bool{a.Start(): true}
	queue := []int{a.Start()}
	for len(queue) > 0 && len(seen) < 2000 {
		s := queue[0]
		queue = queue[1:]
		require.True(t, s >= 0 && s < a.States(), "state %d of %d", s, a.States())
		for token := range int32(levels) {
			to := a.Next(s, token)
			require.Equal(t, a.Next(s, rep[of[token]]), to, "state %d token %d", s, token)
			if to >= 0 && !seen[to] {
				seen[to] = true
				queue = append(queue, to)
			}
		}
	}
}
