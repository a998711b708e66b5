package simd

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestFixedGemm compares products with integers of 64 bits, on every backend.
func TestFixedGemm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, n, k := rapid.IntRange(0, 40).Draw(t, "m"), rapid.IntRange(1, 70).Draw(t, "n"), rapid.IntRange(1, 90).Draw(t, "k")
		if rapid.IntRange(0, 29).Draw(t, "deep") == 0 {
			m, n, k = min(m, 3), 2, k+2*2*fixedPairsTested
		}
		r := newRand(rapid.Uint64().Draw(t, "seed"))
		b, origin := make([]float32, n*k), make([]float32, n)
		spread := rapid.IntRange(1, 60).Draw(t, "magnitudes")
		for i := range b {
			b[i] = float32(math.Ldexp(r.NormFloat64(), r.IntN(spread)-spread/2))
		}
		for j := range origin {
			origin[j] = float32(r.NormFloat64())
		}
		f := Fix(b, origin, n, k)
		a := make([]int16, m*f.Words())
		for i := range a {
			a[i] = int16(r.IntN(1<<13+1) - 1<<12)
			if r.IntN(5) == 0 {
				a[i] = 1<<12 - int16(r.IntN(2))<<13 // an end
			}
		}
		want := make([]float32, m*n)
		for j := range n {
			unit, sum := f.Unit(j), 0.0
			for l := range k {
				v := math.RoundToEven(float64(b[l*n+j]) / unit)
				require.LessOrEqual(t, math.Abs(v), float64(math.MaxInt16))
				sum += math.Abs(v)
			}
			require.LessOrEqual(t, sum, float64(fixedSum))
			for i := range m {
				s := int64(0)
				for l := range k {
					s += int64(a[i*f.Words()+l]) * int64(math.RoundToEven(float64(b[l*n+j])/unit))
				}
				require.LessOrEqual(t, max(s, -s), int64(math.MaxInt32))
				want[i*n+j] = origin[j] + float32(float32(s)*float32(unit/(1<<fixedPlaces)))
			}
		}
		for _, l := range append(backends(), purego) {
			withBackend(l, func() {
				withAndWithout("dotWords", func() {
					got := make([]float32, m*n)
					f.Gemm(got, a, m)
					require.Equal(t, want, got, levelNames[l])
				})
			})
		}
	})
}

// fixedPairsTested is how many pairs of rows one call of assembly takes.
const fixedPairsTested = 2048

// TestFixedUnits: units are as small as they may be, whatever the weights.
func TestFixedUnits(t *testing.T) {
	for _, c := range []struct {
		b    []float32
		unit float64
	}{
		{[]float32{0, 0}, 0x1p-100},
		{[]float32{1, 0}, 0x1p-14},
		{[]float32{32767, 0}, 1},
		{[]float32{32767.5, 0}, 2}, // would round to 2¹⁵
		{[]float32{10, 1e-6}, 0x1p-11},
		{[]float32{1e-44, 1e-44}, 0x1p-100},
		{[]float32{8e37, 8e37}, 0x1p111},
		{onesTo(512), 0x1p-9},  // 2¹⁸
		{onesTo(1024), 0x1p-8}, // 2¹⁹ is too much
	} {
		f := Fix(c.b, []float32{0}, 1, len(c.b))
		assert.Equal(t, c.unit, f.Unit(0), "%v…", c.b[:2])
	}
}

func onesTo(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = 1
	}
	return v
}

func TestLogisticWords(t *testing.T) {
	for _, x := range []float64{0, 1, -1, 0.3, 7, -9, 30, -30, 100, -100, math.Inf(1), math.Inf(-1)} {
		dst := make([]int16, 20)
		src := make([]float32, 20)
		for i := range src {
			src[i] = float32(x)
		}
		LogisticWords(dst, src)
		for _, v := range dst {
			assert.InDelta(t, 8192/(1+math.Exp(-x))-4096, float64(v), 0.502, "%v", x)
		}
	}
}

func TestFixedPanics(t *testing.T) {
	f := Fix(make([]float32, 6), make([]float32, 2), 2, 3)
	for want, call := range map[string]func(){
		"simd: len(b) = 5, want 6":      func() { Fix(make([]float32, 5), make([]float32, 2), 2, 3) },
		"simd: len(origin) = 3, want 2": func() { Fix(make([]float32, 6), make([]float32, 3), 2, 3) },
		"simd: len(c) = 1, want 2":      func() { f.Gemm(make([]float32, 1), make([]int16, 4), 1) },
		"simd: len(a) = 3, want 4":      func() { f.Gemm(make([]float32, 2), make([]int16, 3), 1) },
		"simd: len(dst) = 1, want 2":    func() { LogisticWords(make([]int16, 1), make([]float32, 2)) },
	} {
		assert.PanicsWithValue(t, want, call)
	}
}

func init() {
	kernels["LogisticWords"] = func(a *arena, from, to int) {
		dst := make([]int16, to-from)
		LogisticWords(dst, a.f[2][from:to])
		for i, v := range dst {
			a.i[3][from+i] = int32(v)
		}
	}
}

func BenchmarkFixed(b *testing.B) {
	const n, k = 784, 500
	f := Fix(randomFloats(1, n*k), make([]float32, n), n, k)
	for _, m := range []int{1, 25, 32} {
		a, c := make([]int16, m*f.Words()), make([]float32, m*n)
		onEach(b, fmt.Sprintf("%dx%dx%d", m, n, k), func(b *testing.B) {
			for b.Loop() {
				f.Gemm(c, a, m)
			}
			perElement(b, m*n*k, 2)
		})
	}
	src := randomFloats(2, 500)
	onEach(b, "logistic", func(b *testing.B) {
		dst := make([]int16, len(src))
		for b.Loop() {
			LogisticWords(dst, src)
		}
		perElement(b, len(src), 4)
	})
}
