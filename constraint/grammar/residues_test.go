package grammar

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
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

// numbersAt returns the distinct automata of numbers of a network: those that are minimal, and others.
func numbersAt(n *network) (minimal []*constraint.DFA, others []*numberAutomaton) {
	seen := map[automaton]bool{}
	for _, v := range n.nodes {
		for _, to := range v.free {
			t, is := n.nodes[to].scalar.(*table)
			if !is || seen[t.automaton] {
				continue
			}
			seen[t.automaton] = true
			switch a := t.automaton.(type) {
			case terminal:
				if d, is := a.byteAutomaton.(*constraint.DFA); is {
					minimal = append(minimal, d)
				}
			case *numberAutomaton:
				others = append(others, a)
			}
		}
	}
	return minimal, others
}

// Numbers with the same bounds are united wherever they are among others, and not at all if there are too
// many residues.
func TestUniteSets(t *testing.T) {
	for schema, want := range map[string][2]int{
		`{"anyOf":[{"type":"number","multipleOf":3,"minimum":0},{"type":"number","multipleOf":4},{"type":"number","multipleOf":5,"minimum":0},{"type":"number","multipleOf":7}]}`: {2, 0},
		`{"type":"number","multipleOf":0.0017}`:    {1, 0},
		`{"type":"number","multipleOf":0.0000017}`: {1, 0},
		`{"anyOf":[{"type":"number","multipleOf":0.003},{"type":"number","multipleOf":0.007},{"type":"number","multipleOf":0.011}]}`: {1, 0},
		`{"anyOf":[` + listed(90, `{"type":"number","multipleOf":1%d1}`) + `]}`:                                                      {0, 90},
	} {
		g, err := JSONSchema(t.Context(), []byte(schema), SchemaConfig{})
		require.NoError(t, err)
		r, err := g.trim(t.Context(), true)
		require.NoError(t, err)
		minimal, others := numbersAt(r.n)
		require.Equal(t, want, [2]int{len(minimal), len(others)}, schema)
	}
}

// The numbers of many properties are made minimal only as long as the limits allow, and those that are not
// keep no states that were made for it.
func TestUniteLimits(t *testing.T) {
	const states = 1 << 13
	schema := `{"properties":{` + listed(60, `"a%d":{"type":"number","multipleOf":7%d,"minimum":%d}`) + `},"additionalProperties":false}`
	g, err := JSONSchema(t.Context(), []byte(schema), SchemaConfig{Limits: constraint.Limits{States: states}})
	require.NoError(t, err)
	r, err := g.trim(t.Context(), true)
	require.NoError(t, err)
	minimal, others := numbersAt(r.n)
	sum, kept, failed := 0, 0, 0
	for _, a := range minimal {
		sum += a.States()
	}
	for _, a := range others {
		if a.good == nil {
			kept++
		} else {
			failed++
			require.Len(t, a.Values, 1)
		}
	}
	require.Positive(t, sum)
	require.Positive(t, failed)
	require.Less(t, sum, states)
	require.Greater(t, kept, 30)
}

// The union of many numbers ends with its context.
func TestUniteLooks(t *testing.T) {
	numbers := []string{`{"type":"number","multipleOf":8192}`}
	for i := 1; i <= 1<<10; i *= 2 {
		numbers = append(numbers, fmt.Sprintf(`{"type":"number","multipleOf":%d},{"type":"number","multipleOf":%d}`, 3*i, 5*i))
	}
	g, err := JSONSchema(t.Context(), []byte(`{"anyOf":[`+strings.Join(numbers, ",")+`]}`), SchemaConfig{})
	require.NoError(t, err)
	ctx := &ticking{Context: t.Context(), ends: math.MaxInt}
	_, err = g.trim(ctx, true)
	require.NoError(t, err)
	require.Greater(t, ctx.looks, 20)
	_, err = g.trim(&ticking{Context: t.Context(), ends: ctx.looks / 2}, true)
	require.ErrorIs(t, err, context.Canceled)
}
