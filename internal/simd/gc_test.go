package simd

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkGarbageCollectionWaits measures how long a collection takes while a
// kernel runs on 2²⁰ terms without pause (wait-ns, the median of 21), and a loop in
// plain Go; TestCallsAreShort is the test.
func BenchmarkGarbageCollectionWaits(b *testing.B) {
	const n = 1 << 20
	w, p, total := randomFloats(1, n), make([]float32, n), make([]float64, 1)
	bits, th, x := make([]uint32, n), make([]int32, n), make([]int32, n)
	sums, f, rows := make([]float64, 512), make([]float32, 512), make([]int32, 1<<12)
	for k := range rows {
		rows[k] = int32(k % (n / 512))
	}
	added := changesOf(rows, n/512)
	plain := func() {
		for i := range bits {
			bits[i] += uint32(i)
		}
	}
	for name, f := range map[string]func(){
		"plain Go":    plain,
		"Philox":      func() { Philox(bits, 1, 2, 3) },
		"Weights":     func() { Weights(p, total, w, n, 0) },
		"Flip":        func() { Flip(x, x, th, bits) },
		"SoftplusSum": func() { sink = SoftplusSum(w) },
		"AddRows":     func() { added.Add(0, sums, f, sums, w) },
		"Gemm":        func() { Gemm(p[:128*128], w[:128*4096], w[:128*4096], 128, 128, 4096) },
	} {
		b.Run(name, func(b *testing.B) {
			var wait time.Duration
			for b.Loop() {
				wait = collections(f)
			}
			b.ReportMetric(float64(wait.Nanoseconds()), "wait-ns")
		})
	}
}

// collections returns the median time of a collection while f runs.
func collections(f func()) time.Duration {
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			f()
		}
	}()
	var took []time.Duration
	for range 21 {
		start := time.Now()
		runtime.GC()
		took = append(took, time.Since(start))
	}
	stop.Store(true)
	<-done
	slices.Sort(took)
	return took[len(took)/2]
}
