package simd

import (
	"fmt"
	"math/bits"
	"slices"
)

// Sites of two levels may be held as one bit each, 512 of them in a register.

// BitSites is the number of sites that the kernels for bit strings process together. A bit string
// holds one bit per site: the site's state, 0 or 1. The number of bits in a string is a multiple of
// BitSites.
const BitSites = 512

// BitGroups is the number of groups of [GroupWords] random words that are reserved for a redraw of
// [BitSites] sites. That is 64 random bits for each site. Most of them are never
// computed.
const BitGroups = 16

const (
	maxBits = 64 * BitSites // largest number of sites in one call, at up to 1 ns each with AVX2
	// Largest number of sites in one call of spreadBits, at up to 0.5 ns each.
	spreadTerms = 1 << 16
)

// Counts holds, for each of up to 32,768 sites, the number of neighbours in state 1. Element i
// holds binary digit i of all these numbers. Bit s of the element belongs to site s.
type Counts [3][maxBits / 64]uint64

// Odds holds the probability that a redrawn site gets state 1. There is one probability for each
// number of the site's neighbours in state 1. An Odds is immutable.
type Odds struct {
	// digits[p] describes binary digit p of the probability as a function of the number of
	// neighbours, whose binary digits are c_0, c_1 and c_2. The digit is a sum modulo 2 of products
	// of these: entry j is the coefficient of the product of those c_i for which bit i of j is set.
	// All bits of an entry are equal.
	digits [64][8]uint64
	terms  int // number of entries that can differ from 0 for the numbers of neighbours that occur
}

// NewOdds returns the Odds with p[k]·2⁻⁶⁴ as the probability of state 1 for a site with k
// neighbours in state 1. It panics unless 1 ≤ len(p) ≤ 8.
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
		// With up to four neighbours, the other products are always 0.
		for j, v := range a[:o.terms] {
			o.digits[d][j] = -(v >> (63 - d) & 1)
		}
	}
	return o
}

// coefficients returns the coefficients that express p as sums of products, in the order of
// Odds.digits. In each binary digit, the sum modulo 2 for k neighbours is that digit of p[k].
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

// five returns the sum modulo 2 of the products for counts up to 4, with the coefficients a.
func five(a []uint64, c0, c1, c2 uint64) uint64 {
	return a[0] ^ a[1]&c0 ^ a[2]&c1 ^ a[3]&(c0&c1) ^ a[4]&c2
}

// digit returns digit d of the probability for 64 sites, whose counts have the digits c0, c1 and
// c2.
func (o *Odds) digit(d int, c0, c1, c2 uint64) uint64 {
	a := &o.digits[d]
	t := five(a[:], c0, c1, c2)
	if o.terms > 5 {
		t ^= a[5]&(c0&c2) ^ a[6]&(c1&c2) ^ a[7]&(c0&c1&c2)
	}
	return t
}

// At returns 2⁶⁴ times the probability of state 1 for a site with k neighbours in state 1.
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

// planes is the number of binary digits of a number of neighbours.
const planes = 3

// BitTorus holds the positions of a site's neighbours on a torus. The positions are in a bit
// string. This string has one bit for each site in [GridBits], and one for each site of one colour
// of a chequerboard in [TorusBits].
type BitTorus struct {
	// near holds positions relative to the site: two in other rows; then two of which the second is
	// used only at the ends of rows; then two more of that kind for other rows.
	near [6]int
	ends [2]int    // smallest and largest entry of near
	asm  [6][4]int // for each neighbour: offset in bytes, right shift and left shift
}

// NewBitTorus returns a BitTorus for neighbours at the given offsets from a site's position in a
// bit string. In [TorusBits], a site has neighbours at offsets[0], at offsets[1] and at its own
// position in the string of the other colour. The position of the fourth neighbour depends on the
// site's bits in three masks of TorusBits, which are called parity, a and b:
//
//	offsets[2] if the bits in parity and a are 1,
//	offsets[3] if the bit in parity is 1 and the bit in a is 0,
//	offsets[4] if the bit in parity is 0 and the bit in b is 1,
//	offsets[5] if the bits in parity and b are 0.
//
// [GridBits] documents its own use of the offsets.
func NewBitTorus(offsets [6]int) *BitTorus {
	t := &BitTorus{near: offsets, ends: [2]int{slices.Min(offsets[:]), slices.Max(offsets[:])}}
	for j, at := range offsets {
		shift := at & 63
		t.asm[j] = [4]int{(at - shift) / 8, shift, 64 - shift}
	}
	return t
}

