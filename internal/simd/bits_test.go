package simd

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() {
	for i, name := range []string{"HeatBits/5", "HeatBits/8", "HeatBits/ARS/5", "HeatBits/ARS/8"} {
		kinds := []int{5, 8}[i%2]
		kernels[name] = func(a *arena, from, to int) {
			n := (to - from) / 16 * 8 // words
			if n == 0 {
				return
			}
			p := []uint64{1 << 60, 1 << 62, 1<<63 + 5, 3<<62 + 1<<40, ^uint64(0), 7, 1 << 59, 9 << 58}[:kinds]
			var c Counts
			for i := range n {
				c0, c1 := uint64(a.u[from+i])|uint64(a.i[3][from+i])<<32, uint64(a.u[from+i+n])<<7
				c[0][i], c[1][i] = c0, c1
				if c[2][i] = c0 ^ c1<<3; kinds == 5 {
					c[2][i] &^= c0 | c1
				}
			}
			dst := make([]uint64, n)
			HeatBits(dst, &c, NewOdds(p), i >= 2, uint64(a.u[from]), 5, uint64(a.u[from+1]))
			for i, v := range dst {
				a.i[0][from+2*i], a.i[0][from+2*i+1] = int32(v), int32(v>>32)
			}
		}
	}
}

// words returns n random words; with n·64 sites of few ones or zeros some.
func words(r *rand.Rand, n int) []uint64 {
	w := make([]uint64, n)
	for i := range w {
		w[i] = r.Uint64()
		switch r.IntN(8) {
		case 0:
			w[i] = 0
		case 1:
			w[i] = ^uint64(0)
		}
	}
	return w
}

func bit(w []uint64, i int) int { return int(w[i>>6] >> (i & 63) & 1) }

// onAll runs f with the reference and every backend of this CPU.
func onAll(f func(l level)) {
	for _, l := range append([]level{purego}, backends()...) {
		withBackend(l, func() { f(l) })
	}
}

// TestHeatBits compares every backend with the definition, site by site, on odds
// that are decided late too: some agree with the stream in all of their digits.
func TestHeatBits(t *testing.T) {
	t.Run("Philox", func(t *testing.T) { testHeatBits(t, false) })
	withoutAES(func(name string) {
		t.Run("ARS by "+name, func(t *testing.T) { testHeatBits(t, true) })
	})
}

// siteNumbers returns a function that gives the random integer of a site, as HeatBits says.
func siteNumbers(ars bool, regs int, key, stream, group uint64) func(i int) uint64 {
	words := make([]uint32, regs*BitGroups*GroupWords)
	if ars {
		ARS(words, key, stream, group)
	} else {
		Philox(words, key, stream, group)
	}
	return func(i int) (u uint64) {
		for d := range 64 {
			w := words[i/512*1024+16*d+i/32%16]
			u |= uint64(w>>(i%32)&1) << (63 - d)
		}
		return u
	}
}

func testHeatBits(t *testing.T, ars bool) {
	r := newRand(12)
	for _, kinds := range []int{5, 8} {
		for _, regs := range []int{1, 2, 5} {
			number := siteNumbers(ars, regs, 3, 4, 1<<60-7)
			p := []uint64{0, 1 << 61, ^uint64(0), number(77), number(490) + 1, 1<<63 + 1, 3 << 20, 1}[:kinds]
			o := NewOdds(p)
			var count Counts
			for i := range 512 * regs {
				k := r.IntN(kinds)
				switch i {
				case 77:
					k = 3
				case 490:
					k = 4
				}
				for b := range count {
					count[b][i/64] |= uint64(k>>b&1) << (i % 64)
				}
			}
			onAll(func(l level) {
				dst := make([]uint64, 8*regs+1)
				HeatBits(dst[:8*regs], &count, o, ars, 3, 4, 1<<60-7)
				for i := range 512 * regs {
					k := bit(count[0][:], i) + 2*bit(count[1][:], i) + 4*bit(count[2][:], i)
					want := 0
					if number(i) < p[k] {
						want = 1
					}
					require.Equal(t, want, bit(dst, i), "%s: site %d of %d, %d kinds", levelNames[l], i, 512*regs, kinds)
				}
				require.Zero(t, dst[8*regs])
				require.Equal(t, []int{0, 1}, []int{bit(dst, 77), bit(dst, 490)})
			})
		}
	}
	assert.PanicsWithValue(t, "simd: NewOdds: len(p) = 9, want 1 … 8", func() { NewOdds(make([]uint64, 9)) })
	assert.PanicsWithValue(t, "simd: len(dst) = 7, want a multiple of 8, at most 512", func() {
		HeatBits(make([]uint64, 7), new(Counts), NewOdds([]uint64{1}), ars, 0, 0, 0)
	})
	assert.Panics(t, func() { HeatBits(make([]uint64, 520), new(Counts), NewOdds([]uint64{1}), ars, 0, 0, 0) })
}

