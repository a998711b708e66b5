package simd

// The definitions, in plain Go, of the bits that every backend of random.go gives.

import "math/bits"

// Constants of Philox4x32 (Salmon, Moraes, Dror and Shaw 2011, "Parallel random
// numbers: as easy as 1, 2, 3", section 3.3 and its Random123 distribution).
const (
	philoxMul0 = 0xD2511F53
	philoxMul1 = 0xCD9E8D57
	philoxKey0 = 0x9E3779B9 // golden ratio
	philoxKey1 = 0xBB67AE85 // √3 − 1
	philoxRnds = 10
)

// GroupWords is the number of words in a group of a random stream.
const GroupWords = 64

func refPhilox(dst []uint32, key, stream, group uint64) {
	for ; len(dst) > 0; dst = dst[GroupWords:] {
		for lane := range uint64(16) {
			out := philoxBlock(group*16+lane, stream, key)
			for w, v := range out {
				dst[16*w+int(lane)] = v
			}
		}
		group++
	}
}

// philoxBlock is Philox4x32-10 at one counter.
func philoxBlock(lo, hi, key uint64) [4]uint32 {
	c0, c1, c2, c3 := uint32(lo), uint32(lo>>32), uint32(hi), uint32(hi>>32)
	k0, k1 := uint32(key), uint32(key>>32)
	for range philoxRnds {
		h0, l0 := bits.Mul32(philoxMul0, c0)
		h1, l1 := bits.Mul32(philoxMul1, c2)
		c0, c1, c2, c3 = h1^c1^k0, l1, h0^c3^k1, l0
		k0 += philoxKey0
		k1 += philoxKey1
	}
	return [4]uint32{c0, c1, c2, c3}
}

// philoxKeys returns the two round keys of every round.
func philoxKeys(key uint64) (keys [2 * philoxRnds]uint32) {
	k0, k1 := uint32(key), uint32(key>>32)
	for r := 0; r < len(keys); r += 2 {
		keys[r], keys[r+1] = k0, k1
		k0 += philoxKey0
		k1 += philoxKey1
	}
	return keys
}

func refUnit32(dst []float32, bits []uint32) {
	for i, b := range bits {
		dst[i] = float32(b>>8) * 0x1p-24
	}
}

func refUnit64(dst []float64, bits []uint32) {
	for i := range dst {
		v := uint64(bits[2*i]) | uint64(bits[2*i+1])<<32
		dst[i] = float64(v>>11) * 0x1p-53
	}
}
