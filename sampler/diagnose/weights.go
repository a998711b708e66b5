package diagnose

import (
	"errors"
	"math"
	"math/big"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// weights holds sums of w = exp(l) and w² over chains.
type weights struct {
	first, second scaledSum
	bad           badDraw
}

// largestLog bounds |l|, so that exponents of two fit 32-bit ints.
const largestLog = 1 << 28

// add adds the weight exp(l) of a chain.
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

// ln 2 in two parts, the first of 32 bits.
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

// mean returns the figures of LogMeanExp over n chains.
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
	if n > 1 { // ((n Σw²)/(Σw)² − 1)/(n−1)
		d := new(big.Float).Mul(squares, count(n))
		d.Quo(d.Sub(d, square), square)
		v, _ := d.Quo(d, count(n-1)).Float64()
		relative = math.Sqrt(max(v, 0))
	}
	return mean, relative, ess, nil
}

// scaledSum is a sum without rounding of positive numbers m·2^k of any size, except numbers that
// are negligible next to the largest: sums[j] holds the terms between 2^(span·(top−j)) and
// 2^(span·(top−j+1)), in that unit. Terms below both sums are smaller than the largest term by a
// factor of more than 2^512. Which terms these are does not depend on the order of addition.
type scaledSum struct {
	top  int
	sums [2]exactSum // the first is positive unless there is no term
}

const span512 = 512

// add adds m·2^k, m > 0.
func (s *scaledSum) add(m float64, k int) {
	top := k >> 9 // rounded down
	if j := s.raise(top) - top; j < len(s.sums) {
		s.sums[j].add(math.Ldexp(m, k-top*span512))
	}
}

// raise raises the top to at least the given value, drops sums that are then too low, and returns
// the top.
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

// big returns the value.
func (s *scaledSum) big() *big.Float {
	v := s.sums[0].big()
	low := s.sums[1].big()
	low.SetMantExp(low, -span512)
	v.Add(v, low)
	return v.SetMantExp(v, s.top*span512)
}
