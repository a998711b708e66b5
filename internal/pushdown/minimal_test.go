package pushdown

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
)

// TestMinimal compares languages, text by text, and the number of states with that of
// pairs distinguished one by one.
func TestMinimal(t *testing.T) {
	exact.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(11, 17))
	before, after, dead, symbols := 0, 0, 0, 0
	for range 300 {
		m := copied(r, randomMachine(r, 2))
		require.NoError(t, m.Check())
		n, err := m.Minimal(t.Context())
		require.NoError(t, err)
		live, err := m.living(nil)
		require.NoError(t, err)
		if n == nil {
			dead++
			require.False(t, live[m.Start])
			each(7, 3, func(x []int32) {
				require.False(t, m.Accepts(strings.Map(func(r rune) rune { return 'a' + r }, string(x))))
			})
			continue
		}
		require.NoError(t, n.Check())
		each(7, 3, func(x []int32) { // letters, up to the first 2
			b := make([]byte, 0, 7)
			for _, c := range x {
				if c == 2 {
					break
				}
				b = append(b, 'a'+byte(c))
			}
			if m.Accepts(string(b)) != n.Accepts(string(b)) {
				t.Fatalf("%q: %v, want %v", b, n.Accepts(string(b)), m.Accepts(string(b)))
			}
		})
		require.Len(t, n.Level, different(m, live))
		before, after, symbols = before+len(m.Level), after+len(n.Level), symbols+len(n.Resume)
	}
	require.Less(t, after, before/2)
	require.Greater(t, symbols, 100)
	require.Greater(t, dead, 3)
}

// A return without any call leads nowhere.
func TestMinimalWithoutCalls(t *testing.T) {
	m := &Machine{Classes: 2, Levels: 1, Level: []int32{0, 0}, Accept: []bool{true, false}}
	m.Class['a'] = 1
	m.Rows = rowsOf(2, []Move{{}, {Kind: Inside, To: 1}, {Kind: Return}, {Kind: Inside}})
	require.NoError(t, m.Check())
	n, err := m.Minimal(t.Context())
	require.NoError(t, err)
	require.NoError(t, n.Check())
	require.Equal(t, []Move{{}, {Kind: Inside}}, n.Rows.all(1), "the return is dead")
}

// copied returns m with every state twice, so that moves lead to either.
func copied(r *rand.Rand, m *Machine) *Machine {
	n := int32(len(m.Level))
	two := func(q int32) int32 {
		if q < 0 {
			return q
		}
		return q + n*r.Int32N(2)
	}
	c := &Machine{Class: m.Class, Classes: m.Classes, Levels: m.Levels, Start: two(m.Start)}
	var moves []Move
	for range 2 {
		c.Level, c.Accept = append(c.Level, m.Level...), append(c.Accept, m.Accept...)
		for q := range int32(len(m.Level)) {
			for _, a := range m.Rows.all(q) {
				if a.Kind == Inside || a.Kind == Call {
					a.To = two(a.To)
				}
				if a.Kind == Call {
					a.Symbol += int32(len(m.Resume)) * r.Int32N(2)
				}
				moves = append(moves, a)
			}
		}
	}
	c.Rows = rowsOf(c.Classes, moves)
	for range 2 {
		for _, row := range m.Resume {
			x := make([]int32, len(row))
			for i, q := range row {
				x[i] = two(q)
			}
			c.Resume = append(c.Resume, x)
		}
	}
	return c
}

// different counts the classes of living states, by the definition: two differ
// if their levels or ends do, or a move of theirs, or what follows it.
func different(m *Machine, live []bool) int {
	n, g := len(m.Level), len(m.Resume)
	returns := len(m.Resume[0])
	calls, rets := make([]bool, g), make([]bool, returns) // in use
	for q := range n {
		for _, a := range m.Rows.all(int32(q)) {
			if live[q] && m.leads(a, live) && a.Kind == Call {
				calls[a.Symbol] = true
			} else if live[q] && a.Kind == Return {
				rets[a.Symbol] = true
			}
		}
	}
	distinct := make([][]bool, n) // states
	for i := range distinct {
		distinct[i] = make([]bool, n)
	}
	differ := func(a, b int32) bool {
		x, y := a >= 0 && live[a], b >= 0 && live[b]
		return x != y || x && distinct[a][b]
	}
	call := func(a, b int32) bool {
		for r := range returns {
			if rets[r] && differ(m.Resume[a][r], m.Resume[b][r]) {
				return true
			}
		}
		return false
	}
	ret := func(a, b int32) bool {
		for i := range g {
			if calls[i] && differ(m.Resume[i][a], m.Resume[i][b]) {
				return true
			}
		}
		return false
	}
	for again := true; again; {
		again = false
		for a := range n {
			for b := range n {
				if distinct[a][b] || !live[a] || !live[b] {
					continue
				}
				d := m.Level[a] != m.Level[b] || m.ends(int32(a)) != m.ends(int32(b))
				for c, x := range m.Rows.all(int32(a)) {
					y := m.Rows.all(int32(b))[c]
					if !m.leads(x, live) {
						x = Move{}
					}
					if !m.leads(y, live) {
						y = Move{}
					}
					switch {
					case x.Kind != y.Kind:
						d = true
					case x.Kind == Inside:
						d = d || differ(x.To, y.To)
					case x.Kind == Call:
						d = d || differ(x.To, y.To) || call(x.Symbol, y.Symbol)
					case x.Kind == Return:
						d = d || ret(x.Symbol, y.Symbol)
					}
				}
				if d {
					distinct[a][b], again = true, true
				}
			}
		}
	}
	count := 0
	for a := range n {
		first := live[a]
		for b := range a {
			first = first && (!live[b] || distinct[a][b])
		}
		if first {
			count++
		}
	}
	return count
}
