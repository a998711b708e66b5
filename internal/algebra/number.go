package algebra

import (
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Number is a nonnegative float64 with an unbounded exponent. Its value is M·2^(512·E). Either
// 2^-256 ≤ M < 2^256, or M = 0 and E = 0. Sums and products are rounded to 53 bits, as those of
// float64 are.
type Number struct {
	M float64
	E int64
}

const (
	wordBits = 512
	wordLow  = 0x1p-256
	wordHigh = 0x1p256
	wordUp   = 0x1p512
	wordDown = 0x1p-512
)

// Normal returns the same value with a mantissa M in the range that [Number] requires. The mantissa
// of x may be the sum, the product or the quotient of two mantissas in that range.
func (x Number) Normal() Number {
	switch {
	case x.M == 0:
		return Number{}
	case x.M >= wordHigh:
		return Number{x.M * wordDown, x.E + 1}
	case x.M < wordLow:
		return Number{x.M * wordUp, x.E - 1}
	}
	return x
}

// Times returns x·y.
func (x Number) Times(y Number) Number { return Number{x.M * y.M, x.E + y.E}.Normal() }

// Plus returns x + y. If the exponents E of the two terms differ by 2 or more, it ignores the
// smaller term.
func (x Number) Plus(y Number) Number {
	switch {
	case x.M == 0:
		return y
	case y.M == 0:
		return x
	case x.E == y.E:
		return Number{x.M + y.M, x.E}.Normal()
	case x.E == y.E+1:
		return Number{x.M + float64(y.M*wordDown), x.E}.Normal()
	case y.E == x.E+1:
		return Number{y.M + float64(x.M*wordDown), y.E}.Normal()
	case x.E > y.E:
		return x
	}
	return y
}

// Over returns x/y.
func (x Number) Over(y Number) Number { return Number{x.M / y.M, x.E - y.E}.Normal() }

// Log returns the natural logarithm of x, or −Inf if x is 0.
func (x Number) Log() float64 {
	if x.M == 0 {
		return math.Inf(-1)
	}
	return simd.Log(x.M) + float64(float64(x.E)*(wordBits*math.Ln2))
}

// Exp returns e^x.
func Exp(x float64) Number {
	if math.IsInf(x, -1) {
		return Number{}
	}
	e := math.Round(x / (wordBits * math.Ln2))
	return Number{simd.Exp(x - float64(e*(wordBits*math.Ln2))), int64(e)}.Normal()
}

// Scaled returns x·2^n as a [Number]. The float64 x must be normal and > 0.
func Scaled(x float64, n int32) Number {
	e := (int64(Exponent(x)+n) + wordBits/2) >> 9
	return Number{math.Float64frombits(math.Float64bits(x) + uint64(int64(n)-e*wordBits)<<52), e}
}

// Exponent returns the integer n with 2^n ≤ x < 2^(n+1). The float64 x must be normal and > 0.
func Exponent(x float64) int32 { return int32(math.Float64bits(x)>>52) - 1023 }

// Power returns 2^n. It returns 0 if n < −1000 and +Inf if n > 1000.
func Power(n int32) float64 {
	switch {
	case n < -1000:
		return 0
	case n > 1000:
		return math.Inf(1)
	}
	return math.Float64frombits(uint64(n+1023) << 52)
}

// Ratio returns x/top as a float64. It returns 0 if the ratio is too small for a float64.
func (x Number) Ratio(top Number) float64 {
	switch d := x.E - top.E; {
	case x.M == 0 || d < -1:
		return 0
	case d == 0:
		return x.M / top.M
	case d == -1:
		return x.M / top.M * wordDown
	default:
		return x.M / top.M * wordUp
	}
}

// Less reports whether x < y.
func (x Number) Less(y Number) bool {
	switch {
	case x.M == 0 || y.M == 0:
		return y.M != 0
	case x.E != y.E:
		return x.E < y.E
	}
	return x.M < y.M
}

// List holds numbers in the form mantissa·2^exponent, where the mantissa is 0 or near 1.
// [List.LogDot] adds many products of them and takes a single logarithm, at the end. The zero value
// is empty.
type List struct {
	mantissa []float64
	exponent []int32
}

// nothing is the exponent of the number 0, far below that of any product of other numbers.
// longest bounds all other exponents. Sums of two of them are far from overflowing an int32.
const (
	nothing = -1 << 29
	longest = 1 << 27
)

// Load sets the list to the numbers e^logs[k]. It returns false if the exponent of a number is out
// of range.
func (x *List) Load(logs []float64) bool {
	if cap(x.mantissa) < len(logs) {
		x.mantissa, x.exponent = make([]float64, len(logs)), make([]int32, len(logs))
	}
	x.mantissa, x.exponent = x.mantissa[:len(logs)], x.exponent[:len(logs)]
	for i, w := range logs {
		n := math.Floor(w / math.Ln2)
		switch {
		case math.IsInf(w, -1):
			x.mantissa[i], x.exponent[i] = 0, nothing
		case !(math.Abs(n) < longest):
			return false
		default:
			x.mantissa[i], x.exponent[i] = simd.Exp(w-float64(n*math.Ln2)), int32(n)
		}
	}
	return true
}

// LogDot returns log Σ_k x[i[k]]·y[j[k]], or −Inf for an empty sum. The index slices i and j must
// have the same length.
func (x *List) LogDot(y *List, i, j []int32) float64 {
	j = j[:len(i)]
	top := int32(2 * nothing)
	for k, a := range i {
		top = max(top, x.exponent[a]+y.exponent[j[k]])
	}
	if top < nothing/2 {
		return math.Inf(-1)
	}
	sum := 0.0
	for k, a := range i {
		b := j[k]
		down := uint32(top - x.exponent[a] - y.exponent[b])
		if down < uint32(len(halves)) {
			sum += float64(float64(x.mantissa[a]*y.mantissa[b]) * halves[down])
		}
	}
	return simd.Log(sum) + float64(float64(top)*math.Ln2)
}

// halves[n] is 2^-n. Terms that are smaller than the last entry are lost in a sum of float64.
var halves = func() (h [128]float64) {
	for n := range h {
		h[n] = math.Ldexp(1, -n)
	}
	return h
}()

// LogSum returns log Σ_k e^x[k], or −Inf for an empty sum. It divides all terms by the greatest
// one, so that they do not overflow.
func LogSum(x []float64) float64 {
	top := math.Inf(-1)
	for _, v := range x {
		top = max(top, v)
	}
	if math.IsInf(top, -1) {
		return top
	}
	sum := 0.0
	for _, v := range x {
		sum += simd.Exp(v - top)
	}
	return top + simd.Log(sum)
}

// Unit returns a random number that is uniform on the multiples of 2^-53 in [0,1). It consumes one
// value of src.
func Unit(src rand.Source) float64 { return float64(src.Uint64()>>11) * 0x1p-53 }

// Pick draws an index with probability proportional to its weight. The argument total is the sum of
// the weights, added in order. Pick returns an index of positive weight, or 0 if there is none.
func Pick(weights []float64, total float64, src rand.Source) (last int) {
	goal, sum := Unit(src)*total, 0.0
	for i, w := range weights {
		if w > 0 {
			last = i
			if sum += w; sum > goal {
				break
			}
		}
	}
	return last
}
