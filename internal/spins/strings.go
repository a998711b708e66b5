package spins

func set(v []uint64, i int) { v[i/64] |= 1 << (i % 64) }

// get returns the 64 bits from bit i on.
func get(v []uint64, i int) uint64 {
	w, shift := i>>6, uint(i&63)
	return v[w]>>shift | v[w+1]<<(64-shift)
}

// put sets n ≤ 64 bits from bit i on to the lowest ones of b.
func put(v []uint64, i int, b uint64, n int) {
	w, shift, mask := i>>6, uint(i&63), ^uint64(0)>>(64-n)
	v[w] = v[w]&^(mask<<shift) | b&mask<<shift
	if shift > 0 {
		v[w+1] = v[w+1]&^(mask>>(64-shift)) | b&mask>>(64-shift)
	}
}

// goOn continues the string of the n bits from bit at on periodically, for at least so many
// bits after the last and before the first.
func goOn(v []uint64, at, n, bits int) {
	piece := min(64, n)
	for i := 0; i < bits; i += piece {
		put(v, at+n+i, get(v, at+i), piece)
	}
	for i := piece; i < bits+piece; i += piece {
		put(v, at-i, get(v, at+n-i), piece)
	}
}
