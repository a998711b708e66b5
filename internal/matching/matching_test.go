package matching

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// least returns the weight of the best perfect matching by trying all, −1 if there is none.
func least(n int, edges []Edge) int64 {
	w := map[[2]int32]int64{}
	for _, e := range edges {
		for _, k := range [][2]int32{{e.U, e.V}, {e.V, e.U}} {
			if old, ok := w[k]; !ok || e.W < old {
				w[k] = e.W
			}
		}
	}
	best := make([]int64, 1<<n)
	for set := 1; set < 1<<n; set++ {
		best[set] = math.MaxInt64
		first := 0
		for set>>first&1 == 0 {
			first++
		}
		for j := first + 1; j < n; j++ {
			rest := set &^ (1<<first | 1<<j)
			if c, ok := w[[2]int32{int32(first), int32(j)}]; ok && set>>j&1 == 1 && best[rest] != math.MaxInt64 {
				best[set] = min(best[set], best[rest]+c)
			}
		}
	}
	if best[1<<n-1] == math.MaxInt64 {
		return -1
	}
	return best[1<<n-1]
}

// proves checks that the dual solution is feasible and has the value of the matching.
func proves(t *testing.T, n int, edges []Edge, m *Matching) {
	value := int64(0)
	in := make([][]bool, len(m.Sets))
	for _, y := range m.Y {
		value += y
	}
	for k, b := range m.Sets {
		require.Equal(t, 1, len(b.Members)%2)
		require.Positive(t, b.Z)
		value += b.Z
		in[k] = make([]bool, n)
		for _, v := range b.Members {
			in[k][v] = true
		}
	}
	for _, e := range edges {
		left := m.Y[e.U] + m.Y[e.V]
		for k, b := range m.Sets {
			if in[k][e.U] != in[k][e.V] {
				left += b.Z
			}
		}
		require.LessOrEqual(t, left, e.W)
	}
	for v, u := range m.Mate {
		require.Equal(t, int32(v), m.Mate[u])
	}
	require.Equal(t, value, m.Weight)
}

// Matchings have the least weight of all, and their dual solutions prove it.
func TestPerfect(t *testing.T) {
	ctx := context.Background()
	matched := 0
	for seed := range uint64(1200) {
		r := rand.New(rand.NewPCG(seed, 3))
		n := 2 * (1 + r.IntN(7))
		p := 0.2 + 0.8*r.Float64()
		most := 1 + r.IntN(20)
		var edges []Edge
		for u := range int32(n) {
			for v := range u {
				if r.Float64() < p {
					edges = append(edges, Edge{u, v, 2 * int64(r.IntN(most)-most/4)})
				}
			}
		}
		m, err := Perfect(ctx, n, edges)
		want := least(n, edges)
		if want == -1 && err != nil {
			require.ErrorIs(t, err, ErrNone)
			continue
		}
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, want, m.Weight, "seed %d", seed)
		proves(t, n, edges, m)
		matched++
	}
	require.Greater(t, matched, 600)
}

// Points of a plane, more than can be tried: the dual solution is the proof.
func TestPerfectOfPoints(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 4))
		n := 60
		x := make([][2]int64, n)
		for i := range x {
			x[i] = [2]int64{r.Int64N(30), r.Int64N(30)}
		}
		var edges []Edge
		for u := range n {
			for v := range u {
				d := max(x[u][0]-x[v][0], x[v][0]-x[u][0]) + max(x[u][1]-x[v][1], x[v][1]-x[u][1])
				edges = append(edges, Edge{int32(u), int32(v), 2 * d})
			}
		}
		m, err := Perfect(context.Background(), n, edges)
		require.NoError(t, err)
		proves(t, n, edges, m)
		require.False(t, slices.Contains(m.Mate, -1))
	}
}

func TestPerfectRefuses(t *testing.T) {
	_, err := Perfect(context.Background(), 2, []Edge{{0, 1, 3}})
	require.ErrorContains(t, err, "want two vertices and an even weight")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = Perfect(ctx, 4, []Edge{{0, 1, 2}, {1, 2, 0}, {2, 3, 2}})
	require.ErrorIs(t, err, context.Canceled)
}
