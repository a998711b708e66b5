package grammar

import (
	"math/rand/v2"
	"testing"

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
			require.Equal(t, len(inside), c.reaches(q, 1<<20), "%+v", spec)
		}
	}
}

// Strings of a great length are refused without making their states.
func TestReaches(t *testing.T) {
	c := countedOf(newString(stringSpec{most: 1 << 20}))
	require.Greater(t, c.reaches(c.next(0, '"'), 1<<18), 9<<20)
	require.Less(t, len(c.states), 8)
}
