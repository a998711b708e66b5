package constraint

import (
	"context"

	"github.com/stretchr/testify/require"
)

// testingT is a *testing.T or a *rapid.T.
type testingT interface {
	require.TestingT
	Helper()
}

// sequences calls f with every sequence of at most length tokens below levels,
// shortest first. f must not keep the slice.
func sequences(levels, length int, f func(x []int32)) {
	for n := range length + 1 {
		x := make([]int32, n)
		for {
			f(x)
			i := 0
			for ; i < n; i++ {
				if x[i]++; int(x[i]) < levels {
					break
				}
				x[i] = 0
			}
			if i == n {
				break
			}
		}
	}
}

// requireLanguage compares an automaton with a predicate on every sequence of
// at most length tokens, then its compiled form, then the laws that both obey.
func requireLanguage(t testingT, a Automaton, levels, length int, want func(x []int32) bool) {
	t.Helper()
	requireAccepts(t, a, levels, length, want)
	requireClasses(t, a, levels)
	d, err := Compile(context.Background(), a, levels, Limits{})
	if err != nil {
		require.ErrorIs(t, err, ErrInfeasible)
		sequences(levels, length, func(x []int32) { require.False(t, want(x), "%v", x) })
		return
	}
	requireAccepts(t, d, levels, length, want)
	requireMinimal(t, d)
}

func requireAccepts(t testingT, a Automaton, levels, length int, want func(x []int32) bool) {
	t.Helper()
	sequences(levels, length, func(x []int32) {
		if got := Accepts(a, x); got != want(x) {
			require.Failf(t, "disagreement", "%T accepts %v: %v", a, x, got)
		}
	})
}

// requireClasses walks the reachable states and checks that tokens of a class
// agree and that every state number is below States.
func requireClasses(t testingT, a Automaton, levels int) {
	t.Helper()
	of, n := Classes(a, levels)
	require.Len(t, of, levels)
	rep := representatives(of, n)
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

// requireMinimal checks by the table-filling method that no two states of d are
// equivalent, that every state is reachable and lives, and that no two classes
// have equal columns.
func requireMinimal(t testingT, d *DFA) {
	t.Helper()
	n, k := d.States(), d.classes
	distinct := make([][]bool, n)
	for i := range distinct {
		distinct[i] = make([]bool, n)
		for j := range distinct[i] {
			distinct[i][j] = d.accepting[i] != d.accepting[j]
		}
	}
	for changed := true; changed; {
		changed = false
		for i := range n {
			for j := range i {
				for c := 0; c < k && !distinct[i][j]; c++ {
					p, q := d.next[i*k+c], d.next[j*k+c]
					if p != q && (p < 0 || q < 0 || distinct[p][q]) {
						distinct[i][j], distinct[j][i], changed = true, true, true
					}
				}
			}
		}
	}
	live, reached := make([]bool, n), make([]bool, n)
	copy(live, d.accepting)
	reached[0] = true
	for range n {
		for s := range n {
			for c := range k {
				if to := d.next[s*k+c]; to >= 0 {
					live[s] = live[s] || live[to]
					reached[to] = reached[to] || reached[s]
				}
			}
		}
	}
	for i := range n {
		require.True(t, live[i] && reached[i], "state %d: live %v, reached %v", i, live[i], reached[i])
		for j := range i {
			require.True(t, distinct[i][j], "states %d and %d are equivalent", i, j)
		}
	}
	for c := range k {
		for e := range c {
			same := true
			for s := range n {
				same = same && d.next[s*k+c] == d.next[s*k+e]
			}
			require.False(t, same, "classes %d and %d are equal", c, e)
		}
	}
}
