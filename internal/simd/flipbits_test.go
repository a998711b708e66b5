package simd

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() {
	for i, name := range []string{"FlipBits", "FlipBits/ARS"} {
		kernels[name] = func(a *arena, from, to int) {
			n := (to - from) / 16 * 8 // words
			if n == 0 {
				return
			}
			own, near := make([]uint64, n), make([]uint64, 3*n)
			for i := range n {
				c0, c1 := uint64(a.u[from+i])|uint64(a.i[3][from+i])<<32, uint64(a.u[from+i+n])<<7
				setNear(near, i, c0, c1, c0<<3&^(c0|c1))
				own[i] = c0*5 ^ c1
			}
			dst, odds := make([]uint64, n), FlipOdds{}
			odds.Set(&flipOdds)
			FlipBits(dst, own, near, &odds, i == 1, uint64(a.u[from]), 5, uint64(a.u[from+1]))
			for i, v := range dst {
				a.i[0][from+2*i], a.i[0][from+2*i+1] = int32(v), int32(v>>32)
			}
		}
	}
}

// setNear sets the digits of the numbers of neighbours of word i.
func setNear(near []uint64, i int, digits ...uint64) {
	for p, v := range digits {
		near[i/8*24+8*p+i%8] = v
	}
}

// nearOf returns numbers of neighbours, of every site, in the layout of GridBits.
func nearOf(n int, number func(i int) int) []uint64 {
	near := make([]uint64, 3*n)
	for i := range 64 * n {
		for p := range 3 {
			near[i/512*24+8*p+i/64%8] |= uint64(number(i)>>p&1) << (i % 64)
		}
	}
	return near
}

var flipOdds = [2][5]uint64{{1 << 60, 1 << 62, 1<<63 + 5, 3<<62 + 1<<40, ^uint64(0)}, {7, 0, 1 << 61, 9 << 57, 1 << 59}}

// TestFlipBits compares every backend with the definition, site by site, on odds
// that are decided late too: some agree with the stream in all of their digits.
func TestFlipBits(t *testing.T) {
	t.Run("Philox", func(t *testing.T) { testFlipBits(t, false) })
	withoutAES(func(name string) {
		t.Run("ARS by "+name, func(t *testing.T) { testFlipBits(t, true) })
	})
}

func testFlipBits(t *testing.T, ars bool) {
	r := newRand(41)
	for _, regs := range []int{1, 2, 5, 64} {
		number := siteNumbers(ars, regs, 3, 4, 1<<60-7)
		p := flipOdds
		p[0][3], p[1][4], p[1][2] = number(77), number(490)+1, number(300)
		o := new(FlipOdds)
		o.Set(&flipOdds) // of which nothing stays
		o.Set(&p)
		n := 8 * regs
		own, near := words(r, n), make([]int, 64*n)
		set := func(i int, x uint64, k int) {
			own[i/64], near[i] = own[i/64]&^(1<<(i%64))|x<<(i%64), k
		}
		for i := range near {
			near[i] = r.IntN(5)
		}
		set(77, 0, 3)
		set(300, 1, 2)
		set(490, 1, 4)
		digits := nearOf(n, func(i int) int { return near[i] })
		want := make([]int, 64*n)
		for i := range want {
			if want[i] = bit(own, i); number(i) < p[bit(own, i)][near[i]] {
				want[i] = 1 - want[i]
			}
		}
		require.Equal(t, []int{0, 1, 0}, []int{want[77], want[300], want[490]})
		onAll(func(l level) {
			dst := make([]uint64, n+1)
			FlipBits(dst[:n], own, digits, o, ars, 3, 4, 1<<60-7)
			for i, w := range want {
				require.Equal(t, w, bit(dst, i), "%s: site %d of %d", levelNames[l], i, 64*n)
			}
			require.Zero(t, dst[n])
		})
	}
	for _, n := range [][3]int{{7, 7, 21}, {8, 16, 24}, {8, 8, 16}, {520, 520, 1560}} {
		assert.Panics(t, func() {
			FlipBits(make([]uint64, n[0]), make([]uint64, n[1]), make([]uint64, n[2]), new(FlipOdds), ars, 0, 0, 0)
		})
	}
}

