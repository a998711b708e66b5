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
			var c Counts
			own := make([]uint64, n)
			for i := range n {
				c0, c1 := uint64(a.u[from+i])|uint64(a.i[3][from+i])<<32, uint64(a.u[from+i+n])<<7
				c[0][i], c[1][i], c[2][i] = c0, c1, c0<<3&^(c0|c1)
				own[i] = c0*5 ^ c1
			}
			dst, odds := make([]uint64, n), FlipOdds{}
			odds.Set(&flipOdds)
			FlipBits(dst, own, &c, &odds, i == 1, uint64(a.u[from]), 5, uint64(a.u[from+1]))
			for i, v := range dst {
				a.i[0][from+2*i], a.i[0][from+2*i+1] = int32(v), int32(v>>32)
			}
		}
	}
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
		own := words(r, n)
		var count Counts
		for i := range 64 * n {
			k := r.IntN(5)
			set := func(x uint64) { own[i/64] = own[i/64]&^(1<<(i%64)) | x<<(i%64) }
			switch i {
			case 77:
				set(0)
				k = 3
			case 300:
				set(1)
				k = 2
			case 490:
				set(1)
				k = 4
			}
			for b := range count {
				count[b][i/64] |= uint64(k>>b&1) << (i % 64)
			}
		}
		want := make([]int, 64*n)
		for i := range want {
			k := bit(count[0][:], i) + 2*bit(count[1][:], i) + 4*bit(count[2][:], i)
			if number(i) < p[bit(own, i)][k] {
				want[i] = 1
			}
		}
		require.Equal(t, []int{0, 0, 1}, []int{want[77], want[300], want[490]})
		onAll(func(l level) {
			dst := make([]uint64, n+1)
			FlipBits(dst[:n], own, &count, o, ars, 3, 4, 1<<60-7)
			for i, w := range want {
				require.Equal(t, w, bit(dst, i), "%s: site %d of %d", levelNames[l], i, 64*n)
			}
			require.Zero(t, dst[n])
		})
	}
	assert.Panics(t, func() {
		FlipBits(make([]uint64, 7), make([]uint64, 7), new(Counts), new(FlipOdds), ars, 0, 0, 0)
	})
	assert.Panics(t, func() {
		FlipBits(make([]uint64, 8), make([]uint64, 16), new(Counts), new(FlipOdds), ars, 0, 0, 0)
	})
	assert.Panics(t, func() {
		FlipBits(make([]uint64, 520), make([]uint64, 520), new(Counts), new(FlipOdds), ars, 0, 0, 0)
	})
}

// TestTallyFlips counts sites one by one, in strings where all are alike too.
func TestTallyFlips(t *testing.T) {
	r := newRand(42)
	for _, n := range []int{0, 8, 16, 40, 512} {
		for _, alike := range []int{-1, 0, 1, 2, 3, 4} {
			own, flip, valid := words(r, n), words(r, n), words(r, n)
			var c Counts
			var want FlipTally
			want.Sites[1][2], want.Flips[0][4] = 5, 7
			for i := range 64 * n {
				k := r.IntN(5)
				if alike >= 0 {
					k = alike
					own[i/64], flip[i/64], valid[i/64] = ^uint64(0)*uint64(k%2), ^uint64(0), ^uint64(0)
				}
				for b := range c {
					c[b][i/64] |= uint64(k>>b&1) << (i % 64)
				}
				want.Sites[bit(own, i)][k] += bit(valid, i)
				want.Flips[bit(own, i)][k] += bit(valid, i) * bit(flip, i)
			}
			withoutPopcounts(func() {
				onAll(func(l level) {
					var got FlipTally
					got.Sites[1][2], got.Flips[0][4] = 5, 7
					TallyFlips(&got, own, flip, valid, &c)
					require.Equal(t, want, got, "%s: %d words, alike %d", levelNames[l], n, alike)
				})
			})
		}
	}
	a, b := FlipTally{}, FlipTally{}
	a.Sites[0][3], b.Sites[0][3], b.Flips[1][0] = 2, 3, 4
	a.Add(&b)
	assert.Equal(t, []int{5, 4}, []int{a.Sites[0][3], a.Flips[1][0]})
	assert.Panics(t, func() { TallyFlips(&a, make([]uint64, 7), make([]uint64, 7), make([]uint64, 7), new(Counts)) })
	assert.Panics(t, func() { TallyFlips(&a, make([]uint64, 8), make([]uint64, 16), make([]uint64, 8), new(Counts)) })
	assert.Panics(t, func() { TallyFlips(&a, make([]uint64, 8), make([]uint64, 8), make([]uint64, 16), new(Counts)) })
	assert.Panics(t, func() {
		TallyFlips(&a, make([]uint64, 520), make([]uint64, 520), make([]uint64, 520), new(Counts))
	})
}

func BenchmarkFlipBits(b *testing.B) {
	const regs = 64
	r := newRand(1)
	own, flip := words(r, 8*regs), words(r, 8*regs)
	var o FlipOdds
	o.Set(&flipOdds)
	var c Counts
	for i := range own {
		c[0][i], c[1][i] = r.Uint64(), r.Uint64()
	}
	for _, ars := range []bool{false, true} {
		name := map[bool]string{false: "Draw", true: "DrawARS"}[ars]
		onEach(b, name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				FlipBits(flip, own, &c, &o, ars, 1, 2, uint64(i)<<20)
			}
			perElement(b, 64*len(own), 0)
		})
	}
	onEach(b, "Tally", func(b *testing.B) {
		var t FlipTally
		for b.Loop() {
			TallyFlips(&t, own, flip, own, &c)
		}
		perElement(b, 64*len(own), 0)
	})
}
