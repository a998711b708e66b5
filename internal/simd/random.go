package simd

import (
	"fmt"
	"math"
	"math/bits"
)

// Philox fills dst with the words of a random stream from the given group on. A group is 64
// consecutive words.
//
// Word j of the stream belongs to group G = ⌊j/64⌋. Let r = j mod 64, w = ⌊r/16⌋ and lane = r mod
// 16. The word is output word w of the generator Philox4x32-10 with the given 64-bit key and a
// 128-bit counter. The low half of the counter is G·16 + lane, and the high half is the number of
// the stream. All backends, and all divisions of a stream into calls, give the same words.
//
// Philox panics unless len(dst) is a multiple of 64.
func Philox(dst []uint32, key, stream, group uint64) {
	if len(dst)%GroupWords != 0 {
		panic(fmt.Sprintf("simd: len(dst) = %d, want a multiple of %d", len(dst), GroupWords))
	}
	if best < philoxLevel {
		refPhilox(dst, key, stream, group)
		return
	}
	keys := philoxKeys(key)
	for len(dst) > 0 {
		n := min(len(dst)/GroupWords, runGroups)
		philoxRun(dst[:n*GroupWords], &keys, group*16, stream)
		dst = dst[n*GroupWords:]
		group += uint64(n)
	}
}

// ARS is like [Philox] with another generator, ARS4x32-7. The counters and the order of the words
// are the same. The generator's key has 128 bits: its low half is the given key, and its high half
// holds the first 64 bits of π − 3. Word 0 of an output is its lowest 32 bits.
func ARS(dst []uint32, key, stream, group uint64) {
	if len(dst)%GroupWords != 0 {
		panic(fmt.Sprintf("simd: len(dst) = %d, want a multiple of %d", len(dst), GroupWords))
	}
	if !hasArs() {
		refARS(dst, key, stream, group)
		return
	}
	keys := arsKeys(key)
	for len(dst) > 0 {
		n := min(len(dst)/GroupWords, runGroups)
		arsRun(dst[:n*GroupWords], &keys, group*16, stream)
		dst = dst[n*GroupWords:]
		group += uint64(n)
	}
}

// Unit32 stores dst[i] = ⌊bits[i]/2⁸⌋·2⁻²⁴, uniform on [0, 1). It panics unless
// len(bits) = len(dst).
func Unit32(dst []float32, bits []uint32) {
	if len(bits) != len(dst) {
		panic(fmt.Sprintf("simd: len(bits) = %d, want %d", len(bits), len(dst)))
	}
	unit32(dst, bits)
}

// Unit64 stores dst[i] = ⌊v/2¹¹⌋·2⁻⁵³, uniform on [0, 1), where
// v = bits[2i] + 2³²·bits[2i+1]. It panics unless len(bits) = 2·len(dst).
func Unit64(dst []float64, bits []uint32) {
	if len(bits) != 2*len(dst) {
		panic(fmt.Sprintf("simd: len(bits) = %d, want %d", len(bits), 2*len(dst)))
	}
	unit64(dst, bits)
}

// Constants of Philox4x32 (Salmon, Moraes, Dror and Shaw 2011, "Parallel random
// numbers: as easy as 1, 2, 3", section 3.3 and its Random123 distribution).
const (
	philoxMul0 = 0xD2511F53 // multiplier of word 0 in a round of Philox4x32
	philoxMul1 = 0xCD9E8D57 // multiplier of word 2 in a round of Philox4x32
	philoxKey0 = 0x9E3779B9 // fractional part of the golden ratio, times 2³²
	philoxKey1 = 0xBB67AE85 // √3 − 1, times 2³²
	philoxRnds = 10         // number of rounds of Philox4x32
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

// philoxBlock returns the output of Philox4x32-10 at one counter, given by its low and high half.
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

// Constants of ARS4x32 (Salmon, Moraes, Dror and Shaw 2011, "Parallel random
// numbers: as easy as 1, 2, 3", section 3.2 and its Random123 distribution).
const (
	arsWeyl0 = 0x9E3779B97F4A7C15 // fractional part of the golden ratio, times 2⁶⁴
	arsWeyl1 = 0xBB67AE8584CAA73B // √3 − 1, times 2⁶⁴
	arsRnds  = 7                  // number of rounds of ARS4x32

	// arsHigh is the upper half of every ARS key, the first 64 bits of π − 3. The lower half is the
	// key of the stream.
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

// arsKeys returns the round keys of ARS. The first of them is only added, before the first round.
func arsKeys(key uint64) (keys [2 * (arsRnds + 1)]uint64) {
	k0, k1 := key, uint64(arsHigh)
	for r := 0; r < len(keys); r += 2 {
		keys[r], keys[r+1] = k0, k1
		k0 += arsWeyl0
		k1 += arsWeyl1
	}
	return keys
}

// arsBlock returns the output of ARS4x32-7 at one counter, given by its low and high half.
func arsBlock(lo, hi uint64, keys *[2 * (arsRnds + 1)]uint64) [4]uint32 {
	return arsRounds(lo, hi, keys[:])
}

// arsRounds returns the output of ARS4x32 at one counter. Each key has two numbers, and there is
// one round fewer than keys. A round is that of AES (FIPS 197, section 5.1). Column c of the state,
// and of the key, is word c, its lowest byte first. The last round does not mix columns.
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
		for b := range 4 { // byte 1 of a table entry is the substituted byte
			key[c] ^= t0[s[(c+b)%4]>>(8*b)&255] >> 8 & 255 << (8 * b)
		}
	}
	return key
}

// aesColumns[0][x] is the column (2, 1, 1, 3) times the AES substitute S(x), in the field of 256
// elements modulo z⁸ + z⁴ + z³ + z + 1. aesColumns[i] is the same rotated by i bytes.
var aesColumns = makeAESColumns()

// makeAESColumns computes aesColumns. It iterates over the powers of 3, which are all nonzero
// elements, and over the powers of its inverse.
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
		for shift := range 3 { // division by 3 is multiplication by 1 + z + … + z⁷
			inverse ^= inverse << (1 << shift)
		}
		inverse ^= -(inverse >> 7) & 0x09
	}
	return t
}

// Polar replaces every entry r by √(−2·log(r)/r). This is a step of the polar method for normal
// variates (Marsaglia and Bray 1964). An entry r is the squared radius of a random point in the
// unit disc, 2⁻¹⁰⁰⁰ ≤ r < 1. The two coordinates of the point, multiplied by the result, are normal
// variates. The logarithm is [Log], bit for bit. For any other r the result is undefined.
func Polar(r []float64) {
	polar(r)
}

// polarTerms is the largest number of entries in one call of polar.
const polarTerms = 1 << 12

func refPolar(r []float64) {
	for i, v := range r {
		r[i] = math.Sqrt(float64(-2*Log(v)) / v)
	}
}
