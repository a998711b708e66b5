package pdi

import (
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// Box returns the Euclidean projection onto {lo ≤ x_i ≤ hi}, safe for
// concurrent use. It panics unless lo ≤ hi.
func Box(lo, hi float32) func(x []float32) {
	if !(lo <= hi) {
		panic(fmt.Sprintf("pdi: Box: lo = %v, hi = %v, want lo ≤ hi", lo, hi))
	}
	return func(x []float32) {
		for i, v := range x {
			x[i] = min(max(v, lo), hi)
		}
	}
}

// Simplex returns the Euclidean projection onto {x_i ≥ 0, Σ x_i = total}, safe
// for concurrent use: x_i ← max(0, x_i − τ) with τ from the sorted coordinates,
// O(n log n) (Held, Wolfe and Crowder 1974). It panics unless total > 0.
func Simplex(total float64) func(x []float32) {
	if !(total > 0) || !check.Finite(total) {
		panic(fmt.Sprintf("pdi: Simplex: total = %v, want a finite number > 0", total))
	}
	return func(x []float32) {
		b := scratch.Float32s.Get(len(x))
		defer scratch.Float32s.Put(b)
		copy(*b, x)
		slices.Sort(*b)
		sum, tau := 0.0, 0.0
		for k := len(*b) - 1; k >= 0; k-- {
			v := float64((*b)[k])
			sum += v
			t := (sum - total) / float64(len(*b)-k)
			if v <= t {
				break
			}
			tau = t
		}
		for i, v := range x {
			x[i] = float32(max(0, float64(v)-tau))
		}
	}
}
