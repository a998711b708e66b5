package simd

// The definitions, in plain Go, of the bits that every backend of bits.go gives.

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

// refBelow says of the 64 sites of word i, which are two lanes of the stream, where
// the random number is below the one whose binary digits are given.
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
