package simd

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Known answers of Philox4x32-10 from the Random123 distribution (kat_vectors).
func TestPhiloxKnownAnswers(t *testing.T) {
	for _, k := range []struct {
		ctr  [4]uint32
		key  [2]uint32
		want [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{
			[4]uint32{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
			[2]uint32{0xffffffff, 0xffffffff},
			[4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
		},
		{
			[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
			[2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
		},
	} {
		lo := uint64(k.ctr[0]) | uint64(k.ctr[1])<<32
		hi := uint64(k.ctr[2]) | uint64(k.ctr[3])<<32
		key := uint64(k.key[0]) | uint64(k.key[1])<<32
		assert.Equal(t, k.want, philoxBlock(lo, hi, key))

		// The same answer must sit at its place in the stream.
		var dst [GroupWords]uint32
		Philox(dst[:], key, hi, lo/16)
		for w, want := range k.want {
			assert.Equal(t, want, dst[16*w+int(lo%16)], "word %d", w)
		}
	}
}

func TestPhiloxCutsAnywhere(t *testing.T) {
	const groups = 40
	whole := make([]uint32, groups*GroupWords)
	Philox(whole, 7, 11, 1<<60-3) // the counter wraps inside
	for _, cut := range []int{1, 2, 3, 7, 39} {
		got := make([]uint32, len(whole))
		Philox(got[:cut*GroupWords], 7, 11, 1<<60-3)
		Philox(got[cut*GroupWords:], 7, 11, 1<<60-3+uint64(cut))
		require.Equal(t, whole, got)
	}
	require.PanicsWithValue(t, "simd: len(dst) = 63, want a multiple of 64", func() {
		Philox(make([]uint32, 63), 0, 0, 0)
	})
}

func TestPhiloxGolden(t *testing.T) {
	dst := make([]uint32, 1000*GroupWords)
	Philox(dst, 0x0123456789abcdef, 42, 1<<32-500)
	h := fnv.New64a()
	for _, v := range dst {
		h.Write([]byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)})
	}
	require.Equal(t, uint64(0x95ccf1dbec88ef94), h.Sum64(), "the stream is a promise: it may not change")
}

func TestUnits(t *testing.T) {
	bits := []uint32{0, 1 << 10, 0xffffffff, 0xffffffff, 1 << 31, 0, 0, 1 << 31}
	f := make([]float32, len(bits))
	Unit32(f, bits)
	assert.Equal(t, []float32{0, 0x1p-22, 1 - 0x1p-24, 1 - 0x1p-24, 0.5, 0, 0, 0.5}, f)
	d := make([]float64, len(bits)/2)
	Unit64(d, bits)
	assert.Equal(t, []float64{0x1p-22, 1 - 0x1p-53, 0x1p-33, 0.5}, d)
	assert.Panics(t, func() { Unit32(f[:1], bits) })
	assert.Panics(t, func() { Unit64(d[:1], bits) })
}

func TestDispatch(t *testing.T) {
	all := []string{"purego", "avx2", "avx512"}
	for _, c := range []struct {
		have []string
		name string
		want level
	}{
		{all, "purego", 0}, {all, "avx2", 1}, {all, "", 2}, {all[:2], "", 1}, {all[:1], "purego", 0},
		{[]string{"purego", "neon"}, "", 1}, {[]string{"purego", "neon"}, "neon", 1},
	} {
		got, err := choose(c.have, c.name)
		assert.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
	for _, name := range []string{"anything", "AVX2", "avx512", " avx2", "neon"} {
		_, err := choose(all[:2], name)
		assert.ErrorContains(t, err, fmt.Sprintf("GIBBSITE_SIMD = %q, want one of purego, avx2,", name))
		assert.Panics(t, func() { must(choose(all[:2], name)) })
	}
	have := levelNames[:supported()+1]
	assert.Contains(t, have, Backend())
	for l, name := range have {
		got, err := choose(have, name)
		assert.NoError(t, err)
		assert.Equal(t, level(l), got)
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }
