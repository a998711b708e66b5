package simd

import (
	"fmt"
	"math/bits"
)

// FlipOdds holds the probabilities that a site flips (changes its state). They depend on the state
// of the site and on the number of its neighbours in state 1. With the zero value no site flips.
type FlipOdds struct {
	// digits[p] describes binary digit p of the probabilities in the form of [Odds]. Entries 0 … 7
	// are the coefficients for sites in state 0. For sites in state 1, the other entries are added
	// to these coefficients, modulo 2.
	digits [64][16]uint64
}

// Set makes p[x][k]·2⁻⁶⁴ the probability that a site in state x with k neighbours in state 1 flips.
func (o *FlipOdds) Set(p *[2][5]uint64) {
	a, b := coefficients(p[0][:]), coefficients(p[1][:])
	for j, off := range a[:len(p[0])] {
		on := off ^ b[j]
		for d := range o.digits {
			o.digits[d][j], o.digits[d][8+j] = -(off >> (63 - d) & 1), -(on >> (63 - d) & 1)
		}
	}
}

// digit returns digit d of the probability for 64 sites, given their states and the digits of their
// counts.
func (o *FlipOdds) digit(d int, own, c0, c1, c2 uint64) uint64 {
	return five(o.digits[d][:8], c0, c1, c2) ^ own&five(o.digits[d][8:], c0, c1, c2)
}

// FlipTally counts sites by their state x and their number k ≤ 4 of neighbours in state 1.
// Sites[x][k] counts all sites, and Flips[x][k] counts only the sites that flip.
type FlipTally struct{ Sites, Flips [2][5]int }

// Add adds the counts of u to t.
func (t *FlipTally) Add(u *FlipTally) {
	for x := range t.Sites {
		for k := range t.Sites[x] {
			t.Sites[x][k] += u.Sites[x][k]
			t.Flips[x][k] += u.Flips[x][k]
		}
	}
}

// flipTerms counts sites at which a term is 1, for the terms 1, c_0, c_1, c_0c_1 and c_2 of the
// binary digits of the number of neighbours. Each word has four counts of 16 bits: all sites, sites
// in state 1, sites that flip, and sites that do both.
type flipTerms [5]uint64

// addTo converts the counts by term to counts by number of neighbours and adds them to t. It uses
// that 3 is the only number with two digits set, and 4 the only one with the third.
func (s *flipTerms) addTo(t *FlipTally) {
	one, two := s[1]-s[3], s[2]-s[3]
	none := s[0] - one - two - s[3] - s[4]
	for k, v := range [5]uint64{none, one, two, s[3], s[4]} {
		all, on, flip, both := int(v&0xffff), int(v>>16&0xffff), int(v>>32&0xffff), int(v>>48)
		t.Sites[0][k] += all - on
		t.Sites[1][k] += on
		t.Flips[0][k] += flip - both
		t.Flips[1][k] += both
	}
}

// FlipBits flips each of the given sites with a probability that depends on its neighbours in state
// 1, and stores the new states in dst. For each site i, bit i of states is its present state s_i,
// and counts holds the number k_i ≤ 4 of its neighbours in state 1, in the layout of [GridBits].
// The new state of site i is
//
//	dst_i = 1 − s_i if u_i < p[s_i][k_i], else s_i.
//
// Here p is the argument of [FlipOdds.Set], and u_i is the random integer of [HeatBits]. FlipBits
// panics unless len(dst) is a multiple of 8 and at most 512, len(states) = len(dst), and
// len(counts) = 3·len(dst).
func FlipBits(dst, states, counts []uint64, o *FlipOdds, ars bool, key, stream, group uint64) {
	checkBits("dst", len(dst), maxBits/64)
	checkLen("states", len(states), len(dst))
	checkLen("counts", len(counts), planes*len(dst))
	if ars {
		flipBitsARS(dst, states, counts, o, key, stream, group)
	} else {
		flipBits(dst, states, counts, o, key, stream, group)
	}
}

// TallyFlips compares two bit strings, x and y. It counts sites by state and number of neighbours
// in state 1 (see [FlipTally]). The sites at which x and y differ are the flips.
//
//   - The flips are added to the tally tx, by state and number of neighbours in x.
//   - All sites, and the flips among them, are added to the tally ty, by state and number of
//     neighbours in y.
//
// Only sites whose bit in valid is 1 count. The slices countX and countY hold the numbers of
// neighbours in x and in y, in the layout of [GridBits]. The numbers must be ≤ 4. TallyFlips panics
// unless len(x) is a multiple of 8 and at most 512, len(y) = len(valid) = len(x), and len(countX) =
// len(countY) = 3·len(x).
func TallyFlips(tx, ty *FlipTally, x, y, countX, countY, valid []uint64) {
	checkBits("x", len(x), maxBits/64)
	checkLen("y", len(y), len(x))
	checkLen("countX", len(countX), planes*len(x))
	checkLen("countY", len(countY), planes*len(x))
	checkLen("valid", len(valid), len(x))
	a, b := tallyFlips(x, y, countX, countY, valid)
	a.addTo(tx)
	b.addTo(ty)
}

