package normal_test

import (
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/normal"
)

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
