package simd

// refUnmoved is the definition of Unmoved.
func refUnmoved(odds []uint64, look, x []int32, words []uint32) (n int) {
	const stride = 8
	for ; n+stride <= len(x); n += stride {
		for i := n; i < n+stride; i++ {
			one := uint64(words[2*i+1])<<32|uint64(words[2*i]) < odds[look[i]]
			if one != (x[i] == 1) {
				return n
			}
		}
	}
	return n
}
