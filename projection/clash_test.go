package projection

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// TestClash: random parts that exclude each other together. What is named excludes
// each other, and nothing of it can be spared, by enumeration.
func TestClash(t *testing.T) {
	r := rand.New(rand.NewPCG(71, 1))
	clashes := 0
	for range 400 {
		parts := make([]constraint.Automaton, 0, 5)
		byName := map[string]constraint.Automaton{}
		for len(parts) < 5 {
			next := make([]int32, 6)
			for i := range next {
				next[i] = int32(r.IntN(4)) - 1
			}
			d, err := constraint.NewDFA(t.Context(), 2, next, []bool{r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(2) == 0})
			if err != nil {
				continue // empty by itself
			}
			d = d.Named(string(rune('A' + len(parts))))
			byName[d.String()] = d
			parts = append(parts, d)
		}
		both, err := constraint.Intersect(parts...)
		require.NoError(t, err)
		_, err = Path{Language: both}.Compile(t.Context(), 4, 2)
		common := func(names []string) bool {
			found := false
			exact.Sequences(2, 4, func(x []int32) {
				ok := len(x) == 4
				for _, name := range names {
					ok = ok && constraint.Accepts(byName[name], x)
				}
				found = found || ok
			})
			return found
		}
		if common([]string{"A", "B", "C", "D", "E"}) {
			require.NoError(t, err)
			continue
		}
		clashes++
		var dead *InfeasibleError
		require.ErrorAs(t, err, &dead)
		require.NotEmpty(t, dead.Clash)
		require.False(t, common(dead.Clash))
		for i := range dead.Clash {
			var fewer []string
			fewer = append(append(fewer, dead.Clash[:i]...), dead.Clash[i+1:]...)
			require.True(t, common(fewer), "%v without one", dead.Clash)
		}
	}
	require.Greater(t, clashes, 100)
}

func TestClashIsInTheMessage(t *testing.T) {
	has, err := constraint.Contains([]int32{1})
	require.NoError(t, err)
	d, err := constraint.Compile(t.Context(), has, 2, constraint.Limits{})
	require.NoError(t, err)
	both, err := constraint.Intersect(constraint.Any{}, d.Named("a one"), constraint.Count{Levels: []int32{1}, Max: 0})
	require.NoError(t, err)
	_, err = Path{Language: both, Name: "code"}.Compile(t.Context(), 3, 2)
	require.EqualError(t, err, "projection: code at site 3: no sequence satisfies the constraint (because of a one and Count{Levels:[1] Min:0 Max:0} together)")
	_, err = Path{Language: d}.Compile(t.Context(), 3, 1)
	require.ErrorContains(t, err, "no sequence satisfies the constraint")
}

// TestNearestWithMaskedNaN: weights that are no numbers at tokens that the language
// cannot use count as impossible; at others they are errors.
func TestNearestWithMaskedNaN(t *testing.T) {
	mask, err := constraint.NewMask(3, [][]int32{{0, 1}, {0, 1, 2}})
	require.NoError(t, err)
	e, err := Path{Language: mask}.Compile(t.Context(), 2, 3)
	require.NoError(t, err)
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, bad := range []float32{nan, inf} {
		want := []float32{0, 1, -inf, 1, 2, 3}
		x, y := make([]int32, 2), make([]int32, 2)
		cost, err := e.Nearest(t.Context(), x, want)
		require.NoError(t, err)
		v := []float32{0, 1, bad, 1, 2, 3}
		got, err := e.Nearest(t.Context(), y, v)
		require.NoError(t, err)
		require.Equal(t, cost, got)
		require.Equal(t, x, y)
		require.Equal(t, want, v)
		v = []float32{0, bad, 0, 1, 2, 3}
		_, err = e.Nearest(t.Context(), y, v)
		var weight *WeightError
		require.ErrorAs(t, err, &weight)
		require.Equal(t, 1, weight.Level)
	}
}
