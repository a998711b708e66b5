package grammar

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
)

// TestCounted compares the strings of random lengths and tests with the automaton that computes every
// move, in every pair of states that a text reaches, and the number of states with those reached.
func TestCounted(t *testing.T) {
	r := rand.New(rand.NewPCG(45, 3))
	patterns := []string{"[ab]*", "(a|é)+\n?", "[^\x00]{2,4}", "(ab)*|€*", "[\x00-\x1f\"]+x?", "𐀀*b"}
	for range 120 {
		spec := stringSpec{least: r.IntN(4), most: r.IntN(9) - 3, low: r.IntN(2) == 0, canonical: r.IntN(3) == 0}
		spec.most = max(spec.most, -1)
		for range r.IntN(3) {
			a := byteAutomaton(newTrie([]string{"ab", "é€", "\n\"", "aaaaa"}))
			if i := r.IntN(len(patterns) + 1); i < len(patterns) {
				x, err := text.Regexp(t.Context(), patterns[i], text.Bytes(), constraint.Limits{})
				require.NoError(t, err)
				a = x
			}
			spec.tests = append(spec.tests, test{a: a, want: r.IntN(3) > 0})
		}
		a := newString(spec)
		c := countedOf(newString(spec))
		type pair struct{ a, c int32 }
		seen := map[pair]bool{{}: true}
		todo := []pair{{}}
		inside := map[int32]bool{}
		for len(todo) > 0 {
			p := todo[0]
			todo = todo[1:]
			is, was := p.a >= 0 && a.final(p.a), p.c >= 0 && c.final(p.c)
			require.Equal(t, is, was, "%+v", spec)
			if p.c > 0 && !was {
				inside[p.c] = true
			}
			for b := range 256 {
				to := pair{-1, -1}
				if p.a >= 0 {
					to.a = a.next(p.a, byte(b))
				}
				if p.c >= 0 {
					to.c = c.next(p.c, byte(b))
				}
				if !seen[to] {
					seen[to] = true
					todo = append(todo, to)
				}
			}
		}
		if q := c.next(0, '"'); max(spec.least, spec.most) > 0 {
			require.Equal(t, len(inside), c.reaches(q, 1<<20, nil), "%+v", spec)
		}
	}
}

// Strings of a great length are counted without making their states: the number is that of a walk for
// others, also beyond the integers of 32 bits.
func TestReaches(t *testing.T) {
	pattern, err := text.Regexp(t.Context(), "[ab]*(c|é)?[ab]*", text.Bytes(), constraint.Limits{})
	require.NoError(t, err)
	for _, spec := range []stringSpec{{most: 50}, {least: 40, most: -1}, {least: 30, most: 60}, {least: 60, most: 60}, {least: 2, most: 33},
		{least: 35, most: -1, low: true}, {most: 45, tests: []test{{a: pattern, want: true}}}, {least: 31, most: -1, tests: []test{{a: pattern}}}} {
		c := countedOf(newString(spec))
		start := c.next(0, '"')
		todo, seen := []int32{start}, map[int32]bool{start: true}
		for len(todo) > 0 {
			q := todo[0]
			todo = todo[1:]
			for b := range 256 {
				if to := c.next(q, byte(b)); to >= 0 && !c.final(to) && !seen[to] {
					seen[to] = true
					todo = append(todo, to)
				}
			}
		}
		require.Equal(t, len(seen), c.reaches(start, 1<<20, nil), "%+v", spec)
		require.Greater(t, c.reaches(start, 100, nil), 100, "%+v", spec)
	}
	c := countedOf(newString(stringSpec{most: 1 << 20}))
	require.Greater(t, c.reaches(c.next(0, '"'), 1<<18, nil), 9<<20)
	require.Less(t, len(c.Values), 8)
	third, err := text.Regexp(t.Context(), `(?s).*c.{3}d.*`, text.Bytes(), constraint.Limits{})
	require.NoError(t, err)
	c = countedOf(newString(stringSpec{most: 1<<24 - 1, tests: []test{{a: third, want: true}}}))
	require.Greater(t, c.reaches(c.next(0, '"'), 1<<18, nil), min(math.MaxInt-1, 1<<24*100))
}

// A string whose tests have many states together is refused after as many as the limits allow, and its
// states are counted no longer than the context lasts.
func TestReachesLimits(t *testing.T) {
	schema := []byte(`{"type":"string","minLength":1,"pattern":"^(?=.*a.{5}b)(?=.*c.{5}d)(?=.*e.{5}f)"}`)
	for _, limits := range []constraint.Limits{{States: 1 << 12}, {Bytes: 1 << 21}} {
		g, err := JSONSchema(t.Context(), schema, SchemaConfig{})
		require.NoError(t, err)
		r, err := g.trim(t.Context(), true)
		require.NoError(t, err)
		_, err = r.explore(t.Context(), "", limits)
		var limit *constraint.LimitError
		require.ErrorAs(t, err, &limit)
		found := 0
		for _, v := range r.n.nodes {
			if x, is := v.scalar.(*table); is {
				found++
				require.Less(t, len(x.automaton.(*counted).a.states), 1<<13)
			}
		}
		require.Equal(t, 1, found)
	}
	g, err := JSONSchema(t.Context(), schema, SchemaConfig{})
	require.NoError(t, err)
	_, err = g.explored(&ticking{Context: t.Context(), ends: 20})
	require.ErrorIs(t, err, context.Canceled)
	r, err := g.trim(t.Context(), true)
	require.NoError(t, err)
	for _, v := range r.n.nodes {
		if x, is := v.scalar.(*table); is {
			var m poll.Meter
			ctx := &ticking{Context: t.Context(), ends: 3}
			m.Watch(ctx)
			c := x.automaton.(*counted)
			require.Zero(t, c.reaches(c.next(0, '"'), 1<<30, &m))
			require.Less(t, ctx.looks, 8)
		}
	}
}

// The defaults of the limits are those of their package.
func TestDefaults(t *testing.T) {
	for _, x := range []struct{ states, bytes int }{{defaultStates, 0}, {0, defaultBytes}} {
		require.NoError(t, constraint.Limits{}.Check("", x.states, 0, x.bytes))
		require.Error(t, constraint.Limits{}.Check("", x.states+1, 0, x.bytes+1))
	}
}
