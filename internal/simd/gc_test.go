package simd

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestGarbageCollectionWaitsLittle: a call in assembly cannot be stopped, so it
// must be short. While a kernel runs on 2²⁰ terms without pause, a collection
// takes less than 5 ms (median of 21) more than beside a loop in plain Go, which
// on an idle machine takes well below 1 ms. A sweep of the same length in one
// call would hold it up for as long as the whole sweep.
func TestGarbageCollectionWaitsLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	const n = 1 << 20
	w, p, total := randomFloats(1, n), make([]float32, n), make([]float64, 1)
	bits, th, x := make([]uint32, n), make([]int32, n), make([]int32, n)
	sums, f, rows := make([]float64, 512), make([]float32, 512), make([]int32, 1<<12)
	for k := range rows {
		rows[k] = int32(k % (n / 512))
	}
	plain := func() {
		for i := range bits {
			bits[i] += uint32(i)
		}
	}
	for name, f := range map[string]func(){
		"Philox":      func() { Philox(bits, 1, 2, 3) },
		"Weights":     func() { Weights(p, total, w, n, 0) },
		"Flip":        func() { Flip(x, x, th, bits) },
		"SoftplusSum": func() { sink = SoftplusSum(w) },
		"AddRows":     func() { AddRows(sums, f, sums, w, rows) },
		"Gemm":        func() { Gemm(p[:128*128], w[:128*4096], w[:128*4096], 128, 128, 4096) },
	} {
		// Measured side by side, up to three times: machines are shared.
		var base, beside time.Duration
		for range 3 {
			base, beside = collections(plain), collections(f)
			if beside < base+5*time.Millisecond {
				break
			}
		}
		t.Logf("%s: median %v, beside plain Go %v", name, beside, base)
		assert.Less(t, beside, base+5*time.Millisecond, name)
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
