package grammar

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNumbersComplete compares the answers of completes for every state of random numbers with a
// search of the whole automaton.
func TestNumbersComplete(t *testing.T) {
	r := rand.New(rand.NewPCG(45, 1))
	pick := func(list ...json.Number) decimal {
		d, err := parseDecimal(list[r.IntN(len(list))])
		require.NoError(t, err)
		return d
	}
	const most = 20_000
	answers := map[bool]int{}
	for range 150 {
		spec := numberSpec{integer: r.IntN(3) == 0}
		spec.whole = spec.integer && r.IntN(2) == 0
		for range 1 + r.IntN(3) {
			spec.steps = append(spec.steps, step{pick("2", "3", "4", "5", "6", "0.5", "2.5", "0.25", "1"), r.IntN(2) == 0})
		}
		for range r.IntN(3) {
			spec.bounds = append(spec.bounds, bound{pick("-12", "-7.5", "-1", "0", "0.3", "2", "7.5", "31", "120"), r.IntN(2) == 0, r.IntN(2) == 0})
		}
		if r.IntN(3) == 0 {
			spec.except = append(spec.except, pick("0", "6", "-5", "2.5"))
		}
		a, err := newNumber(spec)
		require.NoError(t, err)
		into := map[int32][]int32{}
		for q := int32(0); int(q) < len(a.Values) && len(a.Values) < most; q++ {
			for _, b := range []byte("0123456789.-") {
				if to := a.next(q, b); to >= 0 {
					into[to] = append(into[to], q)
				}
			}
		}
		if len(a.Values) >= most {
			continue
		}
		var todo []int32
		live := map[int32]bool{}
		for q := range int32(len(a.Values)) {
			if a.final(q) {
				live[q] = true
				todo = append(todo, q)
			}
		}
		for len(todo) > 0 {
			q := todo[0]
			todo = todo[1:]
			for _, p := range into[q] {
				if !live[p] {
					live[p] = true
					todo = append(todo, p)
				}
			}
		}
		for q := range int32(len(a.Values)) {
			if yes, sure := a.completes(q); sure {
				answers[yes]++
				require.Equal(t, live[q], yes, "%+v in state %+v", spec, a.Values[q])
			}
		}
	}
	require.Greater(t, min(answers[true], answers[false]), 1000)
}

// The whole numbers of these divisors have a least common multiple of 10²², beyond an int64. None
// remains, because one divisor is unwanted, too.
func TestDivisorsWithoutMultiples(t *testing.T) {
	var spec numberSpec
	for _, by := range []json.Number{"0.009973", "0.009967", "0.009949", "0.009941"} {
		d, err := parseDecimal(by)
		require.NoError(t, err)
		spec.steps = append(spec.steps, step{d, true})
	}
	spec.integer = true
	spec.steps = append(spec.steps, step{spec.steps[0].by, false})
	a, err := newNumber(spec)
	require.NoError(t, err)
	yes, sure := a.completes(0)
	require.Equal(t, []bool{false, true}, []bool{yes, sure})
}
