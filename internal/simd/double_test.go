package simd

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() {
	for name, shift := range map[string]float64{"near": 0.5, "far": 690, "over": -700} {
		kernels["ExpGather/"+name] = func(a *arena, from, to int) {
			idx := make([]int32, to-from)
			for i := range idx {
				idx[i] = int32(a.u[from+i] % uint32(len(idx)))
			}
			ExpGather(a.d[0][from:to], a.f[2][from:to], idx, shift)
		}
	}
	for name, shift := range map[string]float64{"near": 0.5, "far": 690, "over": -700} {
		kernels["ExpMarked/"+name] = func(a *arena, from, to int) {
			n := to - from
			mark := make([]uint8, (n+7)/8)
			for i := range mark {
				mark[i] = uint8(a.u[from+i])
			}
			ExpMarked(a.d[1][from:from+(n+MarkBlock-1)/MarkBlock], a.d[0][from:to], a.f[2][from:to], mark, shift)
		}
	}
	for _, cols := range []int{3, 4, 18, 50, 300} {
		kernels[fmt.Sprintf("Torus/%d", cols)] = func(a *arena, from, to int) {
			rows := (to - from) / cols
			if rows < 3 {
				return
			}
			table := [8]float32{1, 2, 3, 4, 5, 6, 7, 8}
			p, u := Torus(a.f[0][from:from+rows*cols], &table, a.i[0][from:from+rows*cols], cols)
			a.s[0], a.s[1] = float64(p), float64(u)
		}
	}
}

func TestSoftplusSum(t *testing.T) {
	for _, n := range []int{0, 1, 17, 512, 513, 5000} {
		x := randomFloats(uint64(n), n)
		want, positive := 0.0, 0.0
		for i := range x {
			x[i] *= 20
			want += math.Max(float64(x[i]), 0) + math.Log1p(math.Exp(-math.Abs(float64(x[i]))))
			positive += math.Max(float64(x[i]), 0)
		}
		// The bound, and the rounding of the plain sum.
		assert.InDelta(t, want, SoftplusSum(x), 2e-15*(float64(n)+positive)+1e-16*float64(n)*want)
	}
	assert.Equal(t, math.Inf(1), SoftplusSum([]float32{1, inf32}))
	assert.Zero(t, SoftplusSum([]float32{-inf32}))
	assert.True(t, math.IsNaN(SoftplusSum([]float32{0, nan32, -inf32})))
}

func TestExpGather(t *testing.T) {
	w := []float32{0, 1, -inf32, 700, -709, -707, -800, 711, nan32, 709, inf32}
	want := []float64{1, math.E, 0, math.Exp(700), 0, math.Exp(-707), 0, math.Inf(1), math.NaN(), math.Exp(709), math.Inf(1)}
	idx := []int32{8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 1, 2, 3, 4, 5, 9, 10, 6}
	dst := make([]float64, len(idx))
	ExpGather(dst, w, idx, 0)
	for i, j := range idx {
		switch {
		case want[j] != want[j]:
			assert.True(t, math.IsNaN(dst[i]))
		case want[j] == 0 || math.IsInf(want[j], 1):
			assert.Equal(t, want[j], dst[i], "%v", w[j])
		default:
			assert.InEpsilon(t, want[j], dst[i], 3e-13, "%v", w[j])
		}
	}
	// The bounds, with the conversion of far weights as it is.
	const n = 1 << 14
	x, all, y := make([]float32, n), make([]int32, n), make([]float64, n)
	worst := map[bool]float64{}
	for _, far := range []bool{false, true} {
		for i := range x {
			x[i], all[i] = -20*float32(i)/n, int32(i)
			if far {
				x[i] *= 35
			}
		}
		ExpGather(y, x, all, 0.1)
		for i, v := range x {
			worst[far] = max(worst[far], math.Abs(y[i]/math.Exp(float64(v)-0.1)-1))
		}
	}
	assert.Less(t, worst[false], 1.6e-13)
	assert.Less(t, worst[true], 3e-13)
	assert.Greater(t, worst[true], 1e-14) // the loop looks at something
	t.Log(worst)
	assert.PanicsWithValue(t, "simd: len(idx) = 1, want 0", func() { ExpGather(nil, w, idx[:1], 0) })
}

