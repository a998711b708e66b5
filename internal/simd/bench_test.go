package simd

import (
	"fmt"
	"testing"
	"time"
)

// perElement reports the time per element and the bytes read and written: that of
// the processor since onEach began, which others on the machine do not count in,
// or that of the clock where there is no other.
func perElement(b *testing.B, n, bytes int) {
	took := b.Elapsed()
	if began > 0 {
		took = cpuTime() - began
	}
	ns := float64(took.Nanoseconds()) / float64(b.N) / float64(n)
	b.ReportMetric(ns, "ns/elem")
	b.ReportMetric(float64(bytes)/ns, "GB/s")
	b.ReportMetric(0, "ns/op")
}

// began is the processor time at which the loop of a benchmark began.
var began time.Duration

// onEach runs a benchmark on every backend.
func onEach(b *testing.B, name string, f func(b *testing.B)) {
	for l := purego; l <= supported(); l++ {
		withBackend(l, func() {
			b.Run(fmt.Sprintf("%s/%s", name, levelNames[l]), func(b *testing.B) {
				began = cpuTime()
				f(b)
			})
		})
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
	onEach(b, "ARS", func(b *testing.B) {
		for b.Loop() {
			ARS(bits[:n], 1, 2, 3)
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
		group := uint64(0)
		fresh := make([]uint32, (n+63)/64*64)
		onEach(b, fmt.Sprintf("Whole/%d", n), func(b *testing.B) { // all that a proposal takes
			for b.Loop() {
				group += uint64(len(fresh) / 64)
				Philox(fresh, 1, 2, group)
				FlipThresholds(t, h, x, 0.5, c)
				Flip(y, x, t, fresh[:n])
			}
			perElement(b, n, 32)
		})
		onEach(b, fmt.Sprintf("LogProb/%d", n), func(b *testing.B) {
			for b.Loop() {
				FlipLogProb(x, y, t)
			}
			perElement(b, n, 12)
		})
	}
}
