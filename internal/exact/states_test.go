package exact

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStatesFollowTheIndex(t *testing.T) {
	for _, c := range []struct{ sites, levels, n int }{{1, 1, 1}, {30, 1, 1}, {1, 5, 5}, {4, 2, 16}, {3, 3, 27}} {
		s := States(c.sites, c.levels)
		require.Len(t, s, c.n)
		require.Equal(t, c.n, Size(c.sites, c.levels))
		for k, x := range s {
			require.Equal(t, k, Index(x, c.levels))
		}
	}
	assert.Equal(t, []int32{1, 0, 2}, States(3, 3)[19], "site 0 is the fastest digit: 1 + 0·3 + 2·9")
	counts := make([]int, 4)
	Tally(counts, []int32{1, 0, 1, 0, 1, 1}, 2, 2)
	assert.Equal(t, []int{0, 2, 0, 1}, counts)
}

func TestStatesRefuse(t *testing.T) {
	assert.PanicsWithValue(t, "laws: sites = 0, levels = 2, want both ≥ 1", func() { Size(0, 2) })
	assert.PanicsWithValue(t, "laws: 2^28 states, want ≤ 2^27", func() { Size(28, 2) })
	assert.NotPanics(t, func() { Size(27, 2) })
	assert.PanicsWithValue(t, "laws: x[1] = 2, want 0…1", func() { Index([]int32{0, 2}, 2) })
	assert.Panics(t, func() { Tally(make([]int, 3), []int32{0, 0}, 2, 2) })
	assert.Panics(t, func() { Tally(make([]int, 4), []int32{0, 0, 1}, 2, 2) })
}

// bernoulli has independent bits with fields h: log Z = Σ log(1+e^{−h_i}).
type bernoulli []float64

func (m bernoulli) Shape() (int, int) { return len(m), 2 }
func (m bernoulli) Energy(e []float64, x []int32) {
	for s := range e {
		e[s] = 0
		for i, h := range m {
			e[s] += h * float64(x[s*len(m)+i])
		}
	}
}

func TestLawOfIndependentBits(t *testing.T) {
	m := bernoulli{0.3, -2, 700, 1.5, -700, 0, 0.1, 2, -1, 3, 0.5} // 2¹¹ states: two batches
	p, logZ := Law(m)
	want := 0.0
	for _, h := range m {
		want += math.Max(0, -h) + math.Log1p(math.Exp(-math.Abs(h)))
	}
	assert.InDelta(t, want, logZ, 1e-12) // 700·2⁻⁵² plus the roundings of eleven sums
	assert.InDelta(t, 1, Sum(p), 1e-15)
	for i, h := range m {
		on := Expect(p, len(m), 2, func(x []int32) float64 { return float64(x[i]) })
		assert.InDelta(t, 1/(1+math.Exp(h)), on, 1e-12)
	}
}

// constant gives every state of two bits the energies in it.
type constant []float64

func (m constant) Shape() (int, int) { return 2, 2 }
func (m constant) Energy(e []float64, x []int32) {
	for s := range e {
		e[s] = m[x[2*s]+2*x[2*s+1]]
	}
}

func TestLawAtTheEdges(t *testing.T) {
	inf := math.Inf(1)
	p, logZ := Law(constant{inf, 1e6, inf, 1e6})
	assert.Equal(t, []float64{0, 0.5, 0, 0.5}, p)
	assert.InDelta(t, -1e6+math.Ln2, logZ, 1e-9)
	assert.Panics(t, func() { Law(constant{0, math.NaN(), 0, 0}) })
	assert.Panics(t, func() { Law(constant{0, math.Inf(-1), 0, 0}) })
	assert.Panics(t, func() { Law(constant{inf, inf, inf, inf}) })
	assert.Panics(t, func() { Expect([]float64{1}, 2, 2, func([]int32) float64 { return 0 }) })
}

func TestSumIsCompensated(t *testing.T) {
	v := []float64{1e16, 1, -1e16, 1, 1e-3}
	assert.Equal(t, 2.001, Sum(v))
}
