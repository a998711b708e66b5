package diagnose

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"
)

// exactSum is a sum of float64s without rounding. It is a fixed-point number with limbs of 32 bits,
// in which the lowest bit of limb 0 is 2⁻¹⁰⁷⁴. Addition of integers is associative, so a sum has
// the same bits however its terms are grouped. (The idea is Kulisch's long accumulator; 68 limbs
// have space for 2⁷⁸ terms of any size.)
//
// Limbs are int64, and carries are propagated only once in carryAfter terms: every term adds less
// than 2³² to a limb.
type exactSum struct {
	limb      [limbs]int64
	low, high int   // limbs outside low … high−1 are 0
	terms     int64 // number of terms added since the last carry
}

const (
	limbs  = 68
	lowest = -1074 // exponent of the lowest bit of limb 0
	// Number of terms between carries; limbs stay below 2³²·2³⁰, far from overflow.
	carryAfter = 1 << 30
)

// add adds v to the sum; v must be finite.
func (a *exactSum) add(v float64) {
	b := math.Float64bits(v)
	e, m := int(b>>52&0x7ff), b&(1<<52-1)
	if e > 0 {
		m |= 1 << 52
		e--
	} // |v| = m·2^(e−1074)
	i, s := e/32, uint(e%32)
	low, high := m<<s, m>>(64-s) // a shift by 64 gives 0
	sign := 1 - 2*int64(b>>63)
	a.limb[i] += sign * int64(low&math.MaxUint32)
	a.limb[i+1] += sign * int64(low>>32)
	a.limb[i+2] += sign * int64(high)
	a.widen(i, i+3)
	if a.terms++; a.terms >= carryAfter {
		a.carry()
	}
}

// widen extends the range of limbs that may differ from 0 to include low … high−1.
func (a *exactSum) widen(low, high int) {
	if a.high == 0 {
		a.low = low
	}
	a.low, a.high = min(a.low, low), max(a.high, high)
}

// addSquare adds v² exactly, unless v² leaves the range of float64. It adds the rounded product and
// its rounding error, found by fused multiply-add (Dekker's two-product).
func (a *exactSum) addSquare(v float64) {
	high := float64(v * v)
	a.add(high)
	a.add(math.FMA(v, v, -high))
}

// merge adds all terms of o to a.
func (a *exactSum) merge(o *exactSum) {
	if a.terms+o.terms+1 >= carryAfter {
		a.carry()
		c := *o
		c.carry()
		o = &c
	}
	if o.high == 0 {
		return
	}
	for i := o.low; i < o.high; i++ {
		a.limb[i] += o.limb[i]
	}
	a.widen(o.low, o.high)
	a.terms += o.terms + 1
}

// carry propagates carries, so that all limbs except the highest are in 0 … 2³²−1. This form of a
// value is unique.
func (a *exactSum) carry() {
	c := int64(0)
	for i := a.low; i < limbs-1 && (i < a.high || c != 0); i++ {
		v := a.limb[i] + c
		c = v >> 32
		a.limb[i] = v - c<<32
		a.high = max(a.high, i+1)
	}
	if c != 0 {
		a.limb[limbs-1] += c
		a.high = limbs
	}
	a.terms = 1
}

// magnitude returns the sign of the sum and its absolute value, with carries propagated.
func (a *exactSum) magnitude() (negative bool, m exactSum) {
	m = *a
	m.carry()
	if m.limb[limbs-1] >= 0 {
		return false, m
	}
	for i := m.low; i < m.high; i++ {
		m.limb[i] = -m.limb[i]
	}
	m.carry()
	return true, m
}

// precision is the number of mantissa bits that hold the square of a sum without rounding.
const precision = 2*32*limbs + 64

// big returns the sum as a big.Float.
func (a *exactSum) big() *big.Float {
	negative, m := a.magnitude()
	var b [4 * limbs]byte
	for i, v := range m.limb {
		binary.BigEndian.PutUint32(b[4*(limbs-1-i):], uint32(v))
	}
	z := new(big.Int).SetBytes(b[:])
	if negative {
		z.Neg(z)
	}
	f := new(big.Float).SetPrec(precision).SetInt(z)
	return f.SetMantExp(f, lowest)
}

// float64 returns the sum, rounded once.
func (a *exactSum) float64() float64 {
	v, _ := a.big().Float64()
	return v
}

// over returns the sum divided by n, rounded once.
func (a *exactSum) over(n int) float64 {
	v, _ := new(big.Float).Quo(a.big(), count(n)).Float64()
	return v
}

func count(n int) *big.Float { return new(big.Float).SetPrec(precision).SetInt64(int64(n)) }

// variance returns the sample variance (Σ v² − (Σ v)²/n)/(n − 1) of n ≥ 2 values v from their exact
// sum and sum of squares, rounded once.
func variance(sum, squares *exactSum, n int) float64 {
	a := sum.big()
	a.Mul(a, a)
	a.Quo(a, count(n))
	a.Sub(squares.big(), a)
	a.Quo(a, count(n-1))
	v, _ := a.Float64()
	return max(v, 0) // squares that underflow may make it negative
}

// append appends the encoded sum to b: a byte for the sign, the index of the first nonzero limb,
// the number of limbs from there to the last nonzero limb, and these limbs.
func (a *exactSum) append(b []byte) []byte {
	negative, m := a.magnitude()
	low, high := m.low, m.high
	for low < high && m.limb[low] == 0 {
		low++
	}
	for high > low && m.limb[high-1] == 0 {
		high--
	}
	if low == high {
		low, high = 0, 0
	}
	sign := byte(0)
	if negative {
		sign = 1
	}
	b = append(b, sign, byte(low), byte(high-low))
	for _, v := range m.limb[low:high] {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

var errSum = errors.New("a sum is not in its one form")

// read decodes a sum that append encoded at the front of b, and returns the rest of b. It returns
// an error for any other encoding.
func (a *exactSum) read(b []byte) ([]byte, error) {
	if len(b) < 3 {
		return nil, errSum
	}
	sign, low, n := b[0], int(b[1]), int(b[2])
	b = b[3:]
	if sign > 1 || low+n > limbs || len(b) < 4*n || n == 0 && (sign > 0 || low > 0) {
		return nil, errSum
	}
	*a = exactSum{terms: 1}
	for i := range n {
		v := int64(binary.LittleEndian.Uint32(b[4*i:]))
		if v == 0 && (i == 0 || i == n-1) {
			return nil, errSum
		}
		a.limb[low+i] = v * (1 - 2*int64(sign))
	}
	if n > 0 {
		a.widen(low, low+n)
	}
	if a.limb[limbs-1] != int64(int32(a.limb[limbs-1])) {
		return nil, errSum
	}
	return b[4*n:], nil
}
