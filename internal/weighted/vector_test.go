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
	weighted.Scale(a, 0)
	require.Equal(t, []float64{0, math.Inf(1), 0}, a)
	require.Equal(t, 6.0, weighted.Dot([]float64{2, 0}, []float64{3, math.Inf(1)}))
}

// The bits are those of one sum after the other, wherever numbers are infinite.
func TestAdd(t *testing.T) {
	for n := range 14 {
		for at := range n {
			for _, infinite := range []float32{1, float32(math.Inf(1)), float32(math.NaN())} {
				a, b, want := make([]float32, n), make([]float32, n), make([]float32, n)
				for i := range a {
					a[i], b[i] = 0.1*float32(i), 1/float32(3+i)
				}
				a[at], b[n-1-at] = infinite, float32(math.Inf(-1))
				for i, v := range a {
					if want[i] = v; v-v == 0 {
						want[i] = float32(float64(v) + float64(0.7*float64(b[i])))
					}
				}
				weighted.Add(a, b, 0.7)
				for i := range a {
					require.Equal(t, math.Float32bits(want[i]), math.Float32bits(a[i]), "%d of %d", i, n)
				}
			}
		}
	}
}
