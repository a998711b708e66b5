package simd

import "math"

// Constants of the float32 exponential. The polynomial is a minimax fit printed
// by _gen/coef; TestExp32 bounds the error of the whole.
const (
	// expCut is where e^x becomes exactly 0. Above it 2^n·e^r is normal: at
	// the smallest n, −126, the cut-off leaves r > 0.
	expCut = -87.3

	log2E = 1.44269504088896340736

	// Adding expMagic to a float32 of modest size rounds it to the nearest
	// integer, ties to an odd one, and leaves that integer plus 127, an exponent
	// field, in the low bits of the sum.
	expMagic = 0x1.8p23 + 127

	// ln 2 in two parts. The first has 15 significant bits, so that its
	// product with |n| ≤ 126 is exact (and may be fused or not).
	ln2Hi = 0x1.62e4p-1
	ln2Lo = 0x1.7f7d1cp-20

	expC0 = 0x1.fffdfcp-02
	expC1 = 0x1.5557aep-03
	expC2 = 0x1.5729fp-05
	expC3 = 0x1.106284p-07
)

// exp32 returns e^x for x ≤ 0 with an error below 2.5 ulp, exactly 0 for
// x < −87.3 and −Inf, NaN for NaN. Positive arguments are not its business.
func exp32(x float32) float32 {
	t := float32(x*log2E) + expMagic
	n := t - expMagic
	r := x - float32(n*ln2Hi)
	r -= float32(n * ln2Lo)
	q := float32(r*expC3) + expC2
	q = float32(q*r) + expC1
	q = float32(q*r) + expC0
	p := float32(float32(r*r)*q) + r
	p++
	p *= math.Float32frombits(math.Float32bits(t) << 23)
	if x < expCut {
		return 0
	}
	return p
}

// sigmoid32 returns 1/(1+e^−x) with an error below 3.5 ulp.
func sigmoid32(x float32) float32 {
	e := exp32(math.Float32frombits(math.Float32bits(x) | 1<<31))
	if x < 0 {
		return e / (1 + e)
	}
	return 1 / (1 + e)
}
