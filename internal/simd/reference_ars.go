package simd

import "math/bits"

// Constants of ARS4x32 (Salmon, Moraes, Dror and Shaw 2011, "Parallel random
// numbers: as easy as 1, 2, 3", section 3.2 and its Random123 distribution).
const (
	arsWeyl0 = 0x9E3779B97F4A7C15 // golden ratio
	arsWeyl1 = 0xBB67AE8584CAA73B // √3 − 1
	arsRnds  = 7

	// arsHigh is the upper half of every key, whose lower half is that of the
	// stream: the first 64 binary digits of π − 3.
	arsHigh = 0x243F6A8885A308D3
)

func refARS(dst []uint32, key, stream, group uint64) {
	keys := arsKeys(key)
	for ; len(dst) > 0; dst = dst[GroupWords:] {
		for lane := range uint64(16) {
			out := arsBlock(group*16+lane, stream, &keys)
			for w, v := range out {
				dst[16*w+int(lane)] = v
			}
		}
		group++
	}
}

// arsKeys returns the keys of the rounds, the first of which only adds its own.
func arsKeys(key uint64) (keys [2 * (arsRnds + 1)]uint64) {
	k0, k1 := key, uint64(arsHigh)
	for r := 0; r < len(keys); r += 2 {
		keys[r], keys[r+1] = k0, k1
		k0 += arsWeyl0
		k1 += arsWeyl1
	}
	return keys
}

// arsBlock is ARS4x32-7 at one counter.
func arsBlock(lo, hi uint64, keys *[2 * (arsRnds + 1)]uint64) [4]uint32 {
	return arsRounds(lo, hi, keys[:])
}

// arsRounds is ARS4x32 at one counter, with as many rounds as there are keys of
// two numbers, less one. A round is that of AES (FIPS 197, section 5.1), on a state
// whose column c is the word s_c, its lowest byte first, and so is the key; the last
// does not mix columns.
func arsRounds(lo, hi uint64, keys []uint64) [4]uint32 {
	t0, t1, t2, t3 := &aesColumns[0], &aesColumns[1], &aesColumns[2], &aesColumns[3]
	lo, hi = lo^keys[0], hi^keys[1]
	for keys = keys[2:]; len(keys) > 2; keys = keys[2:] {
		s0, s1, s2, s3 := uint32(lo), uint32(lo>>32), uint32(hi), uint32(hi>>32)
		v0 := t0[s0&255] ^ t1[s1>>8&255] ^ t2[s2>>16&255] ^ t3[s3>>24]
		v1 := t0[s1&255] ^ t1[s2>>8&255] ^ t2[s3>>16&255] ^ t3[s0>>24]
		v2 := t0[s2&255] ^ t1[s3>>8&255] ^ t2[s0>>16&255] ^ t3[s1>>24]
		v3 := t0[s3&255] ^ t1[s0>>8&255] ^ t2[s1>>16&255] ^ t3[s2>>24]
		lo, hi = (uint64(v1)<<32|uint64(v0))^keys[0], (uint64(v3)<<32|uint64(v2))^keys[1]
	}
	s := [4]uint32{uint32(lo), uint32(lo >> 32), uint32(hi), uint32(hi >> 32)}
	key := [4]uint32{uint32(keys[0]), uint32(keys[0] >> 32), uint32(keys[1]), uint32(keys[1] >> 32)}
	for c := range key {
		for b := range 4 { // byte 1 of an entry is the substitute
			key[c] ^= t0[s[(c+b)%4]>>(8*b)&255] >> 8 & 255 << (8 * b)
		}
	}
	return key
}

// aesColumns[0][x] is the column (2, 1, 1, 3) times the substitute S(x), in the field
// of 256 elements modulo z⁸ + z⁴ + z³ + z + 1; aesColumns[i] is turned by i bytes.
var aesColumns = makeAESColumns()

// makeAESColumns goes through the powers of 3, which are all elements but 0, beside
// those of its inverse.
func makeAESColumns() (t [4][256]uint32) {
	double := func(v uint8) uint8 { return v<<1 ^ -(v>>7)&0x1b }
	set := func(x, inverse uint8) {
		s := inverse ^ 0x63
		for shift := 1; shift <= 4; shift++ {
			s ^= bits.RotateLeft8(inverse, shift)
		}
		d := double(s)
		column := uint32(d) | uint32(s)<<8 | uint32(s)<<16 | uint32(d^s)<<24
		for i := range t {
			t[i][x] = bits.RotateLeft32(column, 8*i)
		}
	}
	set(0, 0)
	power, inverse := uint8(1), uint8(1)
	for range 255 {
		set(power, inverse)
		power ^= double(power)
		for shift := range 3 { // divides by 3: times 1 + z + … + z⁷
			inverse ^= inverse << (1 << shift)
		}
		inverse ^= -(inverse >> 7) & 0x09
	}
	return t
}