// TestTorusBits counts neighbours of random strings, also across words.
func TestTorusBits(t *testing.T) {
	r := newRand(13)
	for _, regs := range []int{1, 3} {
		const pad = 4
		own := words(r, 2*pad+8*regs)
		rows, a, b := words(r, 8*regs), words(r, 8*regs), words(r, 8*regs)
		for _, near := range [][6]int{{-64, 64, 3, -1, -3, 1}, {-25, 25, 24, -1, -24, 1}, {-130, 130, 129, -1, -129, 1}} {
			n := NewBitTorus(near)
			onAll(func(l level) {
				var c Counts
				c[1][8*regs%512] = 7
				TorusBits(&c, own, pad, 0, n, rows, a, b)
				for i := range 512 * regs {
					o := func(d int) int { return bit(own, 64*pad+i+d) }
					k := o(near[0]) + o(near[1]) + o(0)
					k += o(near[5-2*bit(rows, i)-bit(append(b, a...), i+bit(rows, i)*512*regs)])
					require.Equal(t, k, bit(c[0][:], i)+2*bit(c[1][:], i)+4*bit(c[2][:], i), "%s: %d of %v", levelNames[l], i, near)
				}
				require.EqualValues(t, 7, c[1][8*regs])
			})
		}
		n := NewBitTorus([6]int{-25, 25, 24, -1, -24, 1})
		var c Counts
		assert.Panics(t, func() { TorusBits(&c, own[:8*regs], 0, 0, n, rows, a, b) })
		assert.Panics(t, func() { TorusBits(&c, own, pad, 0, n, rows[1:], a[1:], b[1:]) })
		assert.Panics(t, func() { TorusBits(&c, own, pad, 0, n, rows, a, b[1:]) })
		assert.Panics(t, func() { TorusBits(&c, own, 2*pad, 0, n, rows, a, b) })
	}
}

// TestTallyTorus counts sites one by one, in strings of ones too.
func TestTallyTorus(t *testing.T) {
	r := newRand(15)
	for _, n := range []int{0, 8, 16, 40, 512} {
		for _, ones := range []bool{false, true} {
			now, old := words(r, n), words(r, n)
			var c Counts
			for b := range c {
				copy(c[b][:], words(r, n))
			}
			if ones {
				for i := range now {
					now[i], old[i], c[0][i], c[1][i], c[2][i] = ^uint64(0), 0, ^uint64(0), ^uint64(0), ^uint64(0)
				}
			}
			want := [3]int{}
			for i := range 64 * n {
				want[0] += bit(now, i)
				want[1] += bit(now, i) ^ bit(old, i)
				want[2] += bit(now, i) * (bit(c[0][:], i) + 2*bit(c[1][:], i) + 4*bit(c[2][:], i))
			}
			withAndWithout("popcounts", func() {
				onAll(func(l level) {
					up, moved, bonds := TallyTorus(now, old, &c)
					require.Equal(t, want, [3]int{up, moved, bonds}, "%s: %d words", levelNames[l], n)
				})
			})
		}
	}
	assert.Panics(t, func() { TallyTorus(make([]uint64, 7), make([]uint64, 7), new(Counts)) })
	assert.Panics(t, func() { TallyTorus(make([]uint64, 8), make([]uint64, 16), new(Counts)) })
	assert.Panics(t, func() { TallyTorus(make([]uint64, 520), make([]uint64, 520), new(Counts)) })
}

