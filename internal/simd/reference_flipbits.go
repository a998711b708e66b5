package simd

import "math/bits"

// The definitions, in plain Go, of the bits that every backend of flipbits.go and of
// gridbits.go gives.

func refFlipBits(dst, own, near []uint64, o *FlipOdds, key, stream, group uint64) {
	refFlipHeat(dst, own, near, o, group, func(counter uint64) [4]uint32 { return philoxBlock(counter, stream, key) })
}

func refFlipBitsARS(dst, own, near []uint64, o *FlipOdds, key, stream, group uint64) {
	keys := arsKeys(key)
	refFlipHeat(dst, own, near, o, group, func(counter uint64) [4]uint32 { return arsBlock(counter, stream, &keys) })
}

// nearDigits returns the digits of the numbers of neighbours of word i.
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

// add counts the sites of word i that belong to the sets.
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

func refUnpackBits(x []int32, own []uint64) {
	for i := range x {
		x[i] = int32(own[i/64] >> (i % 64) & 1)
	}
}
