package simd

import (
	"fmt"
	"testing"
)

// perElement reports the time per element and the bytes read and written.
func perElement(b *testing.B, n, bytes int) {
	ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N) / float64(n)
	b.ReportMetric(ns, "ns/elem")
	b.ReportMetric(float64(bytes)/ns, "GB/s")
	b.ReportMetric(0, "ns/op")
}

// onEach runs a benchmark on every backend.
func onEach(b *testing.B, name string, f func(b *testing.B)) {
	for l := purego; l <= supported(); l++ {
		withBackend(l, func() { b.Run(fmt.Sprintf("%s/%s", name, levelNames[l]), f) })
	}
}

func BenchmarkRandom(b *testing.B) {
	const n = 16384
	bits, f, d := make([]uint32, 2*n), make([]float32, n), make([]float64, n)
	onEach(b, "Philox", func(b *testing.B) {
		for b.Loop() {
			Philox(bits[:n], 1, 2, 3)
		}
		perElement(b, n, 4)
	})
	onEach(b, "Unit32", func(b *testing.B) {
		for b.Loop() {
			Unit32(f, bits[:n])
		}
		perElement(b, n, 8)
	})
	onEach(b, "Unit64", func(b *testing.B) {
		for b.Loop() {
			Unit64(d, bits)
		}
		perElement(b, n, 16)
	})
}

func BenchmarkFlip(b *testing.B) {
	for _, n := range []int{25, 2500, 16384} {
		h, x, y, t, bits := randomFloats(1, n), make([]int32, n), make([]int32, n), make([]int32, n), make([]uint32, n)
		r := newRand(1)
		for i := range x {
			x[i], bits[i] = r.Int32N(2), r.Uint32()
		}
		c := []float32{2}
		onEach(b, fmt.Sprintf("Thresholds/%d", n), func(b *testing.B) {
			for b.Loop() {
				FlipThresholds(t, h, x, 0.5, c)
			}
			perElement(b, n, 12)
		})
		onEach(b, fmt.Sprintf("Flip/%d", n), func(b *testing.B) {
			for b.Loop() {
				Flip(y, x, t, bits)
			}
			perElement(b, n, 16)
		})
		onEach(b, fmt.Sprintf("LogProb/%d", n), func(b *testing.B) {
			for b.Loop() {
				FlipLogProb(x, y, t)
			}
			perElement(b, n, 12)
		})
	}
}
