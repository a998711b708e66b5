package simd

import (
	"math"
)

// Constants of the float32 exponential. The polynomial is a minimax fit printed by _gen/coef;
// TestExp32 bounds the error of the result.
const (
	// expCut is the argument below which e^x is exactly 0. Above it 2^n·e^r is a normal number: at
	// the smallest n, −126, the cut-off leaves r > 0.
	expCut = -87.3

	log2E = 1.44269504088896340736 // log₂ e

	// expMagic rounds a float32 of modest size to the nearest integer, ties to an odd one, when
	// added to it. The low bits of the sum are that integer plus 127, which is an exponent field.
	expMagic = 0x1.8p23 + 127

	// ln2Hi + ln2Lo is ln 2. ln2Hi has 15 significant bits, so that its product with |n| ≤ 126 is
	// exact (whether fused or not).
	ln2Hi = 0x1.62e4p-1
	ln2Lo = 0x1.7f7d1cp-20

	expC0 = 0x1.fffdfcp-02 // coefficient of r^0 in the polynomial q of the float32 exponential
	expC1 = 0x1.5557aep-03 // coefficient of r^1 in the polynomial q of the float32 exponential
	expC2 = 0x1.5729fp-05  // coefficient of r^2 in the polynomial q of the float32 exponential
	expC3 = 0x1.106284p-07 // coefficient of r^3 in the polynomial q of the float32 exponential
)

// exp32 returns e^x for x ≤ 0 with an error below 2.5 ulp. It returns exactly 0 for x < −87.3 and
// −Inf, and NaN for NaN. The result is undefined for positive x.
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

// Constants of the float64 functions. The polynomials are minimax fits printed by _gen/coef; the
// tests of this file bound the error of each function.
const (
	// ln2Hi64 + ln2Lo64 is ln 2. ln2Hi64 has 32 significant bits, so that its product with an
	// exponent is exact.
	ln2Hi64 = 0x1.62e42feep-1
	ln2Lo64 = 0x1.a39ef35793c76p-33

	expMax64 = 0x1.62e42fefa39efp+9 // ln of the largest finite float64
	expMin64 = -746                 // argument at which e^x rounds to 0
)

// Exp returns e^x. The error is below 1 ulp. The result overflows to +Inf and underflows gradually
// to 0.
//
// Exp, [Log] and the related functions return the same bits on every GOARCH. They replace package
// math in all computations that determine a sample.
func Exp(x float64) float64 {
	switch {
	case x != x:
		return x
	case x > expMax64:
		return math.Inf(1)
	case x < expMin64:
		return 0
	}
	n, r := expReduce(x)
	return scalb(1+expTail(r), n)
}

// Expm1 returns e^x − 1, accurate near 0. The error is below 2 ulp.
func Expm1(x float64) float64 {
	switch {
	case x != x || x == 0:
		return x
	case x > expMax64:
		return math.Inf(1)
	case x < -38: // e^−38 is below half an ulp of 1
		return -1
	}
	n, r := expReduce(x)
	t := expTail(r)
	switch {
	case n == 0:
		return t
	case n > 54: // 1 is below a quarter of an ulp of e^x
		return scalb(1+t, n)
	}
	return scalb(float64(1-scalb(1, -n))+t, n)
}

// expReduce returns n and r with x = n·ln 2 + r, |r| ≤ (ln 2)/2.
func expReduce(x float64) (n int, r float64) {
	k := math.RoundToEven(float64(x * math.Log2E))
	r = float64(x - float64(k*ln2Hi64))
	return int(k), float64(r - float64(k*ln2Lo64))
}

// expTail returns e^r − 1 for |r| ≤ (ln 2)/2.
func expTail(r float64) float64 {
	q := float64(r*0x1.ad7f7ab7e5348p-26) + 0x1.28ad68e9a9c1ep-22
	q = float64(q*r) + 0x1.71df253aba7cep-19
	q = float64(q*r) + 0x1.a0199a16991bdp-16
	q = float64(q*r) + 0x1.a01a012a6949bp-13
	q = float64(q*r) + 0x1.6c16c18426863p-10
	q = float64(q*r) + 0x1.1111111127b9dp-07
	q = float64(q*r) + 0x1.555555555088bp-05
	q = float64(q*r) + 0x1.55555555554fap-03
	q = float64(q*r) + 0x1.000000000000ap-01
	return float64(float64(r*r)*q) + r
}

// scalb returns x·2^n for |x| in [¼, 4), rounding once.
func scalb(x float64, n int) float64 {
	switch {
	case n > 1000:
		return float64(x*0x1p1000) * pow2(n-1000)
	case n < -1000:
		return float64(x*0x1p-900) * pow2(n+900)
	}
	return x * pow2(n)
}

// pow2 returns 2^n for a normal result.
func pow2(n int) float64 { return math.Float64frombits(uint64(n+1023) << 52) }

// Log returns the natural logarithm: −Inf at 0, NaN for x < 0. The error is below 1 ulp.
func Log(x float64) float64 {
	switch {
	case x != x || x > math.MaxFloat64:
		return x
	case x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	}
	k, f := logReduce(x)
	return logSum(float64(k), f, 0)
}