// HeatBits redraws sites by heat bath: it draws the state of each site from the site's distribution
// given its neighbours. Site i has k_i ≤ 7 neighbours in state 1, as stored in count. Bit i of dst
// becomes
//
//	dst_i = 1 if u_i < o.At(k_i), else 0,
//
// where u_i is a random integer of 64 bits. Bit d of u_i, where d = 0 is the highest bit, is bit i
// mod 32 of word
//
//	1024r + 16d + ⌊i/32⌋ mod 16,  r = ⌊i/512⌋,
//
// of a random stream, counted from the start of the given group. [ARS] generates the stream if ars
// is true, and otherwise [Philox]. A redraw of BitSites sites takes BitGroups groups.
//
// HeatBits panics unless len(dst) is a multiple of 8 and at most 512.
func HeatBits(dst []uint64, count *Counts, o *Odds, ars bool, key, stream, group uint64) {
	checkBits("dst", len(dst), len(count[0]))
	if ars {
		heatBitsARS(dst, count, o, key, stream, group)
	} else {
		heatBits(dst, count, o, key, stream, group)
	}
}

// TorusBits counts the neighbours in state 1 of 64·len(parity) sites of a torus, and stores the
// numbers in count. All these sites have one colour and follow each other, beginning with site
// firstSite. Their neighbours have the other colour. The state of site i of that colour is bit i
// mod 64 of states[pad + ⌊i/64⌋]. The argument torus gives the positions of the neighbours in
// states. The masks parity, a and b (see [NewBitTorus]) start at site firstSite, a multiple of 64.
//
// TorusBits panics unless parity, a and b have the same length, which must be a multiple of 8 and
// at most 512. It also panics unless states contains the positions of all neighbours, and 64 bits
// after the last one.
func TorusBits(count *Counts, states []uint64, pad, firstSite int, torus *BitTorus, parity, a, b []uint64) {
	checkBits("parity", len(parity), len(count[0]))
	checkLen("a", len(a), len(parity))
	checkLen("b", len(b), len(parity))
	for _, d := range torus.ends {
		lo := pad + (firstSite+d)>>6
		if lo < 0 || lo+len(parity)+1 > len(states) {
			panic(fmt.Sprintf("simd: TorusBits: words %d … %d of states, which has %d", lo, lo+len(parity), len(states)))
		}
	}
	if len(parity) > 0 {
		torusBits(count, states, pad+firstSite/64, torus, parity, a, b)
	}
}

// SpreadBits converts the states of a lattice from bits to int32 values 0 or 1. The sites have the
// two colours of a chequerboard, and a row has n sites of each colour. The bit strings even and odd
// hold the sites of one colour each. For r even, and j = 0, …, n−1, SpreadBits stores in row r
//
//	x[2n·r + 2j] = even[k],  x[2n·r + 2j + 1] = odd[k],  k = first + n·r + j,
//
// where s[k] is bit k of the string s. For r odd, it exchanges the two strings. SpreadBits panics
// unless len(x) is a multiple of 2n and the strings are long enough, with one extra word.
func SpreadBits(x []int32, even, odd []uint64, first, n int) {
	if n < 1 || len(x)%(2*n) != 0 {
		panic(fmt.Sprintf("simd: SpreadBits: len(x) = %d, want a multiple of 2·%d", len(x), n))
	}
	if last := (first+len(x)/2)/64 + 1; first < 0 || last >= len(even) || last >= len(odd) {
		panic(fmt.Sprintf("simd: SpreadBits: bits %d … %d of %d and %d words", first, first+len(x)/2, len(even), len(odd)))
	}
	if best < spreadBitsLevel || 2*n > spreadTerms {
		refSpreadBits(x, even, odd, first, n)
		return
	}
	most := spreadTerms / (2 * n) // rows per call
	if most > 1 {
		most &^= 1
	}
	for len(x) > 0 {
		rows := min(most, len(x)/(2*n))
		spreadBitsRun(x[:2*n*rows], even, odd, first, n, rows)
		x, first = x[2*n*rows:], first+n*rows
		if rows%2 == 1 {
			even, odd = odd, even
		}
	}
}

