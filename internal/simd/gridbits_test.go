package simd

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() {
	kernels["GridBits"] = func(a *arena, from, to int) {
		n := (to - from) / 48 * 8 // words
		if n == 0 {
			return
		}
		own, first, last := make([]uint64, n+8), make([]uint64, n), make([]uint64, n)
		for i := range own {
			own[i] = (uint64(a.u[from+i%n])<<32 | uint64(a.u[from+(i+n)%(2*n)])) * 0x9e3779b97f4a7c15
		}
		for i := range first {
			first[i], last[i] = own[i]*3, own[i]*7
		}
		near := make([]uint64, 3*n)
		GridBits(near, own, 4, 0, NewBitTorus([6]int{-67, 67, 66, -1, -66, 1}), first, last)
		for i, v := range near {
			a.i[0][from+2*i], a.i[0][from+2*i+1] = int32(v), int32(v>>32)
		}
	}
	kernels["UnpackBits"] = func(a *arena, from, to int) {
		own := make([]uint64, (to-from)/64+2)
		for i := range own {
			own[i] = uint64(a.u[(from+i)%len(a.u)]) * 0x9e3779b97f4a7c15
		}
		UnpackBits(a.i[0][from:to], own)
	}
}

// TestGridBits counts neighbours of random strings one by one, also across words.
func TestGridBits(t *testing.T) {
	r := newRand(43)
	for _, regs := range []int{0, 1, 2, 5, 64} {
		for _, near := range [][6]int{{-50, 50, 49, -1, -49, 1}, {-4, 4, 3, -1, -3, 1}, {-64, 64, 63, -1, -63, 1}, {-200, 191, 130, -66, -5, 0}} {
			const pad = 6
			n := 8 * regs
			a, b, own := words(r, n+8)[8:], words(r, n+8)[8:], words(r, n+8+2*pad)
			at := func(i, j int) int { return bit(own, 64*(pad+8)+i+near[j]) }
			want := nearOf(n, func(i int) int {
				return at(i, 0) + at(i, 1) + at(i, 3-bit(a, i)) + at(i, 5-bit(b, i))
			})
			onAll(func(l level) {
				got := make([]uint64, 3*n+1)
				GridBits(got[:3*n], own, pad, 512, NewBitTorus(near), a, b)
				require.Equal(t, want, got[:3*n], "%s: %d words at %v", levelNames[l], n, near)
				require.Zero(t, got[3*n])
			})
		}
	}
	near, own, a := make([]uint64, 24), make([]uint64, 20), make([]uint64, 8)
	torus := NewBitTorus([6]int{-50, 50, 49, -1, -49, 1})
	GridBits(near, own, 2, 0, torus, a, a)
	assert.Panics(t, func() { GridBits(near, own, 0, 0, torus, a, a) })
	assert.Panics(t, func() { GridBits(near, own, 12, 0, torus, a, a) })
	assert.Panics(t, func() { GridBits(near[1:], own, 2, 0, torus, a, a) })
	assert.Panics(t, func() { GridBits(near, own, 2, 0, torus, a, a[1:]) })
	assert.Panics(t, func() { GridBits(near[:21], own, 2, 0, torus, a[1:], a[1:]) })
	assert.Panics(t, func() {
		GridBits(make([]uint64, 1560), make([]uint64, 600), 2, 0, torus, make([]uint64, 520), make([]uint64, 520))
	})
}

func TestUnpackBits(t *testing.T) {
	r := newRand(44)
	own := words(r, 1100)
	for _, n := range []int{0, 1, 31, 32, 33, 63, 64, 65, 2500, 1<<15 - 1, 1 << 15, 1<<15 + 1, 70000} {
		want := make([]int32, n)
		for i := range want {
			want[i] = int32(bit(own, i))
		}
		onAll(func(l level) {
			got := make([]int32, n+1)
			got[n] = 7
			UnpackBits(got[:n], own)
			require.Equal(t, want, got[:n], levelNames[l])
			require.EqualValues(t, 7, got[n])
		})
	}
	assert.PanicsWithValue(t, "simd: UnpackBits: len(x) = 129, want ≤ 64·2", func() { UnpackBits(make([]int32, 129), own[:2]) })
}