// Log1p returns log(1+x), accurate near 0. It is −Inf at −1 and NaN for x < −1. The error is below
// 1 ulp.
func Log1p(x float64) float64 {
	switch {
	case x != x || x > math.MaxFloat64 || x == 0:
		return x
	case x < -1:
		return math.NaN()
	case x == -1:
		return math.Inf(-1)
	case -0.25 < x && x < 0.375:
		return logSum(0, x, 0)
	}
	u := 1 + x
	// The rounding error of u, relative to u. It matters for |x| < 2⁵³.
	lost := 0.0
	if x < 1 {
		lost = float64(x-float64(u-1)) / u
	} else if x < 0x1p54 {
		lost = float64(1-float64(u-x)) / u
	}
	k, f := logReduce(u)
	return logSum(float64(k), f, lost)
}

// LogAdd returns log(e^a + e^b). −Inf is the logarithm of 0.
func LogAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + Log1p(Exp(b-a))
}

// LogAdds replaces dst[i] by log(e^dst[i] + e^x[i]), where −Inf is the logarithm of 0. The error is
// below 1 ulp of the result or 3e-16, whichever is larger. LogAdds panics unless len(x) = len(dst).
// Neither slice may hold +Inf or NaN.
func LogAdds(dst, x []float64) {
	checkLen("x", len(x), len(dst))
	for i, b := range x[:len(dst)] {
		a := dst[i]
		d := a - b
		// Compute the larger of the two and |d| without a branch, which would be unpredictable.
		p, q := math.Float64bits(a), math.Float64bits(b)
		top := math.Float64frombits(p ^ (p^q)&uint64(int64(math.Float64bits(d))>>63))
		d = math.Abs(d)
		if !(d < logAddEnd) { // also true if d is NaN, because both are −Inf
			if a < b {
				dst[i] = b
			}
			continue
		}
		k := int(float64(d*logAddPoints) + 0.5)
		c := &logAddSeries[k]
		t := d - float64(float64(k)/logAddPoints)
		u := float64(t * t)
		low := c[0] + float64(t*c[1]) + float64(u*(c[2]+float64(t*c[3])))
		high := c[4] + float64(t*c[5]) + float64(u*(c[6]+float64(t*c[7])))
		dst[i] = top + (low + float64(float64(u*u)*high))
	}
}

const (
	// Difference d beyond which e^−d is negligible: e^−40 is below half an ulp of log 2.
	logAddEnd = 40
	// Number of expansion points in an interval of 1; the next term of the series is below 1e-18.
	logAddPoints = 16
)

// logAddSeries holds the Taylor coefficients of log(1 + e^−d) about the points d = k/logAddPoints.
var logAddSeries = func() (all [logAddEnd*logAddPoints + 1][8]float64) {
	for k := range all {
		// The function y = 1/(1 + e^d) satisfies y' = −y·(1 − y), so its series y_n follows
		// (n+1)·y_(n+1) = Σ y_i·y_(n−i) − y_n. The derivative of log(1 + e^−d) is −y.
		c, y := &all[k], [8]float64{}
		e := Exp(-float64(k) / logAddPoints)
		c[0], y[0] = Log1p(e), e/(1+e)
		for n := range 7 {
			c[n+1] = -y[n] / float64(n+1)
			sum := -y[n]
			for i := range n + 1 {
				sum += float64(y[i] * y[n-i])
			}
			y[n+1] = sum / float64(n+1)
		}
	}
	return all
}()

// logReduce returns k and f with x = 2^k·(1+f) and 1+f in [√½, √2), for finite x > 0.
func logReduce(x float64) (k int, f float64) {
	if x < 0x1p-1022 {
		x *= 0x1p54
		k = -54
	}
	const sqrtHalf = 0x3fe6a09e667f3bcd // bits of √½
	b := math.Float64bits(x)
	e := int64(b-sqrtHalf) >> 52 // arithmetic shift: rounds down
	return k + int(e), math.Float64frombits(b-uint64(e)<<52) - 1
}

// logSum returns k·ln 2 + log(1+f) + lost, where lost is a rounding error to be corrected.
func logSum(k, f, lost float64) float64 {
	s := f / (2 + f)
	z := float64(s * s)
	p := float64(z*0x1.2f16cdb15a626p-03) + 0x1.39a014f5825e8p-03
	p = float64(p*z) + 0x1.74664e6adbaa8p-03
	p = float64(p*z) + 0x1.c71c51c208b8bp-03
	p = float64(p*z) + 0x1.249249424364ep-02
	p = float64(p*z) + 0x1.999999997f852p-02
	p = float64(p*z) + 0x1.5555555555593p-01
	p = float64(p * z)
	// log(1+f) = s·(2+p) and 2s = f − s·f. Subtracting f²/2 first keeps the
	// rounded part small.
	h := float64(float64(0.5*f) * f)
	tail := float64(s*float64(h+p)) + float64(float64(k*ln2Lo64)+lost)
	return float64(k*ln2Hi64) - float64(float64(h-tail)-f)
}

// Sigmoid returns 1/(1+e^−x) without overflow. The error is below 2 ulp.
func Sigmoid(x float64) float64 {
	if x < 0 {
		e := Exp(x)
		return e / (1 + e)
	}
	return 1 / (1 + Exp(-x))
}

// Softplus returns log(1+e^x) without overflow. The error is below 2 ulp.
func Softplus(x float64) float64 {
	if x > 0 {
		return x + Log1p(Exp(-x))
	}
	return Log1p(Exp(x))
}
