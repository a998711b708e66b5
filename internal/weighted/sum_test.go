package weighted_test

import (
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/weighted"
	"github.com/stretchr/testify/require"
)

// A part appended twice is one, a part of weight 0 is not asked, and infinite
// energies of the base stay.
func TestSum(t *testing.T) {
	asked := 0
	base := energy.Func{Sites: 2, Levels: 2, E: func(x []int32) float64 {
		if x[0] == 1 && x[1] == 1 {
			return math.Inf(1)
		}
		return float64(x[0])
	}}
	part := &energy.Func{Sites: 2, Levels: 2, E: func(x []int32) float64 { asked++; return float64(x[1]) }}
	s := weighted.New(base)
	k := weighted.Append(s, part)
	require.Equal(t, 1, k)
	require.Equal(t, k, weighted.Append(s, part))
	weighted.Unite(s)
	e, x := make([]float64, 3), []int32{1, 0, 0, 1, 1, 1}
	s.Offset = 0.5
	s.Energy(e, x)
	require.Equal(t, []float64{1.5, 0.5, math.Inf(1)}, e)
	require.Zero(t, asked)
	s.Coef[0], s.Coef[k] = 2, -3
	s.Energy(e, x)
	require.Equal(t, []float64{2.5, -2.5, math.Inf(1)}, e)
	_, ok := energy.As[energy.Graphical](s)
	require.False(t, ok)
}

func TestSumViews(t *testing.T) {
	a := exact.Must(model.NewIsing(model.Lattice{4}, 0.3, 0.1))
	b := exact.Must(model.NewIsing(model.Lattice{4}, 0.1, -0.4))
	s := weighted.New(a)
	s.Coef[weighted.Append(s, b)] = 1.5
	weighted.Unite(s)
	c, ok := energy.As[energy.Conditional](s)
	require.True(t, ok)
	g, ok := energy.As[energy.Graphical](s)
	require.True(t, ok)
	start, adj := g.Graph()
	require.Equal(t, []int32{0, 2, 4, 6, 8}, start)
	require.Len(t, adj, 8)
	x := []int32{1, 0, 0, 1}
	d, e := make([]float64, 2), make([]float64, 2)
	for site := range x {
		y := append([]int32{}, x...)
		y[site] = 1 - y[site]
		s.Energy(e, append(append([]int32{}, x...), y...))
		c.Conditional(d, site, x)
		require.InDelta(t, e[1]-e[0], d[y[site]], 1e-12)
	}
}

func TestVectors(t *testing.T) {
	a := []float64{1, math.Inf(1), 2}
	weighted.Add(a, []float64{1, math.Inf(-1), 1}, 2)
	require.Equal(t, []float64{3, math.Inf(1), 4}, a)
	weighted.Scale(a, 0)
	require.Equal(t, []float64{0, math.Inf(1), 0}, a)
	require.Equal(t, 6.0, weighted.Dot([]float64{2, 0}, []float64{3, math.Inf(1)}))
}
