package normal_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/normal"
)

// Moments and tails of the normal numbers, each within 4.9 standard errors.
func TestFill(t *testing.T) {
	const n = 200001
	x := make([]float32, n)
	normal.Fill(x, rand.NewPCG(1, 2))
	var m1, m2, m4, far float64
	for _, v := range x {
		f := float64(v)
		m1 += f / n
		m2 += f * f / n
		m4 += f * f * f * f / n
		if math.Abs(f) > 3 {
			far++
		}
	}
	require.InDelta(t, 0, m1, 4.9/math.Sqrt(n))
	require.InDelta(t, 1, m2, 4.9*math.Sqrt(2.0/n))
	require.InDelta(t, 3, m4, 4.9*math.Sqrt(96.0/n))
	p := math.Erfc(3 / math.Sqrt2)
	require.InDelta(t, n*p, far, 4.9*math.Sqrt(n*p))
	pair := make([]float32, 2)
	normal.Fill(pair, rand.NewPCG(1, 2))
	require.Equal(t, x[:2], pair)
}

func BenchmarkFill(b *testing.B) {
	src := rand.NewPCG(1, 2)
	for _, n := range []int{2, 30, 1000} {
		b.Run(map[int]string{2: "n=2", 30: "n=30", 1000: "n=1000"}[n], func(b *testing.B) {
			dst := make([]float32, n)
			for b.Loop() {
				normal.Fill(dst, src)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/number")
		})
	}
}
