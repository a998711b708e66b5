package ground

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/bonds"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// thicket is a random sparse model on spins, with fields at some sites or at none, of small
// integers, of ±1 or of reals.
func thicket(r *rand.Rand) *model.Quadratic {
	n := 2 + r.IntN(8)
	kind, fields := r.IntN(3), max(0, r.IntN(4)-1)
	weight := func() float64 {
		switch kind {
		case 0:
			return float64(4 * (r.IntN(7) - 3))
		case 1:
			return float64(8*r.IntN(2) - 4)
		}
		return r.NormFloat64()
	}
	linear := make([]float64, n)
	var terms []model.Edge
	for range r.IntN(4*n + 1) {
		if i, j := r.IntN(n), r.IntN(n); i != j && !slices.ContainsFunc(terms, func(e model.Edge) bool { return min(i, j) == e.I && max(i, j) == e.J }) {
			w := weight()
			terms = append(terms, model.Edge{I: min(i, j), J: max(i, j), W: w})
			linear[i] -= w / 2
			linear[j] -= w / 2
		}
	}
	for i := range linear {
		if fields > r.IntN(3) {
			linear[i] += weight()
		}
	}
	return exact.Must(model.NewQuadratic(n, terms, model.Polynomial{Linear: linear}))
}

// Of 10⁴ enumerated models, every state of every kernel has the least energy of all states that
// agree with it, up to one constant, and the lifted state has this energy.
func TestReductionsKeepEveryMinimum(t *testing.T) {
	r := rand.New(rand.NewPCG(46, 3))
	whole, kernels, triangles := 0, map[int]int{}, 0
	for trial := range 10000 {
		m := thicket(r)
		b := bonds.Of(m)
		red := reduce(b)
		if red == nil {
			whole++
			continue
		}
		n, left := b.Sites(), len(red.sites)
		kernels[left]++
		for _, s := range red.stars {
			if s.n == starBonds {
				triangles++
			}
		}
		require.NoError(t, red.kernel.Check(left))
		require.Equal(t, n, left+len(red.stars))
		least := slices.Repeat([]float64{math.Inf(1)}, 1<<left)
		key := func(y []int32) (k int) {
			for i, v := range y {
				k |= int(v) << i
			}
			return k
		}
		y := make([]int32, left)
		for _, x := range exact.States(n, 2) {
			red.restrict(y, x)
			least[key(y)] = min(least[key(y)], energyOf(m, state(x)))
		}
		x := make([]int32, n)
		for _, y := range exact.States(left, 2) {
			red.lift(x, y)
			require.InDelta(t, least[key(y)], energyOf(m, state(x)), 1e-9, "model %d", trial)
			e := least[0]
			for i, f := range red.kernel.Field {
				for k := red.kernel.Start[i]; k < red.kernel.Start[i+1]; k++ {
					f += red.kernel.Weight[k] * float64(y[red.kernel.Adj[k]]) / 2
				}
				e += f * float64(y[i])
			}
			require.InDelta(t, least[key(y)], e, 1e-9, "model %d", trial)
		}
	}
	assert.Positive(t, whole, "models of many fields and bonds")
	assert.Greater(t, len(kernels), 4, "kernels of several sizes")
	assert.Greater(t, triangles, 1000, "sites with three neighbours")
}