// TestTallyFlips counts sites one by one, in strings where all are alike too.
func TestTallyFlips(t *testing.T) {
	r := newRand(42)
	for _, n := range []int{0, 8, 16, 40, 512} {
		for _, alike := range []int{-1, 0, 1, 2, 3, 4} {
			from, to, valid := words(r, n), words(r, n), words(r, n)
			near := [2][]int{make([]int, 64*n), make([]int, 64*n)}
			var want [2]FlipTally
			want[0].Sites[1][2], want[1].Flips[0][4] = 5, 7
			for i := range 64 * n {
				for way := range near {
					if near[way][i] = r.IntN(5); alike >= 0 {
						near[way][i] = alike
					}
				}
				if alike >= 0 {
					from[i/64], to[i/64], valid[i/64] = ^uint64(0)*uint64(alike%2), ^uint64(0)*uint64(1-alike%2), ^uint64(0)
				}
				x, y, count := bit(from, i), bit(to, i), bit(valid, i)
				want[0].Flips[x][near[0][i]] += count * (x ^ y)
				want[1].Flips[y][near[1][i]] += count * (x ^ y)
				want[1].Sites[y][near[1][i]] += count
			}
			before, after := nearOf(n, func(i int) int { return near[0][i] }), nearOf(n, func(i int) int { return near[1][i] })
			withAndWithout("popcounts", func() {
				onAll(func(l level) {
					var got [2]FlipTally
					got[0].Sites[1][2], got[1].Flips[0][4] = 5, 7
					TallyFlips(&got[0], &got[1], from, to, before, after, valid)
					require.Equal(t, want, got, "%s: %d words, alike %d", levelNames[l], n, alike)
				})
			})
		}
	}
	a, b := FlipTally{}, FlipTally{}
	a.Sites[0][3], b.Sites[0][3], b.Flips[1][0] = 2, 3, 4
	a.Add(&b)
	assert.Equal(t, []int{5, 4}, []int{a.Sites[0][3], a.Flips[1][0]})
	for _, n := range [][5]int{{7, 7, 21, 21, 7}, {8, 16, 24, 24, 8}, {8, 8, 16, 24, 8}, {8, 8, 24, 16, 8}, {8, 8, 24, 24, 16}, {520, 520, 1560, 1560, 520}} {
		var s [5][]uint64
		for i, n := range n {
			s[i] = make([]uint64, n)
		}
		assert.Panics(t, func() { TallyFlips(&a, &b, s[0], s[1], s[2], s[3], s[4]) })
	}
}

func BenchmarkFlipBits(b *testing.B) {
	const regs = 64
	r := newRand(1)
	own, flip, near := words(r, 8*regs), words(r, 8*regs), make([]uint64, 24*regs)
	var o FlipOdds
	o.Set(&flipOdds)
	for i := range own {
		setNear(near, i, r.Uint64(), r.Uint64())
	}
	for _, ars := range []bool{false, true} {
		name := map[bool]string{false: "Draw", true: "DrawARS"}[ars]
		onEach(b, name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				FlipBits(flip, own, near, &o, ars, 1, 2, uint64(i)<<20)
			}
			perElement(b, 64*len(own), 0)
		})
	}
	onEach(b, "Tally", func(b *testing.B) {
		var forth, back FlipTally
		for b.Loop() {
			TallyFlips(&forth, &back, own, flip, near, near, own)
		}
		perElement(b, 64*len(own), 0)
	})
	onEach(b, "Grid", func(b *testing.B) {
		t, wide := NewBitTorus([6]int{-50, 50, 49, -1, -49, 1}), words(r, 8*regs+16)
		for b.Loop() {
			GridBits(near, wide, 8, 0, t, own, flip)
		}
		perElement(b, 64*len(own), 0)
	})
	onEach(b, "Unpack", func(b *testing.B) {
		x := make([]int32, 64*len(own))
		for b.Loop() {
			UnpackBits(x, own)
		}
		perElement(b, 64*len(own), 0)
	})
}
