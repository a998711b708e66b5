package neural

import "testing"

// BenchmarkDecode converts a panel of weights, as package pretrained does in every product.
func BenchmarkDecode(b *testing.B) {
	for _, d := range []DType{F32, F16, BF16} {
		b.Run("type="+string(d), func(b *testing.B) {
			dst := make([]float32, 1<<16)
			raw := make([]byte, len(dst)*d.size())
			for b.Loop() {
				d.Decode(dst, raw)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(dst)), "ns/number")
		})
	}
}
