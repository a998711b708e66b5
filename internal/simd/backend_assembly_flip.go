//go:build (amd64 || arm64) && !purego

package simd

import "math"

// flipSums is what the assembly of Flip and FlipLogProb returns: the product of
// the mantissas of 16 lanes; the sum of their biased exponents over all
// renormalisations; in the low halves, the bitwise or of the thresholds and the
// smallest factor; and the number of moves.
type flipSums [5]uint64

// log is product.log.
func (s *flipSums) log(n int) float64 {
	switch {
	case int32(s[2]) < 0:
		return math.NaN()
	case uint32(s[3]) == 0:
		return math.Inf(-1)
	}
	renorms := int64(n/(lanes*productRun) + 1)
	exp := int64(s[1]) - renorms*lanes*1023 - 31*int64(n)
	return float64(float64(exp)*math.Ln2) + Log(math.Float64frombits(s[0]))
}

func flipThresholds(t []int32, h []float32, x []int32, beta float32, c []float32) {
	if best == purego {
		refFlipThresholds(t, h, x, beta, c)
		return
	}
	for len(t) > 0 {
		n := min(len(t), runTerms)
		flipThresholdsRun(t[:n], h, x, -beta, c)
		t, h, x = t[n:], h[n:], x[n:]
		if len(c) > 1 {
			c = c[n:]
		}
	}
}

//go:noinline
func flipBlock(y, x, t []int32, bits []uint32) (moved int, logq float64) {
	if best == purego || len(t) == 0 {
		return refFlip(y, x, t, bits)
	}
	s := flipSums{3: 1}
	flipDrawRun((*[5]uint64)(&s), y, x, t, bits)
	return int(s[4]), s.log(len(t))
}

//go:noinline
func flipLogProbBlock(x, y, t []int32) float64 {
	if best == purego || len(t) == 0 {
		return refFlipLogProb(x, y, t)
	}
	var s flipSums
	flipScoreRun((*[5]uint64)(&s), y, x, t)
	return s.log(len(t))
}

func sigmoidTo(dst, src []float32) {
	if best == purego {
		refSigmoidTo(dst, src)
		return
	}
	for len(dst) > 0 {
		n := min(len(dst), runTerms)
		sigmoidRun(dst[:n], src)
		dst, src = dst[n:], src[n:]
	}
}
