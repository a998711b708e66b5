//go:build amd64 && !purego

package simd

// polarTerms bounds one call of polar.
const polarTerms = 1 << 12

func polar(r []float64) {
	for best != purego && len(r) >= lanes {
		n := min(len(r)&^(lanes-1), polarTerms)
		polarRun(r[:n])
		r = r[n:]
	}
	refPolar(r)
}

//go:noinline
func polarRun(r []float64) {
	if best == avx512 {
		polarAVX512(&r[0], len(r))
	} else {
		polarAVX2(&r[0], len(r))
	}
}
