package weighted_test

import (
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/weighted"
	"github.com/stretchr/testify/require"
)

func TestVectors(t *testing.T) {
	a := []float64{1, math.Inf(1), 2}
	weighted.Add(a, []float64{1, math.Inf(-1), 1}, 2)
	require.Equal(t, []float64{3, math.Inf(1), 4}, a)
	weighted.Add(a, []float64{1, math.Inf(-1), 1}, 1)
	require.Equal(t, []float64{4, math.Inf(1), 5}, a)
	weighted.Scale(a, 0.5)
	require.Equal(t, []float64{2, math.Inf(1), 2.5}, a)
	weighted.Scale(a, -2)
	require.Equal(t, []float64{-4, math.Inf(1), -5}, a)
	weighted.Scale(a, 0)
	require.Equal(t, []float64{math.Copysign(0, -1), math.Inf(1), math.Copysign(0, -1)}, a)
	require.Equal(t, 6.0, weighted.Dot([]float64{2, 0}, []float64{3, math.Inf(1)}))
}
