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
	for d := range o.digits {
		a := &o.digits[d]
		for k, v := range p {
			a[k] = -(v >> (63 - d) & 1)
		}
		for i := 1; i < len(a); i *= 2 {
			for j := range a {
				if j&i != 0 {
					a[j] ^= a[j-i]
				}
			}
		}
		if o.terms == 5 { // four neighbours of four leave no others
			a[5], a[6], a[7] = 0, 0, 0
		}
	}
	return o
}

// digit returns digit d of the probability for counts of 64 sites.
func (o *Odds) digit(d int, c0, c1, c2 uint64) uint64 {
	a := &o.digits[d]
	t := a[0] ^ a[1]&c0 ^ a[2]&c1 ^ a[3]&(c0&c1) ^ a[4]&c2
	if o.terms > 5 {
		t ^= a[5]&(c0&c2) ^ a[6]&(c1&c2) ^ a[7]&(c0&c1&c2)
	}
	return t
}

// HeatBits draws sites afresh given their neighbours (heat bath): for site i, bit
// i of the string dst,
//
//	dst_i = 1 where u_i < p[k_i], else 0,
//
// with k_i ≤ 7 its number of neighbours in state 1, p from [NewOdds] and u_i a
// random integer of 64 binary digits. Digit d of u_i, the highest being 0, is bit
// i mod 32 of word 512r + 16d + ⌊i/32⌋ mod 16 of the stream from the given group
// on, r = ⌊i/512⌋ (see [Philox]): BitGroups groups for every BitSites sites.
// Digits are looked at only until they differ from those of p.
//
// It panics unless len(dst) is a multiple of 8, at most that of counts.
func HeatBits(dst []uint64, count *Counts, o *Odds, key, stream, group uint64) {
	checkBits("dst", len(dst), len(count[0]))
	heatBits(dst, count, o, key, stream, group)
}

// BitTorus tells where in a string the neighbours of a site are that are on a
// torus of two colours, see [TorusBits].
type BitTorus struct {
	// near are the places relative to the site's: two in other rows; two of which
	// the second is taken but at the ends of rows; two likewise for other rows.
	near [6]int
	asm  [6][4]int // bytes, and shifts to the right and to the left
}

// NewBitTorus returns the neighbours at the given places. Any site has those at
// near[0], near[1] and at its own place; sites whose bit of rows is set have
// near[2] where a is set and near[3] where it is not; the others have near[4]
// where b is set and near[5] where it is not.
func NewBitTorus(near [6]int) *BitTorus {
	t := &BitTorus{near: near}
	for j, at := range near {
		shift := at & 63
		t.asm[j] = [4]int{(at - shift) / 8, shift, 64 - shift}
	}
	return t
}

// TorusBits stores in count the number of neighbours in state 1 of the sites
// first, first+1, …, first+64·len(rows)−1 of one colour, whose neighbours are in
// the string own of the other colour, at the places that near says. Site i is bit
// i mod 64 of word pad + ⌊i/64⌋ of own. rows, a and b begin at first, a multiple
// of 64. It panics unless lengths fit: own holds what is up to 64 bits beyond all
// places.
func TorusBits(count *Counts, own []uint64, pad, first int, near *BitTorus, rows, a, b []uint64) {
	checkBits("rows", len(rows), len(count[0]))
	checkLen("a", len(a), len(rows))
	checkLen("b", len(b), len(rows))
	for _, at := range near.near {
		lo := pad + (first+at)>>6
		if lo < 0 || lo+len(rows)+1 > len(own) {
			panic(fmt.Sprintf("simd: TorusBits: words %d … %d of own, which has %d", lo, lo+len(rows), len(own)))
		}
	}
	if len(rows) > 0 {
		torusBits(count, own, pad+first/64, near, rows, a, b)
	}
}

// SpreadBits stores rows of a lattice of two colours as numbers: with n pairs of
// columns, x[2nr + 2j] is bit first + nr + j of even and x[2nr + 2j + 1] that of
// odd, for even r; for odd r the two change places. It panics unless len(x) is a
// multiple of 2n and the strings are long enough, with a word to spare.
func SpreadBits(x []int32, even, odd []uint64, first, n int) {
	if n < 1 || len(x)%(2*n) != 0 {
		panic(fmt.Sprintf("simd: SpreadBits: len(x) = %d, want a multiple of 2·%d", len(x), n))
	}
	if last := (first+len(x)/2)/64 + 1; first < 0 || last >= len(even) || last >= len(odd) {
		panic(fmt.Sprintf("simd: SpreadBits: bits %d … %d of %d and %d words", first, first+len(x)/2, len(even), len(odd)))
	}
	spreadBits(x, even, odd, first, n)
}

func checkBits(name string, n, most int) {
	if n%(BitSites/64) != 0 || n > most {
		panic(fmt.Sprintf("simd: len(%s) = %d, want a multiple of %d, at most %d", name, n, BitSites/64, most))
	}
}
