package simd

import (
	"crypto/aes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAESRounds encrypts by rounds, with keys of AES-128 (FIPS 197, section 5.2),
// what crypto/aes encrypts.
func TestAESRounds(t *testing.T) {
	r := newRand(31)
	for range 100 {
		var key, in, want, got [16]byte
		for i := range key {
			key[i], in[i] = byte(r.Uint32()), byte(r.Uint32())
		}
		c, err := aes.NewCipher(key[:])
		require.NoError(t, err)
		c.Encrypt(want[:], in[:])

		var w [44]uint32
		for i := range 4 {
			w[i] = binary.LittleEndian.Uint32(key[4*i:])
		}
		constant := uint32(1)
		for i := 4; i < len(w); i++ {
			v := w[i-1]
			if i%4 == 0 {
				v = bits.RotateLeft32(v, -8)
				s := uint32(0)
				for b := range 4 {
					s |= aesColumns[0][v>>(8*b)&255] >> 8 & 255 << (8 * b)
				}
				v = s ^ constant
				if constant <<= 1; constant > 255 {
					constant ^= 0x11b
				}
			}
			w[i] = w[i-4] ^ v
		}
		keys := make([]uint64, 22)
		for i := range keys {
			keys[i] = uint64(w[2*i]) | uint64(w[2*i+1])<<32
		}
		out := arsRounds(binary.LittleEndian.Uint64(in[:]), binary.LittleEndian.Uint64(in[8:]), keys)
		for i, v := range out {
			binary.LittleEndian.PutUint32(got[4*i:], v)
		}
		require.Equal(t, want, got)
	}
}

// Known answers of ARS4x32 from the Random123 distribution (kat_vectors), and one of
// the tests of Random123.jl; their keys have other upper halves than those of streams.
func TestARSKnownAnswers(t *testing.T) {
	for _, k := range []struct {
		rounds         int
		ctr, key, want [4]uint32
	}{
		{7, [4]uint32{0, 0, 0x80}, [4]uint32{3: 0x80000000}, [4]uint32{0x8e5c34e2, 0x4b8ae101, 0xe9f7f828, 0xe3f5ca55}},
		{7, [4]uint32{1}, [4]uint32{3: 0xff000000}, [4]uint32{0x830ede16, 0x2c7aedff, 0x98327fad, 0x25585765}},
		{
			7,
			[4]uint32{0x886a3f24, 0xd308a385, 0x2e8a1913, 0x44737003},
			[4]uint32{3: 0x00800000},
			[4]uint32{0x133d5d06, 0x256a441d, 0x70bf8e82, 0x6cd6089d},
		},
		{
			7,
			[4]uint32{0xe6212845, 0x7713d038, 0xcf6654be, 0x6c0ce934},
			[4]uint32{3: 0x80000000},
			[4]uint32{0x394a7bc3, 0x4d049c56, 0xb0e3d5a5, 0xdcb070b5},
		},
		{10, [4]uint32{1}, [4]uint32{1}, [4]uint32{0x3789b2f9, 0xcf3e7bfc, 0x51bafd66, 0xe5c2f16c}},
		{
			10,
			[4]uint32{0x223809a4, 0xd0319f29, 0x98fa2e08, 0x896c4eec},
			[4]uint32{1: 1},
			[4]uint32{0x58b993db, 0x5576ccd3, 0x74d2aba9, 0xccc12df4},
		},
		{
			1,
			[4]uint32{0x0d0dfefc, 0xb4760719, 0x4f7b9227, 0x9799b5d5},
			[4]uint32{0xd3b8146a, 0x5a7da274, 0xaa98ec24, 0x07b8e4b6},
			[4]uint32{0x331396ef, 0xe548ef12, 0x07b64224, 0x1a0b14c7},
		},
	} {
		wide := func(w [4]uint32) (lo, hi uint64) {
			return uint64(w[0]) | uint64(w[1])<<32, uint64(w[2]) | uint64(w[3])<<32
		}
		var keys []uint64
		for k0, k1 := wide(k.key); len(keys) < 2*k.rounds+2; k0, k1 = k0+arsWeyl0, k1+arsWeyl1 {
			keys = append(keys, k0, k1)
		}
		lo, hi := wide(k.ctr)
		assert.Equal(t, k.want, arsRounds(lo, hi, keys), "%d rounds of %x", k.rounds, k.ctr)
	}
}

// withoutAES runs f with the AES instructions of this CPU, without those of 512 bits, and
// without any.
func withoutAES(f func(name string)) {
	f("all instructions")
	without(func() {
		f("those of 128 bits")
		without(func() { f("none") }, "aes128")
	}, "aes512")
}

// TestARSBackends compares all ways to compute the stream, cut anywhere.
func TestARSBackends(t *testing.T) {
	const groups = 530 // more than two calls of assembly
	want := make([]uint32, groups*GroupWords)
	refARS(want, 7, 11, 1<<60-3) // the counter wraps inside
	withoutAES(func(name string) {
		onAll(func(l level) {
			for _, cut := range []int{0, 1, 2, 3, 7, 300} {
				got := make([]uint32, len(want)+1)
				ARS(got[:cut*GroupWords], 7, 11, 1<<60-3)
				ARS(got[cut*GroupWords:len(want)], 7, 11, 1<<60-3+uint64(cut))
				require.True(t, assert.ObjectsAreEqual(want, got[:len(want)]), "%s, AES by %s, cut at %d", levelNames[l], name, cut)
				require.Zero(t, got[len(want)])
			}
		})
	})
	require.PanicsWithValue(t, "simd: len(dst) = 63, want a multiple of 64", func() {
		ARS(make([]uint32, 63), 0, 0, 0)
	})
}

// TestARSPlaces: the words of a block stand where those of Philox do.
func TestARSPlaces(t *testing.T) {
	keys := arsKeys(5)
	assert.Equal(t, []uint64{5, 0x243F6A8885A308D3, 5 + 0x9E3779B97F4A7C15}, keys[:3])
	var dst [2 * GroupWords]uint32
	ARS(dst[:], 5, 6, 9)
	for lane := range uint64(32) {
		for w, want := range arsBlock(9*16+lane, 6, &keys) {
			require.Equal(t, want, dst[lane/16*64+uint64(16*w)+lane%16])
		}
	}
}

func TestARSGolden(t *testing.T) {
	dst := make([]uint32, 1000*GroupWords)
	ARS(dst, 0x0123456789abcdef, 42, 1<<32-500)
	h := fnv.New64a()
	for _, v := range dst {
		h.Write([]byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)})
	}
	require.Equal(t, "d98aa52df0e0ab06", fmt.Sprintf("%x", h.Sum64()), "the stream is a promise: it may not change")
}
