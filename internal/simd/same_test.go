package simd

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSame(t *testing.T) {
	nan := float32(math.NaN())
	x, y := []float32{1, nan, 0, 4}, []float32{1, nan, 0, 4}
	require.True(t, Same(x, y))
	require.True(t, Same(nil, []float32{}))
	require.False(t, Same(x, y[:3]))
	y[2] = float32(math.Copysign(0, -1))
	require.False(t, Same(x, y))
	for i := range x {
		copy(y, x)
		y[i] = 7
		require.False(t, Same(x, y), i)
	}
}
