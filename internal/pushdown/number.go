package pushdown

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// number is m·2^(512·e), m = 0 or 2^-256 ≤ m < 2^256, e = 0 where m = 0: a
// float64 without a bound on its exponent. Terms below 2^-256 of a sum are
// lost, as a float64 loses those below 2^-53.
type number struct {
	m float64
	e int64
}

const (
	wordBits = 512
	wordLow  = 0x1p-256
	wordHigh = 0x1p256
	wordUp   = 0x1p512
	wordDown = 0x1p-512
)

// normal restores the range of m after one sum or product.
func (x number) normal() number {
	switch {
	case x.m == 0:
		return number{}
	case x.m >= wordHigh:
		return number{x.m * wordDown, x.e + 1}
	case x.m < wordLow:
		return number{x.m * wordUp, x.e - 1}
	}
	return x
}

func (x number) times(y number) number { return number{x.m * y.m, x.e + y.e}.normal() }

// plus aligns exponents. Neighbouring exponents matter: 2^255·2^0 and
// 2^-256·2^512 differ by a factor of two.
func (x number) plus(y number) number {
	switch {
	case x.m == 0:
		return y
	case y.m == 0:
		return x
	case x.e == y.e:
		return number{x.m + y.m, x.e}.normal()
	case x.e == y.e+1:
		return number{x.m + float64(y.m*wordDown), x.e}.normal()
	case y.e == x.e+1:
		return number{y.m + float64(x.m*wordDown), y.e}.normal()
	case x.e > y.e:
		return x
	}
	return y
}

func (x number) over(y number) number { return number{x.m / y.m, x.e - y.e}.normal() }

// log returns the natural logarithm, −Inf of zero.
func (x number) log() float64 {
	if x.m == 0 {
		return math.Inf(-1)
	}
	return simd.Log(x.m) + float64(float64(x.e)*(wordBits*math.Ln2))
}

// fromLog returns e^x.
func fromLog(x float64) number {
	if math.IsInf(x, -1) {
		return number{}
	}
	e := math.Round(x / (wordBits * math.Ln2))
	return number{simd.Exp(x - float64(e*(wordBits*math.Ln2))), int64(e)}.normal()
}

// ratio returns x/top as a float64, 0 where it is below its range.
func (x number) ratio(top number) float64 {
	switch d := x.e - top.e; {
	case x.m == 0 || d < -1:
		return 0
	case d == 0:
		return x.m / top.m
	case d == -1:
		return x.m / top.m * wordDown
	default:
		return x.m / top.m * wordUp
	}
}

func (x number) less(y number) bool {
	switch {
	case x.m == 0 || y.m == 0:
		return y.m != 0
	case x.e != y.e:
		return x.e < y.e
	}
	return x.m < y.m
}
