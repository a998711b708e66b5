package bolt

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKeysSortAsSequencesDo: keys are different, sort as sequences do and can be
// read back, at every boundary of the lengths of tokens.
func TestKeysSortAsSequencesDo(t *testing.T) {
	var edges []int32
	for _, bit := range []int{0, 7, 8, 14, 16, 21, 24, 28, 30} {
		edges = append(edges, 1<<bit-1, 1<<bit)
	}
	edges = append(edges, math.MaxInt32)
	all := [][]int32{nil}
	for _, a := range edges {
		all = append(all, []int32{a})
		for _, b := range edges {
			all = append(all, []int32{a, b})
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		x := make([]int32, 1+r.IntN(6))
		for i := range x {
			x[i] = int32(r.Uint32() >> (1 + r.IntN(31)))
		}
		all = append(all, x)
	}
	type entry struct {
		x   []int32
		key []byte
	}
	var entries []entry
	for _, x := range all {
		key, err := appendKey(nil, x)
		require.NoError(t, err)
		back, err := appendTokens(nil, key)
		require.NoError(t, err)
		require.True(t, slices.Equal(x, back), "%v became %v", x, back)
		entries = append(entries, entry{x, key})
	}
	for _, a := range entries {
		for _, b := range entries {
			if len(a.x) > 0 && len(b.x) > 0 {
				require.Equal(t, slices.Compare(a.x, b.x), bytes.Compare(a.key, b.key), "%v, %v", a.x, b.x)
			}
		}
	}
}

// TestKeysRefused: what no key may hold, and what is no key.
func TestKeysRefused(t *testing.T) {
	_, err := appendKey(nil, []int32{3, -1})
	require.ErrorContains(t, err, "x[1] = -1, want ≥ 0")
	_, err = appendKey(nil, make([]int32, 32768))
	require.NoError(t, err)
	_, err = appendKey(nil, make([]int32, 32769))
	require.ErrorContains(t, err, "32769 tokens takes 32769 bytes, want ≤ 32768")
	for _, key := range [][]byte{
		{0xFF, 1}, {1, 0xF1}, {0x80}, {0xC0, 1}, {0xF0, 1, 1, 1}, // no token, or cut short
		{0x80, 0x7F}, {0xC0, 0x3F, 0xFF}, {0xE0, 0x1F, 0xFF, 0xFF}, {0xF0, 0x0F, 0xFF, 0xFF, 0xFF}, // too long
		{0xF0, 0x80, 0, 0, 0}, // beyond 2³¹
	} {
		_, err := appendTokens(nil, key)
		require.Error(t, err, "%x", key)
	}
}

// FuzzKey: what is read from a key has that key.
func FuzzKey(f *testing.F) {
	f.Add([]byte{0xFF})
	f.Add([]byte{1, 0x81, 2, 0xC1, 2, 3, 0xE1, 2, 3, 4, 0xF0, 0x7F, 2, 3, 4})
	f.Fuzz(func(t *testing.T, key []byte) {
		if len(key) == 0 || len(key) > 1000 {
			return
		}
		x, err := appendTokens(nil, key)
		if err != nil {
			return
		}
		again, err := appendKey(nil, x)
		require.NoError(t, err)
		require.Equal(t, key, again)
	})
}
