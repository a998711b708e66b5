package projection_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection"
)

// odd is the language of sequences with an odd number of ones.
func odd(t *testing.T, sites int) *projection.PathProjection {
	t.Helper()
	r := exact.Must(constraint.NewResidue([]int{0, 1, 0}, 2, 1))
	return exact.Must(projection.Path{Language: r, Name: "odd"}.Compile(t.Context(), sites, 3))
}

// Draws until a predicate accepts follow the distribution given language and
// predicate; a twin that does not ask is found out.
func TestDrawUntil(t *testing.T) {
	p := odd(t, 3)
	require.Equal(t, "odd", p.String())
	v := []float32{0, 0.5, 1, -1, 0, 0.2, 0.3, 0, 0}
	begins := func(x []int32) bool { return x[0] == 2 }
	states := exact.States(3, 3)
	want, total := make([]float64, len(states)), 0.0
	for k, x := range states {
		if p.Accepts(x) && begins(x) {
			want[k] = math.Exp(float64(v[x[0]]) + float64(v[3+x[1]]) + float64(v[6+x[2]]))
			total += want[k]
		}
	}
	for k := range want {
		want[k] /= total
	}
	src := rand.NewPCG(1, 2)
	all, err := p.LogZ(t.Context(), v)
	require.NoError(t, err)
	counts, twin := make([]int, len(states)), make([]int, len(states))
	x := make([]int32, 3)
	for range 20000 {
		logZ, ok, err := p.DrawUntil(t.Context(), x, v, src, 1000, begins)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, all, logZ)
		counts[exact.Index(x, 3)]++
		_, ok, err = p.DrawUntil(t.Context(), x, v, src, 1, func([]int32) bool { return true })
		require.NoError(t, err)
		require.True(t, ok)
		twin[exact.Index(x, 3)]++
	}
	exact.Counts(t, counts, want, exact.Rate)
	require.Less(t, exact.PValue(twin, want), exact.Rate)
	_, ok, err := p.DrawUntil(t.Context(), x, v, src, 5, func([]int32) bool { return false })
	require.NoError(t, err)
	require.False(t, ok)
	never := float32(math.Inf(-1))
	_, _, err = p.DrawUntil(t.Context(), x, []float32{0, never, 0, 0, never, 0, 0, never, 0}, src, 5, begins)
	require.ErrorIs(t, err, constraint.ErrInfeasible)
	require.ErrorContains(t, err, "odd")
}

// Sequences come in the order of their costs, each once, those of the language
// alone; the automaton of the compiled language accepts the same.
func TestAscending(t *testing.T) {
	p := odd(t, 3)
	cost := []float64{0, 1, 0.25, 2, 0, math.Inf(1), 0.5, 0.5, 0.125}
	seq, err := p.Ascending(t.Context(), cost)
	require.NoError(t, err)
	last, seen := math.Inf(-1), map[int]bool{}
	for x, c := range seq {
		require.GreaterOrEqual(t, c, last)
		require.InDelta(t, cost[x[0]]+cost[3+x[1]]+cost[6+x[2]], c, 1e-12)
		require.True(t, p.Accepts(x))
		require.False(t, seen[exact.Index(x, 3)])
		seen[exact.Index(x, 3)], last = true, c
	}
	n := 0
	for _, x := range exact.States(3, 3) {
		require.Equal(t, p.Accepts(x), constraint.Accepts(p.Automaton(), x))
		if p.Accepts(x) && x[1] != 2 {
			n++
		}
	}
	require.Len(t, seen, n)
}

func TestNotConvergedReportsViolation(t *testing.T) {
	err := &projection.NotConverged{Method: "proximal", Residual: 0.25, Want: 1e-12, Iterations: 7}
	require.EqualError(t, err, "proximal: residual = 0.25 after 7 iterations, want ≤ 1e-12")
}