// GridBits counts the neighbours in state 1 of 64·len(a) consecutive sites of a torus, from site
// firstSite on. The slice states holds all sites of the torus: the state of site i is bit i mod 64
// of states[pad + ⌊i/64⌋]. For each site firstSite + 64·(8r + w) + i, with w < 8 and i < 64, binary
// digit p of the number of neighbours is stored in bit i of counts[24r + 8p + w].
//
// The positions of the neighbours in states, relative to the site, are the six entries d_0, …, d_5
// of the array from which [NewBitTorus] made t. Every site has neighbours at d_0 and d_1. The third
// is at d_2 if the site's bit in a is 1, and otherwise at d_3. The fourth is at d_4 if the site's
// bit in b is 1, and otherwise at d_5. The masks a and b start at site firstSite, a multiple of 64.
//
// GridBits panics unless len(a) is a multiple of 8 and at most 512, and b and counts have matching
// lengths. It also panics unless states contains the positions of all neighbours, and 64 bits after
// the last one.
func GridBits(counts, states []uint64, pad, firstSite int, t *BitTorus, a, b []uint64) {
	checkBits("a", len(a), maxBits/64)
	checkLen("b", len(b), len(a))
	checkLen("counts", len(counts), planes*len(a))
	for _, d := range t.ends {
		lo := pad + (firstSite+d)>>6
		if lo < 0 || lo+len(a)+1 > len(states) {
			panic(fmt.Sprintf("simd: GridBits: words %d … %d of states, which has %d", lo, lo+len(a), len(states)))
		}
	}
	if len(a) > 0 {
		gridBits(counts, states, pad+firstSite/64, t, a, b)
	}
}

// UnpackBits stores bit i of the slice bits in x[i]. It panics unless the slice has at least len(x)
// bits.
func UnpackBits(x []int32, bits []uint64) {
	if len(x) > 64*len(bits) {
		panic(fmt.Sprintf("simd: UnpackBits: len(x) = %d, want ≤ 64·%d", len(x), len(bits)))
	}
	for len(x) > 0 {
		n := min(len(x), maxBits)
		done := 0
		if best >= unpackBitsLevel && n >= 32 {
			done = n &^ 31
			unpackBitsRun(x[:done], bits)
		}
		refUnpackBits(x[done:n], bits, done)
		x, bits = x[n:], bits[(n+63)/64:]
	}
}

func refFlipBits(dst, own, near []uint64, o *FlipOdds, key, stream, group uint64) {
	refFlipHeat(dst, own, near, o, group, func(counter uint64) [4]uint32 { return philoxBlock(counter, stream, key) })
}

func refFlipBitsARS(dst, own, near []uint64, o *FlipOdds, key, stream, group uint64) {
	keys := arsKeys(key)
	refFlipHeat(dst, own, near, o, group, func(counter uint64) [4]uint32 { return arsBlock(counter, stream, &keys) })
}

// nearDigits returns the binary digits of the numbers of neighbours for the sites of word i.
func nearDigits(near []uint64, i int) (c0, c1, c2 uint64) {
	at := i/8*8*planes + i%8
	return near[at], near[at+8], near[at+16]
}

func refFlipHeat(dst, own, near []uint64, o *FlipOdds, group uint64, block func(counter uint64) [4]uint32) {
	own = own[:len(dst)]
	for i := range dst {
		x := own[i]
		c0, c1, c2 := nearDigits(near, i)
		dst[i] = x ^ refBelow(i, group, block, func(d int) uint64 { return o.digit(d, x, c0, c1, c2) })
	}
}

// addHalves adds the two halves of each count of tallyFlips.
func addHalves(sums *[2][5][2]uint64) (forth, back flipTerms) {
	for j := range forth {
		forth[j] = sums[0][j][0] + sums[0][j][1]
		back[j] = sums[1][j][0] + sums[1][j][1]
	}
	return forth, back
}

func refTallyFlips(from, to, before, after, valid []uint64) (forth, back flipTerms) {
	to, valid = to[:len(from)], valid[:len(from)]
	for i, x := range from {
		y, all := to[i], valid[i]
		flip := (x ^ y) & all
		forth.add(before, i, [4]uint64{0, 0, flip, flip & x})
		back.add(after, i, [4]uint64{all, all & y, flip, flip & y})
	}
	return forth, back
}

// add counts the sites of word i in each of the four sets.
func (s *flipTerms) add(near []uint64, i int, sets [4]uint64) {
	c0, c1, c2 := nearDigits(near, i)
	for j, term := range [5]uint64{^uint64(0), c0, c1, c0 & c1, c2} {
		for k, v := range sets {
			s[j] += uint64(bits.OnesCount64(v&term)) << (16 * k)
		}
	}
}

func refGridBits(near, own []uint64, at int, t *BitTorus, a, b []uint64) {
	var from [6][]uint64
	var shift [6]uint
	for j, d := range t.near {
		from[j], shift[j] = own[at+d>>6:], uint(d&63)
	}
	for i := range a {
		var v [6]uint64
		for j, s := range shift {
			v[j] = from[j][i]>>s | from[j][i+1]<<(64-s)
		}
		left, right := a[i]&v[2]|v[3]&^a[i], b[i]&v[4]|v[5]&^b[i]
		odd, most := v[0]^v[1]^left, v[0]&v[1]|left&(v[0]^v[1])
		carry, to := odd&right, i/8*8*planes+i%8
		near[to], near[to+8], near[to+16] = odd^right, most^carry, most&carry
	}
}

// refUnpackBits stores bit first + i of own in x[i].
func refUnpackBits(x []int32, own []uint64, first int) {
	for i := range x {
		at := uint(first + i)
		x[i] = int32(own[at/64] >> (at % 64) & 1)
	}
}
