package pushdown

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Machines read in place what does not recur, and their texts are those of before.
func TestFlat(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	flat, calls := 0, 0
	for range 3000 {
		m := randomMachine(r, 2)
		f := m.Flat()
		if f == m {
			continue
		}
		flat++
		require.NoError(t, f.Check())
		if slices.ContainsFunc(f.Rows.moves, func(a Move) bool { return a.Kind == Call }) {
			calls++
		}
		texts := 0
		each(7, 2, func(x []int32) {
			for n := range len(x) + 1 {
				s := ""
				for _, c := range x[:n] {
					s += string('a' + c)
				}
				want := m.Accepts(s)
				require.Equal(t, want, f.Accepts(s), s)
				if want {
					texts++
				}
			}
		})
	}
	require.Greater(t, flat, 50)
	require.Greater(t, calls, 10)
	require.Less(t, calls, flat)
}

// Sums over a flat machine are those over the one that calls.
func TestFlatSums(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	judged := 0
	for range 2000 {
		m := randomMachine(r, 2)
		f := m.Flat()
		if f == m {
			continue
		}
		v := randomTokens(r, 2, 5)
		w := randomWeights(r, 9*v.Tokens(), 1)
		sum := func(m *Machine) (float64, error) {
			g := lifted(t, m, v)
			return NewRunner(g, 9, g.Tokens()).Filter(w)
		}
		want, err := sum(m)
		got, flat := sum(f)
		require.Equal(t, err == nil, flat == nil)
		if err == nil {
			require.InDelta(t, want, got, 1e-12*max(1, math.Abs(want)))
			judged++
		}
	}
	require.Greater(t, judged, 20)
}
