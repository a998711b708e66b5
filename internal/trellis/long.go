package trellis

import "math"

// long is a list of numbers mantissa·2^exponent, mantissa 0 or near 1.
type long struct {
	mantissa []float64
	exponent []int32
}

// The exponent of 0 is far below that of any product of others, and both are far
// from the ends of int32.
const (
	nothing = -1 << 29
	longest = 1 << 27
)

// load makes x the exponentials of logs, and reports whether their exponents fit.
func (x *long) load(logs []float64) bool {
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
			x.mantissa[i], x.exponent[i] = exp(w-float64(n*math.Ln2)), int32(n)
		}
	}
	return true
}

// halves holds 2^-n; what is smaller is lost in a sum of float64.
var halves = func() (h [128]float64) {
	for n := range h {
		h[n] = math.Ldexp(1, -n)
	}
	return h
}()
