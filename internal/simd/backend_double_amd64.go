//go:build amd64 && !purego

package simd

import "math"

func softplusSum(x []float32) float64 {
	if best == purego {
		return refSoftplusSum(x)
	}
	var positive [lanes]float64
	logs := 0.0
	for ; len(x) > 0; x = x[min(len(x), softplusBlock):] {
		logs += Log(softplusRun(&positive, x[:min(len(x), softplusBlock)]))
	}
	return halve(&positive) + logs
}

// softplusRun returns the product of a block and adds its positive part.
//
//go:noinline
func softplusRun(positive *[lanes]float64, x []float32) float64 {
	product := [lanes]float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
	n := len(x) &^ (lanes - 1)
	if n > 0 && best == avx512 {
		softplusAVX512(&product, positive, &x[0], n)
	} else if n > 0 {
		softplusAVX2(&product, positive, &x[0], n)
	}
	for j, v := range x[n:] {
		z := float64(v)
		if z > 0 {
			positive[j] += z
		}
		product[j] *= 1 + Exp(-math.Abs(z))
	}
	return multiply(&product)
}

func expGather(dst []float64, w []float32, idx []int32, shift float64) {
	for best != purego && len(dst) >= 8 {
		n := min(len(dst)&^7, runTerms)
		if expGatherRun(dst[:n], w, idx, shift) {
			refExpGather(dst[:n], w, idx[:n], shift)
		}
		dst, idx = dst[n:], idx[n:]
	}
	refExpGather(dst, w, idx, shift)
}

//go:noinline
func expGatherRun(dst []float64, w []float32, idx []int32, shift float64) (odd bool) {
	if best == avx512 {
		return expGatherAVX512(&dst[0], &w[0], &idx[0], shift, len(dst)) != 0
	}
	return expGatherAVX2(&dst[0], &w[0], &idx[0], shift, len(dst)) != 0
}

// shortRow is the number of sites from which the assembly is faster
// (BenchmarkDouble/Torus/5).
const shortRow = 8

func torusInner(h []float32, table *[8]float32, above, row, below []int32) (pairs, up int) {
	if best == purego || len(h) < shortRow {
		return refTorusInner(h, table, above, row, below)
	}
	for len(h) > 0 {
		n := min(len(h), runTerms)
		p, u := torusRun(h[:n], table, above, row, below)
		pairs, up = pairs+p, up+u
		h, above, row, below = h[n:], above[n:], row[n:], below[n:]
	}
	return pairs, up
}

//go:noinline
func torusRun(h []float32, table *[8]float32, above, row, below []int32) (pairs, up int) {
	var out [2]int
	if best == avx512 {
		torusInnerAVX512(&out, &h[0], table, &above[0], &row[0], &below[0], len(h))
	} else {
		torusInnerAVX2(&out, &h[0], table, &above[0], &row[0], &below[0], len(h))
	}
	return out[0], out[1]
}
