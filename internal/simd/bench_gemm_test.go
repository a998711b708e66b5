package simd

import (
	"fmt"
	"testing"
)

func BenchmarkGemm(b *testing.B) {
	for _, s := range [][3]int{{100, 784, 500}, {100, 500, 784}, {1, 784, 500}, {32, 40, 64}, {32, 500, 784}, {32, 784, 500}, {16, 784, 500}, {8, 500, 784}} {
		m, n, k := s[0], s[1], s[2]
		c, x, y := randomFloats(1, m*n), randomFloats(2, m*k), randomFloats(3, k*n)
		report := func(b *testing.B) {
			b.ReportMetric(2*float64(m*n*k)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
		}
		onEach(b, fmt.Sprintf("Gemm/%dx%dx%d", m, n, k), func(b *testing.B) {
			for b.Loop() {
				Gemm(c, x, y, m, n, k)
			}
			report(b)
		})
		onEach(b, fmt.Sprintf("GemmT/%dx%dx%d", m, n, k), func(b *testing.B) {
			for b.Loop() {
				GemmT(c, x, y, m, n, k)
			}
			report(b)
		})
	}
}