func TestSpreadBits(t *testing.T) {
	r := newRand(14)
	even, odd := words(r, 70), words(r, 70)
	for _, n := range []int{1, 2, 3, 5, 8, 16, 25, 31, 32, 33, 64, 70, 100} {
		for _, first := range []int{0, 1, 63, 64, 77} {
			for _, rows := range []int{1, 2, 3, 30} {
				want := make([]int32, 2*n*rows+1)
				for i := range want[:2*n*rows] {
					s := [][]uint64{even, odd}[(i/(2*n)+i%(2*n))%2]
					want[i] = int32(bit(s, first+i/(2*n)*n+i%(2*n)/2))
				}
				want[2*n*rows] = 9
				onAll(func(l level) {
					x := make([]int32, 2*n*rows+1)
					x[2*n*rows] = 9
					SpreadBits(x[:2*n*rows], even, odd, first, n)
					require.Equal(t, want, x, "%s: n %d, first %d, rows %d", levelNames[l], n, first, rows)
				})
			}
		}
	}
	// more rows than a call takes, and a row longer than that
	long := words(r, 1<<13)
	for _, shape := range [][2]int{{3 << 12, 5}, {1 << 15, 2}, {1<<15 + 1, 3}} {
		want, got := make([]int32, 2*shape[0]*shape[1]), make([]int32, 2*shape[0]*shape[1])
		refSpreadBits(want, long, long[1:], 5, shape[0])
		onAll(func(l level) {
			clear(got)
			SpreadBits(got, long, long[1:], 5, shape[0])
			require.Equal(t, want, got, "%s: %v", levelNames[l], shape)
		})
	}
	assert.Panics(t, func() { SpreadBits(make([]int32, 7), even, odd, 0, 2) })
	assert.Panics(t, func() { SpreadBits(make([]int32, 8), even[:1], odd, 0, 2) })
	assert.Panics(t, func() { SpreadBits(make([]int32, 8), even, odd, -1, 2) })
}

func BenchmarkBits(b *testing.B) {
	const regs = 64
	r := newRand(1)
	own, rows := words(r, 8*regs+40), words(r, 8*regs)
	dst := make([]uint64, 8*regs)
	near := NewBitTorus([6]int{-512, 512, 511, -1, -511, 1})
	o := NewOdds([]uint64{1 << 61, 1 << 62, 1 << 63, 3 << 62, 7 << 61})
	var c Counts
	x := make([]int32, 1<<15)
	for _, ars := range []bool{false, true} {
		name := map[bool]string{false: "Heat", true: "HeatARS"}[ars]
		onEach(b, name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				HeatBits(dst, &c, o, ars, 1, 2, uint64(i)<<20)
			}
			perElement(b, 64*len(dst), 0)
		})
	}
	onEach(b, "Torus", func(b *testing.B) {
		for b.Loop() {
			TorusBits(&c, own, 16, 0, near, rows, rows, rows)
		}
		perElement(b, 64*len(dst), 0)
	})
	onEach(b, "Tally", func(b *testing.B) {
		for b.Loop() {
			TallyTorus(dst, rows, &c)
		}
		perElement(b, 64*len(dst), 0)
	})
	for _, n := range []int{25, 512} {
		onEach(b, fmt.Sprintf("Spread/%d", n), func(b *testing.B) {
			for b.Loop() {
				SpreadBits(x[:len(x)/(2*n)*2*n], own, own, 0, n)
			}
			perElement(b, len(x), 4)
		})
	}
}
