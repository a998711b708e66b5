package grammar

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// TestUnited compares the minimal automaton of the union of random numbers with all automata of these
// numbers, in every combination of states that a text reaches.
func TestUnited(t *testing.T) {
	r := rand.New(rand.NewPCG(45, 2))
	pick := func(list ...json.Number) decimal {
		d, err := parseDecimal(list[r.IntN(len(list))])
		require.NoError(t, err)
		return d
	}
	accepted, fewer := 0, 0
	for range 120 {
		spec := numberSpec{integer: r.IntN(3) == 0, canonical: r.IntN(4) == 0}
		spec.whole = spec.integer && r.IntN(2) == 0
		for range r.IntN(3) {
			spec.bounds = append(spec.bounds, bound{pick("-12", "-7.5", "-1", "0", "0.3", "2", "7.5", "31", "120"), r.IntN(2) == 0, r.IntN(2) == 0})
		}
		if r.IntN(3) == 0 {
			spec.except = append(spec.except, pick("0", "6", "-5", "2.5"))
		}
		var all []*numberAutomaton
		for range 1 + r.IntN(3) {
			spec.steps = nil
			for range 1 + r.IntN(3) {
				spec.steps = append(spec.steps, step{pick("2", "3", "4", "5", "6", "7", "12", "0.5", "2.5", "0.25", "1"), r.IntN(2) == 0})
			}
			a, err := numbersOf(spec)
			require.NoError(t, err)
			all = append(all, a)
		}
		u := united(all, nil)
		require.NotNil(t, u)
		m, _, err := u.minimal(context.Background(), constraint.Limits{States: 1 << 14})
		require.NoError(t, err)
		type places struct{ m, a, b, c int32 }
		start := places{m.start(), 0, 0, 0}
		seen := map[places]bool{start: true}
		todo := []places{start}
		for len(todo) > 0 && len(seen) < 20_000 {
			p := todo[0]
			todo = todo[1:]
			states := []*int32{&p.a, &p.b, &p.c}
			is := false
			for i, a := range all {
				is = is || *states[i] >= 0 && a.final(*states[i])
			}
			require.Equal(t, is, p.m >= 0 && m.final(p.m), "%+v", spec)
			accepted += int(bit(is))
			for _, b := range []byte("0123456789.-e") {
				to := places{-1, -1, -1, -1}
				if p.m >= 0 {
					to.m = m.next(p.m, b)
				}
				for i, next := range []*int32{&to.a, &to.b, &to.c}[:len(all)] {
					if *states[i] >= 0 {
						*next = all[i].next(*states[i], b)
					}
				}
				if !seen[to] {
					seen[to] = true
					todo = append(todo, to)
				}
			}
		}
		if u.class != nil {
			for q, c := range u.class {
				fewer += int(bit(int(c) != q))
			}
		}
	}
	require.Greater(t, accepted, 10_000)
	require.Greater(t, fewer, 1000)
}

// Residues modulo 3 · 4 act alike if they agree modulo 3 and lead to the same multiples of 4: one class
// for each residue modulo 3 of odd and of even numbers, and one more for the residue 0.
func TestAlikeResidues(t *testing.T) {
	good := make([]bool, 12)
	good[0] = true
	require.Equal(t, []int32{0, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5}, alikeResidues(good))
	for p, n := range []int{1, 6, 9, 12} {
		x := make([]int, n)
		for i := range x {
			x[i] = i % (p + 1)
		}
		require.Equal(t, p+1, period(x))
	}
}