func TestExpMarked(t *testing.T) {
	far := []float32{-inf32, 700, -709, -707, 711, nan32, 709, inf32, inf32, nan32} // marked are 0, 3, 6, 7 and 9
	for _, n := range []int{0, 1, 255, 256, 1000 * len(far)} {
		w, dst, mark := randomFloats(uint64(n), n), make([]float64, n), make([]uint8, (n+7)/8)
		if n > 1000 {
			for i, v := range far { // once in a block, at which other terms are far below
				w[1000*i] = v
			}
		}
		want, sums := make([]float64, (n+MarkBlock-1)/MarkBlock), make([]float64, (n+MarkBlock-1)/MarkBlock)
		for i := range w {
			if i%3 == 0 || i%7 == 0 {
				mark[i/8] |= 1 << (i % 8)
				want[i/MarkBlock] += math.Exp(float64(w[i]) + 0.25)
			}
		}
		ExpMarked(sums, dst, w, mark, -0.25)
		for i, e := range dst {
			switch x := float64(w[i]) + 0.25; {
			case x != x:
				assert.True(t, math.IsNaN(e))
			case x < -708:
				assert.Zero(t, e)
			case x > 709.5:
				assert.Equal(t, math.Inf(1), e)
			default:
				assert.InEpsilon(t, math.Exp(x), e, 1e-13, "%v", x)
			}
		}
		for b, s := range sums {
			assert.True(t, s == want[b] || want[b] != want[b] && s != s || math.Abs(s/want[b]-1) < 1e-13, "%v %v", s, want[b])
		}
	}
	// The bounds, near and far.
	const n = 1 << 14
	w, dst := make([]float32, n), make([]float64, n)
	for far, most := range map[float32]float64{1: 3e-14, 35: 1e-13} {
		for i := range w {
			w[i] = -20 * far * float32(i) / n
		}
		ExpMarked(make([]float64, n/MarkBlock), dst, w, make([]uint8, n/8), 0.1)
		worst := 0.0
		for i, v := range w {
			worst = max(worst, math.Abs(dst[i]/math.Exp(float64(v)-0.1)-1))
		}
		assert.Less(t, worst, most)
		assert.Greater(t, worst, 1e-14) // the loop looks at something
	}
	assert.PanicsWithValue(t, "simd: len(dst) = 0, want 1", func() { ExpMarked(nil, nil, w[:1], nil, 0) })
}

// TestExpTable compares the bits of the path through the table with the general
// one, where weights leave the table at both ends and come back.
func TestExpTable(t *testing.T) {
	const n = 1 << 13
	r := newRand(5)
	w, idx, got, want := make([]float32, n), make([]int32, n), make([]float64, n), make([]float64, n)
	for _, far := range []float64{0, 0.01, 0.3, 1} {
		for i := range w {
			w[i], idx[i] = float32(48*r.Float64()-35), r.Int32N(n)
			if r.Float64() < far {
				w[i] = []float32{-inf32, -40, 12, 708.5, 800, nan32, -709}[r.IntN(7)]
			}
		}
		for _, size := range []int{0, 1, 3, 4, 5, 63, n} {
			refExpGather(got[:size], w, idx[:size], 0.25)
			expAny(want[:size], w, idx[:size], 0.25)
			for i := range got[:size] {
				require.Equal(t, math.Float64bits(want[i]), math.Float64bits(got[i]), "%v", w[idx[i]])
			}
		}
	}
	// Everything in the table is taken from it, and nothing else.
	for i := range w {
		w[i], idx[i] = float32(i)/n*44-33.1, int32(i)
	}
	require.Equal(t, n, expNear(got, w, idx, 0))
	for _, x := range []float32{-33.5, 11.5, nan32, inf32, -inf32} {
		w[n/2+1] = x
		require.Equal(t, n/2, expNear(got, w, idx, 0), "%v", x)
	}
}

func TestTorus(t *testing.T) {
	const rows, cols = 5, 7
	r := newRand(1)
	x, h := make([]int32, rows*cols), make([]float32, rows*cols)
	for i := range x {
		x[i] = r.Int32N(2)
	}
	table := [8]float32{10, 11, 12, 13, 14}
	pairs, up := Torus(h, &table, x, cols)
	wantPairs, wantUp := 0, 0
	for i := range rows {
		for j := range cols {
			k := x[(i+1)%rows*cols+j] + x[(i+rows-1)%rows*cols+j] + x[i*cols+(j+1)%cols] + x[i*cols+(j+cols-1)%cols]
			assert.Equal(t, table[k], h[i*cols+j])
			wantPairs += int(x[i*cols+j] * k)
			wantUp += int(x[i*cols+j])
		}
	}
	assert.Equal(t, wantPairs, pairs)
	assert.Equal(t, wantUp, up)
	assert.PanicsWithValue(t, "simd: cols = 2, want ≥ 3", func() { Torus(h, &table, x, 2) })
	assert.Panics(t, func() { Torus(h, &table, x, 8) })
	assert.Panics(t, func() { Torus(h[:14], &table, x[:14], 7) })
}

func BenchmarkDouble(b *testing.B) {
	const n = 500
	x, idx, dst := randomFloats(1, n), make([]int32, n), make([]float64, n)
	for i := range idx {
		idx[i] = int32((i * 7) % n)
	}
	onEach(b, "SoftplusSum/500", func(b *testing.B) {
		for b.Loop() {
			sink = SoftplusSum(x)
		}
		perElement(b, n, 4)
	})
	onEach(b, "ExpGather/500", func(b *testing.B) {
		for b.Loop() {
			ExpGather(dst, x, idx, 1)
		}
		perElement(b, n, 16)
	})
	marked, mark := make([]float64, 2048), make([]uint8, 256)
	for i := range mark {
		mark[i] = uint8(i * 7)
	}
	long, sums := randomFloats(1, len(marked)), make([]float64, len(marked)/MarkBlock)
	onEach(b, "ExpMarked/2048", func(b *testing.B) {
		for b.Loop() {
			ExpMarked(sums, marked, long, mark, 1)
		}
		perElement(b, len(marked), 12)
	})
	for _, side := range []int{5, 50, 1024} {
		s, h := make([]int32, side*side), make([]float32, side*side)
		for i := range s {
			s[i] = int32(i * 7 % 3 % 2)
		}
		var table [8]float32
		onEach(b, fmt.Sprintf("Torus/%d", side), func(b *testing.B) {
			for b.Loop() {
				Torus(h, &table, s, side)
			}
			perElement(b, len(s), 8)
		})
	}
}