// Trees and rings leave one site; a wheel too, unless its rim has fields.
func TestKernels(t *testing.T) {
	ring := func(n int, spokes bool, field float64) *model.Quadratic {
		var e []model.Edge
		linear := make([]float64, n+1)
		add := func(i, j int) {
			e = append(e, model.Edge{I: min(i, j), J: max(i, j), W: 4})
			linear[i], linear[j] = linear[i]-2, linear[j]-2
		}
		for i := range n {
			add(i, (i+1)%n)
			if spokes {
				add(i, n)
			}
			linear[i] += field
		}
		return exact.Must(model.NewQuadratic(n+1, e, model.Polynomial{Linear: linear}))
	}
	for _, c := range []struct {
		m    *model.Quadratic
		left int
	}{{ring(9, false, 0), 1}, {ring(9, false, 1), 1}, {ring(9, true, 0), 1}, {web(50, 1.9, 1, (*rand.Rand).NormFloat64), 1}} {
		red := reduce(bonds.Of(c.m))
		require.NotNil(t, red)
		assert.Len(t, red.sites, c.left)
	}
	red := reduce(bonds.Of(web(300, 2.5, 3, func(r *rand.Rand) float64 { return float64(r.IntN(7) - 3) })))
	_, _, unit, ok := red.kernel.Integers(maxReach)
	assert.True(t, ok, "integers stay integers")
	assert.GreaterOrEqual(t, unit, 0.25)
	assert.Nil(t, reduce(bonds.Of(ring(9, true, 1))), "fields at sites of three neighbours")
	assert.Nil(t, reduce(bonds.Of(dense(9))))
}

// A hub of many leaves takes no longer than their number: lists are not searched for every leaf.
func TestReducesAHub(t *testing.T) {
	const n = 1 << 17
	b := &bonds.Bonds{Start: make([]int32, 1, n+1), Field: make([]float64, n)}
	for i := int32(1); i < n; i++ {
		b.Adj, b.Weight = append(b.Adj, i), append(b.Weight, float64(i%3+1))
	}
	b.Start = append(b.Start, n-1)
	for i := int32(1); i < n; i++ {
		b.Adj, b.Weight = append(b.Adj, 0), append(b.Weight, float64(i%3+1))
		b.Start = append(b.Start, int32(len(b.Adj)))
	}
	red := reduce(b)
	require.Len(t, red.sites, 1)
	require.Len(t, red.stars, n-1)
}

// Two hubs with many common leaves take no longer than the number of leaves either.
func TestReducesTwoHubs(t *testing.T) {
	const n = 1 << 17
	b := &bonds.Bonds{Start: make([]int32, 1, n+1), Field: make([]float64, n)}
	for range 2 {
		for i := int32(2); i < n; i++ {
			b.Adj, b.Weight = append(b.Adj, i), append(b.Weight, float64(i%3+1))
		}
		b.Start = append(b.Start, int32(len(b.Adj)))
	}
	for i := int32(2); i < n; i++ {
		w := float64(i%3 + 1)
		b.Adj, b.Weight = append(b.Adj, 0, 1), append(b.Weight, w, w)
		b.Start = append(b.Start, int32(len(b.Adj)))
		b.Field[i] = -w // without a field in spins
	}
	red := reduce(b)
	require.Len(t, red.sites, 1)
	require.Len(t, red.stars, n-1)
}

// The result is not worse than the initial state, even before a round, and equal for any number
// of workers.
func TestReducedSearch(t *testing.T) {
	m := web(300, 2.5, 3, func(r *rand.Rand) float64 { return float64(r.IntN(7) - 3) })
	var best []string
	for _, workers := range []int{1, 3} {
		s := exact.Must(New(m, Config{Seed: 1, Sweeps: 5, Workers: workers}))
		require.NotNil(t, s.reduced)
		require.NoError(t, s.Run(t.Context(), 8))
		x, e := s.Best()
		require.Equal(t, energyOf(m, state(x)), e)
		best = append(best, fmt.Sprint(e, x))
		from := exact.Must(New(m, Config{Seed: 2, Chains: 1, Init: x}))
		y, f := from.Best()
		require.Equal(t, x, y)
		require.Equal(t, e, f)
		require.NoError(t, from.Run(t.Context(), 1))
		_, f = from.Best()
		require.LessOrEqual(t, f, e)
	}
	require.Equal(t, best[0], best[1])
}

// state is a state that energyOf takes.
type state []int32

func (s state) levels(l []int32) { copy(l, s) }
