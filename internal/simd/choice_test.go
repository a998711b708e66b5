package simd

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// chosen is AddChosen from its definition: T leaves out what is not chosen, and a sum
// of nothing is not added to.
func chosen[T float32 | float64](c T, w func(i int) float32, x []int32) T {
	for g := 0; g < len(x); g += 4 {
		half := func(i int) (sum T, any bool) {
			for ; i < min(len(x), g+4); i++ {
				if x[i]&1 == 1 {
					if any {
						sum += T(w(i))
					} else {
						sum, any = T(w(i)), true
					}
				}
				if i%2 == 1 {
					break
				}
			}
			return sum, any
		}
		sum, any := half(g)
		if high, also := half(g + 2); also && any {
			sum += high
		} else if also {
			sum = high
		}
		c += sum
	}
	return c
}

// TestAddChosen compares both kinds of sums with their definitions, on every backend.
func TestAddChosen(t *testing.T) {
	var q Choice // reused, as it is in steps
	rapid.Check(t, func(t *rapid.T) {
		states, sites, cols := rapid.IntRange(0, 70).Draw(t, "states"), rapid.IntRange(1, 150).Draw(t, "sites"), rapid.IntRange(1, 100).Draw(t, "columns")
		r := newRand(rapid.Uint64().Draw(t, "seed"))
		w, c := make([]float32, sites*cols), make([]float32, states*cols)
		for i := range w {
			w[i] = float32(r.NormFloat64())
		}
		x := make([]int32, states*sites)
		for i := range x {
			x[i] = r.Int32N(2)
		}
		if len(x) > 0 && rapid.Bool().Draw(t, "odd entries") {
			x[r.IntN(len(x))], x[r.IntN(len(x))] = -1, 6
		}
		for i := range c {
			c[i] = float32(r.NormFloat64())
		}
		ld := cols + rapid.IntRange(0, 3).Draw(t, "gap")
		origin := make([]float64, cols)
		for j := range origin {
			origin[j] = r.NormFloat64()
		}
		for _, l := range append(backends(), purego) {
			withBackend(l, func() {
				q.Set(x, sites)
				got := append([]float32(nil), c...)
				Pack(w, cols, sites).AddChosen(got, &q)
				dst, f := make([]float64, states*ld+1), make([]float32, states*ld+1)
				for i := range dst {
					dst[i], f[i] = 7, 7
				}
				AddChosen64(dst, f, ld, origin, w, &q)
				for s := range states {
					state := x[s*sites : (s+1)*sites]
					for j := range ld {
						if j >= cols {
							require.Equal(t, 7., dst[s*ld+j])
							require.Equal(t, float32(7), f[s*ld+j])
							continue
						}
						column := func(i int) float32 { return w[i*cols+j] }
						require.Equal(t, chosen(c[s*cols+j], column, state), got[s*cols+j], "%s: state %d, column %d", levelNames[l], s, j)
						want := chosen(0.0, column, state) + origin[j]
						require.Equal(t, want, dst[s*ld+j], "%s: state %d, column %d", levelNames[l], s, j)
						require.Equal(t, float32(want), f[s*ld+j])
					}
				}
				require.Equal(t, 7., dst[len(dst)-1])
			})
		}
	})
}

func init() {
	var q Choice
	for _, sites := range []int{3, 32, 77} {
		kernels[fmt.Sprintf("AddChosen/%d", sites)] = func(a *arena, from, to int) {
			states := min(to-from, 19)
			cols := (to - from) / sites
			if states == 0 || cols == 0 {
				return
			}
			x := make([]int32, states*sites)
			for i := range x {
				x[i] = int32(a.u[i%len(a.u)] >> (i % 31))
			}
			q.Set(x, sites)
			states = min(states, (to-from)/cols)
			q.Set(x[:states*sites], sites)
			Pack(a.f[1][from:from+sites*cols], cols, sites).AddChosen(a.f[0][from:from+states*cols], &q)
			AddChosen64(a.d[0][from:from+states*cols], a.f[3][from:from+states*cols], cols, a.d[1][from:from+cols], a.f[2][from:from+sites*cols], &q)
		}
	}
}

func TestAddChosenPanics(t *testing.T) {
	var q Choice
	q.Set([]int32{1, 0, 1}, 3)
	p, d, f := Pack(make([]float32, 6), 2, 3), make([]float64, 6), make([]float32, 6)
	for want, call := range map[string]func(){
		"simd: len(x) = 3, want a multiple of sites = 2, which is to be ≥ 1": func() { new(Choice).Set([]int32{1, 0, 1}, 2) },
		"simd: len(x) = 0, want a multiple of sites = 0, which is to be ≥ 1": func() { new(Choice).Set(nil, 0) },
		"simd: states of 3 sites, want 2":                                    func() { Pack(f, 3, 2).AddChosen(f[:3], &q) },
		"simd: len(c) = 3, want 2":                                           func() { p.AddChosen(f[:3], &q) },
		"simd: len(w) = 5, want 6":                                           func() { AddChosen64(d, f, 2, d[:2], f[:5], &q) },
		"simd: ld = 1, want ≥ 2":                                             func() { AddChosen64(d, f, 1, d[:2], f, &q) },
		"simd: len(dst), len(f) = 1, 6, want ≥ 2":                            func() { AddChosen64(d[:1], f, 2, d[:2], f, &q) },
		"simd: len(dst), len(f) = 6, 1, want ≥ 2":                            func() { AddChosen64(d, f[:1], 2, d[:2], f, &q) },
	} {
		assert.PanicsWithValue(t, want, call)
	}
}

func BenchmarkAddChosen(b *testing.B) {
	const states, sites, cols = 25, 784, 512
	r, x := newRand(2), make([]int32, states*sites)
	for i := range x {
		x[i] = r.Int32N(2)
	}
	var q Choice
	b.Run("choose", func(b *testing.B) {
		began = cpuTime()
		for b.Loop() {
			q.Set(x, sites)
		}
		perElement(b, len(x), 4)
	})
	onEach(b, "25x500x784", func(b *testing.B) {
		q.Set(x[:states*500], 500)
		p, c := Pack(randomFloats(1, 500*784), 784, 500), make([]float32, states*784)
		for b.Loop() {
			p.AddChosen(c, &q)
		}
		perElement(b, states*500*784, 4)
	})
	onEach(b, "float64/25x784x512", func(b *testing.B) {
		q.Set(x, sites)
		w, f, d, origin := randomFloats(1, sites*cols), make([]float32, states*cols), make([]float64, states*cols), make([]float64, cols)
		for b.Loop() {
			for j := 0; j < cols; j += 128 {
				AddChosen64(d[j:], f[j:], cols, origin[j:j+128], w[j*sites:(j+128)*sites], &q)
			}
		}
		perElement(b, states*sites*cols, 4)
	})
}
