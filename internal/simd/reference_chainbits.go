package simd

// The definitions, in plain Go, of the integers that every backend of chainbits.go gives.

// lane returns lane p of a string in the lower half.
func lane(own []uint64, p int32) uint64 { return own[p>>1] >> (uint(p&1) * 32) }

func refGraphBits(count *Counts, own []uint64, near []int32, n, degree int) {
	const place = 1<<31 - 1
	for p := 0; p < n; p += 2 {
		var c0, c1, c2 uint64
		for k := range degree {
			a, b := near[k*n+p], near[k*n+p+1]
			v := uint64(uint32(lane(own, a&place))^uint32(a>>31)) | (lane(own, b&place)^uint64(b>>31))<<32
			carry := c0 & v
			c0 ^= v
			v = c1 & carry
			c1 ^= carry
			c2 ^= v
		}
		count[0][p/2], count[1][p/2], count[2][p/2] = c0, c1, c2
	}
}

func refTallyBits(t *ChainTally, now, old []uint64, count *Counts) {
	var changed [8]uint64
	for at := 0; at < len(now); at += 8 {
		w, u := now[at:at+8], old[at:at+8]
		for j, v := range w {
			changed[j] = v ^ u[j]
		}
		sumLanes(&t.Moved, 1, &changed)
		up := changed
		for j, v := range w {
			up[j] &= v
		}
		sumLanes(&t.Up, 1, &up)
		for b := range count {
			c := count[b][at : at+8]
			for j, v := range w {
				up[j] = changed[j] & (c[j] ^ ^v)
			}
			sumLanes(&t.Sum, 1<<b, &up)
		}
	}
}

// sumLanes adds to sum, for each bit, weight times the number of lanes that have it, in
// words that are added by binary digits.
func sumLanes(sum *[ChainBits]int32, weight int32, v *[8]uint64) {
	a, b := full(v[0], v[1], v[2])
	c, d := full(v[3], v[4], v[5])
	e, f := full(v[6], v[7], a)
	ones, g := full(c, e, 0)
	h, i := full(b, d, f)
	twos, j := full(h, g, 0)
	fours, eights := full(i, j, 0)
	for c := range sum {
		n := ones>>c&1 + ones>>(c+32)&1 + (twos>>c&1+twos>>(c+32)&1)<<1 + (fours>>c&1+fours>>(c+32)&1)<<2 + (eights>>c&1+eights>>(c+32)&1)<<3
		sum[c] += weight * int32(n)
	}
}

// full adds three bits.
func full(a, b, c uint64) (sum, carry uint64) {
	d := a ^ b
	return d ^ c, a&b | d&c
}

func refSpreadChains(x []int32, own []uint64, place []int32) {
	n := len(place)
	for i, p := range place {
		v := lane(own, p)
		for at := i; at < len(x); at += n {
			x[at] = int32(v & 1)
			v >>= 1
		}
	}
}
