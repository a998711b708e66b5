package diagnose

import (
	"errors"
	"math"
	"math/big"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// weights holds exact sums of w = exp(l) and of w² over chains with the log-weights l.
type weights struct {
	first, second scaledSum
	bad           badDraw
}

// largestLog bounds |l|, so that the binary exponent of exp(2l) fits a 32-bit int.
const largestLog = 1 << 28

// add adds the weight exp(l) of a chain. A weight of 0 (l = −Inf) changes nothing. Any other l
// outside ±largestLog is recorded as bad.
func (w *weights) add(chain int, l float64) {
	if math.IsInf(l, -1) {
		return
	}
	if !(math.Abs(l) <= largestLog) {
		if b := (badDraw{some: true, chain: chain, value: l}); b.before(w.bad) {
			w.bad = b
		}
		return
	}
	// exp(l) = m·2^k; the first product is exact for k below 2²¹.
	k := math.Floor(l / math.Ln2)
	m := simd.Exp(l - float64(k*ln2High) - float64(k*ln2Low))
	w.first.add(m, int(k))
	w.second.add(float64(m*m), 2*int(k))
}

// ln2High + ln2Low is ln 2; ln2High has 32 bits, so that its products with exponents are exact.
const (
	ln2High = 0x1.62e42feep-1
	ln2Low  = 0x1.a39ef35793c76p-33
)

func (w *weights) merge(o *weights) {
	w.first.merge(&o.first)
	w.second.merge(&o.second)
	if o.bad.before(w.bad) {
		w.bad = o.bad
	}
}

var errNoWeight = errors.New("no chain has a weight above 0")

// mean returns the results of [Tally.LogMeanExp] over n chains.
func (w *weights) mean(n int) (mean, relative, ess float64, err error) {
	sum, squares := w.first.big(), w.second.big()
	if n == 0 || sum.Sign() == 0 {
		return math.Inf(-1), 0, 0, errNoWeight
	}
	fraction, two := new(big.Float), 0
	two = sum.MantExp(fraction)
	f, _ := fraction.Float64()
	mean = simd.Log(f) + float64(float64(two)*math.Ln2) - simd.Log(float64(n))
	square := new(big.Float).Mul(sum, sum)
	ess, _ = new(big.Float).Quo(square, squares).Float64()
	if n > 1 { // squared standard error ((n Σw²)/(Σw)² − 1)/(n−1)
		d := new(big.Float).Mul(squares, count(n))
		d.Quo(d.Sub(d, square), square)
		v, _ := d.Quo(d, count(n-1)).Float64()
		relative = math.Sqrt(max(v, 0))
	}
	return mean, relative, ess, nil
}

// scaledSum is a sum without rounding of positive numbers m·2^k of any size, except numbers that
// are negligible next to the largest one. With s = span512, sums[j] holds the terms from
// 2^(s·(top−j)) to 2^(s·(top−j+1)), divided by 2^(s·(top−j)). Terms below that range are dropped;
// they are smaller than the largest term by a factor of more than 2^512. Which terms are dropped
// does not depend on the order of addition.
type scaledSum struct {
	top int
	// sums of the large and the small terms; sums[0] is positive unless there is no term
	sums [2]exactSum
}

const span512 = 512

// add adds m·2^k to the sum; m must be positive.
func (s *scaledSum) add(m float64, k int) {
	top := k >> 9 // rounded down
	if j := s.raise(top) - top; j < len(s.sums) {
		s.sums[j].add(math.Ldexp(m, k-top*span512))
	}
}

// raise makes top the largest of its present value and the argument, drops terms that are now too
// small, and returns the new value.
func (s *scaledSum) raise(top int) int {
	switch {
	case s.sums[0].terms == 0:
		s.top = top
	case top == s.top+1:
		s.top, s.sums = top, [2]exactSum{{}, s.sums[0]}
	case top > s.top:
		s.top, s.sums = top, [2]exactSum{}
	}
	return s.top
}

func (s *scaledSum) merge(o *scaledSum) {
	if o.sums[0].terms == 0 {
		return
	}
	shift := s.raise(o.top) - o.top
	for j := range o.sums {
		if j+shift < len(s.sums) && o.sums[j].terms > 0 {
			s.sums[j+shift].merge(&o.sums[j])
		}
	}
}

// big returns the sum as a big.Float.
func (s *scaledSum) big() *big.Float {
	v := s.sums[0].big()
	low := s.sums[1].big()
	low.SetMantExp(low, -span512)
	v.Add(v, low)
	return v.SetMantExp(v, s.top*span512)
}
