package simd

import "fmt"

// Sites of two levels may be held as one bit each, 512 of them in a register.

// BitSites is the number of sites that the kernels of bits treat as one: the
// lengths of their strings are multiples of it.
const BitSites = 512

// BitGroups is the number of groups of a random stream that belong to BitSites
// sites: 64 binary digits each. Few of them are ever computed.
const BitGroups = 16

// maxBits bounds the sites of one call.
const maxBits = 64 * BitSites

// Counts holds how many neighbours of a site are in state 1, for up to 32 768
// sites: bit i of the number is plane i.
type Counts [3][maxBits / 64]uint64

// Odds holds the probability of a site to be in state 1 for each number of its
// neighbours that are. It is immutable.
type Odds struct {
	// digits[p] is binary digit p of the probabilities, all bits set or none, as
	// a sum modulo 2 of products of the digits c_0, c_1 and c_2 of the number of
	// neighbours: entry j is the coefficient of the product of those c_i for
	// which bit i of j is set.
	digits [64][8]uint64
	terms  int // that are not 0 for numbers of neighbours that occur
}

// NewOdds returns the odds p[k]·2⁻⁶⁴ for k = 0, …, len(p)−1 neighbours in state 1.
// It panics unless 1 ≤ len(p) ≤ 8.
func NewOdds(p []uint64) *Odds {
	if len(p) < 1 || len(p) > 8 {
		panic(fmt.Sprintf("simd: NewOdds: len(p) = %d, want 1 … 8", len(p)))
	}
	o := &Odds{terms: 5}
	if len(p) > o.terms {
		o.terms = 8
	}
	a := coefficients(p)
	for d := range o.digits {
		for j, v := range a[:o.terms] { // four neighbours of four leave no others
			o.digits[d][j] = -(v >> (63 - d) & 1)
		}
	}
	return o
}

// coefficients returns, in each binary digit, the coefficients of the products of digits
// of k that add up to that digit of p[k], modulo 2, in the order of Odds.digits.
func coefficients(p []uint64) (a [8]uint64) {
	copy(a[:], p)
	for i := 1; i < len(a); i *= 2 {
		for j := range a {
			if j&i != 0 {
				a[j] ^= a[j-i]
			}
		}
	}
	return a
}

// five adds up the products of counts up to 4 and their coefficients, modulo 2.
func five(a []uint64, c0, c1, c2 uint64) uint64 {
	return a[0] ^ a[1]&c0 ^ a[2]&c1 ^ a[3]&(c0&c1) ^ a[4]&c2
}

// digit returns digit d of the probability for counts of 64 sites.
func (o *Odds) digit(d int, c0, c1, c2 uint64) uint64 {
	a := &o.digits[d]
	t := five(a[:], c0, c1, c2)
	if o.terms > 5 {
		t ^= a[5]&(c0&c2) ^ a[6]&(c1&c2) ^ a[7]&(c0&c1&c2)
	}
	return t
}

// At returns the odds of k neighbours in state 1, times 2⁶⁴.
func (o *Odds) At(k int) (p uint64) {
	var c [3]uint64
	for b := range c {
		c[b] = -(uint64(k) >> b & 1)
	}
	for d := range o.digits {
		p = p<<1 | o.digit(d, c[0], c[1], c[2])&1
	}
	return p
}
