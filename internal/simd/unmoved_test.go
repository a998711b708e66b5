package simd

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestUnmoved compares every backend with the definition, with one site that changes
// anywhere, and odds that a number meets, is next to, and has on the other side of 2⁶³.
func TestUnmoved(t *testing.T) {
	r := newRand(31)
	odds := []uint64{0, 1, 1 << 63, 1<<63 - 1, 1<<64 - 1, r.Uint64(), r.Uint64(), 5}
	for _, n := range []int{0, 5, 8, 16, 40, 67, 300} {
		for change := -1; change < n; change++ {
			look, x, words := make([]int32, n), make([]int32, n), make([]uint32, 2*n)
			for i := range x {
				look[i] = r.Int32N(int32(len(odds)))
				u := r.Uint64()
				if r.IntN(2) == 0 {
					u = odds[look[i]] + uint64(r.IntN(3)) - 1
				}
				words[2*i], words[2*i+1] = uint32(u), uint32(u>>32)
				if u < odds[look[i]] {
					x[i] = 1
				}
			}
			want := n &^ 7
			if change >= 0 {
				x[change] ^= 1
				want = min(want, change&^7)
			}
			onAll(func(l level) {
				require.Equal(t, want, Unmoved(odds, look, x, words), "%s: %d sites, %d changes", levelNames[l], n, change)
			})
		}
	}
	assert.PanicsWithValue(t, "simd: len(words) = 3, want 2·2", func() { Unmoved(odds, make([]int32, 2), make([]int32, 2), make([]uint32, 3)) })
}