// TallyTorus compares the new states of sites (newBits) with their earlier states (oldBits). It
// returns three counts:
//
//   - up is the number of sites that are now in state 1;
//   - moved is the number of sites that differ;
//   - bonds is the number of neighbours in state 1, as stored in count, summed over the sites that
//     are now in state 1.
//
// TallyTorus panics unless len(newBits) = len(oldBits) is a multiple of 8 and at most 512.
func TallyTorus(newBits, oldBits []uint64, count *Counts) (up, moved, bonds int) {
	checkBits("newBits", len(newBits), len(count[0]))
	checkLen("oldBits", len(oldBits), len(newBits))
	return tallyTorus(newBits, oldBits, count)
}

func refHeatBits(dst []uint64, count *Counts, o *Odds, key, stream, group uint64) {
	refHeat(dst, count, o, group, func(counter uint64) [4]uint32 { return philoxBlock(counter, stream, key) })
}

func refHeatBitsARS(dst []uint64, count *Counts, o *Odds, key, stream, group uint64) {
	keys := arsKeys(key)
	refHeat(dst, count, o, group, func(counter uint64) [4]uint32 { return arsBlock(counter, stream, &keys) })
}

func refHeat(dst []uint64, count *Counts, o *Odds, group uint64, block func(counter uint64) [4]uint32) {
	for i := range dst {
		c0, c1, c2 := count[0][i], count[1][i], count[2][i]
		dst[i] = refBelow(i, group, block, func(d int) uint64 { return o.digit(d, c0, c1, c2) })
	}
}

// refBelow returns, for the 64 sites of word i, the mask of sites whose random number is below the
// number with the given binary digits. A word is two lanes of the random stream.
func refBelow(i int, group uint64, block func(counter uint64) [4]uint32, digit func(d int) uint64) uint64 {
	counter := 16*(group+uint64(i/8*BitGroups)) + uint64(i%8*2)
	less, equal := uint64(0), ^uint64(0)
	for d := 0; d < 64 && equal != 0; d += 4 {
		lo, hi := block(counter), block(counter+1)
		for w := range lo {
			r, t := uint64(hi[w])<<32|uint64(lo[w]), digit(d+w)
			less |= equal & t &^ r
			equal &^= t ^ r
		}
		counter += 16
	}
	return less
}

func refTorusBits(count *Counts, own []uint64, at int, near *BitTorus, rows, a, b []uint64) {
	var from [6][]uint64
	var shift [6]uint
	for j, d := range near.near {
		from[j], shift[j] = own[at+d>>6:], uint(d&63)
	}
	for i, row := range rows {
		var v [6]uint64
		for j, s := range shift {
			v[j] = from[j][i]>>s | from[j][i+1]<<(64-s)
		}
		side := row&(a[i]&v[2]|v[3]&^a[i]) | (b[i]&v[4]|v[5]&^b[i])&^row
		z := own[at+i]
		odd, most := v[0]^v[1]^z, v[0]&v[1]|z&(v[0]^v[1])
		carry := odd & side
		count[0][i], count[1][i], count[2][i] = odd^side, most^carry, most&carry
	}
}

func refSpreadBits(x []int32, even, odd []uint64, first, n int) {
	for r := 0; r < len(x)/(2*n); r++ {
		row := x[2*n*r : 2*n*(r+1)]
		for j := range n {
			at := first + n*r + j
			row[2*j], row[2*j+1] = int32(even[at/64]>>(at%64)&1), int32(odd[at/64]>>(at%64)&1)
		}
		even, odd = odd, even
	}
}

func refTallyTorus(now, old []uint64, count *Counts) (up, moved, bonds int) {
	c0, c1, c2 := count[0][:len(now)], count[1][:len(now)], count[2][:len(now)]
	old = old[:len(now)]
	for i, v := range now {
		up += bits.OnesCount64(v)
		moved += bits.OnesCount64(v ^ old[i])
		bonds += bits.OnesCount64(v&c0[i]) + 2*bits.OnesCount64(v&c1[i]) + 4*bits.OnesCount64(v&c2[i])
	}
	return up, moved, bonds
}
