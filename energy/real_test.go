package energy_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

func TestRealFunc(t *testing.T) {
	f := energy.RealFunc{Dim: 2, E: func(x []float32) float64 { return math.Sin(float64(x[0])) * float64(x[1]) },
		Grad: func(g, x []float32) {
			g[0] = float32(math.Cos(float64(x[0]))) * x[1]
			g[1] = float32(math.Sin(float64(x[0])))
		}}
	x, e := []float32{1, 2, -0.5, 3}, make([]float64, 2)
	f.Energy(e, x)
	require.Equal(t, []float64{2 * math.Sin(1), 3 * math.Sin(-0.5)}, e)
	require.Equal(t, 2, f.Sites())
	exact.Score(t, f, x)
	require.Panics(t, func() { f.Energy(e, x[:3]) })
	require.Panics(t, func() { f.Score(make([]float32, 3), x) })
	require.PanicsWithValue(t, "energy: RealFunc{Dim: 0}, want Dim ≥ 1", func() { energy.RealFunc{}.Energy(e, x) })
}
