package simd

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func randomFloats(seed uint64, n int) []float32 {
	r := newRand(seed)
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func TestVectors(t *testing.T) {
	for _, n := range []int{0, 1, 7, 16, 17, 33, 100, 1000} {
		x, y := randomFloats(1, n), randomFloats(2, n)
		d, a, s := 0.0, 0.0, 0.0
		for i := range x {
			d += float64(x[i]) * float64(y[i])
			a += math.Abs(float64(x[i]) * float64(y[i]))
			s += float64(x[i])
		}
		assert.InDelta(t, d, Dot(x, y), a*0x1p-24*float64(n/16+6))
		assert.InDelta(t, s, Sum(x), 1e-12)
		marks := make([]uint16, (n+15)/16)
		for i := range marks {
			marks[i] = uint16(0x9a5d * (i + 1))
		}
		marked, weights := make([]float32, n), make([]float32, n)
		all := make([]uint16, len(marks))
		for i := range all {
			all[i] = ^marks[i]
		}
		top := Peak(x)
		WeightsFrom(weights, x, top)
		both := WeightsMarked(marked, x, top, [2][]uint16{marks, all})
		assert.Equal(t, weights, marked)
		for k, bits := range [][]uint16{marks, all} {
			kept := append([]float32{}, weights...)
			for i := range kept {
				if bits[i/16]>>(i%16)&1 == 0 {
					kept[i] = 0
				}
			}
			assert.Equal(t, Sum(kept), both[k])
		}
		z := append([]float32{}, y...)
		Axpy(-1.5, x, z)
		for i := range z {
			assert.Equal(t, float32(-1.5*x[i])+y[i], z[i])
		}
		copy(z, x)
		Scale(3, z)
		for i := range z {
			assert.Equal(t, 3*x[i], z[i])
		}
		SigmoidTo(z, x)
		for i := range z {
			assert.LessOrEqual(t, ulps32(z[i], 1/(1+math.Exp(-float64(x[i])))), 3.5)
		}
		copy(y, z)
		Slope(z)
		for i, v := range y {
			assert.Equal(t, v-float32(v*v), z[i])
		}
	}
	one := make([]float32, 1)
	assert.PanicsWithValue(t, "simd: len(x) = 1, want 0", func() { Dot(one, nil) })
	assert.Panics(t, func() { Axpy(1, one, nil) })
	assert.PanicsWithValue(t, "simd: len(bits) = 0, want 1", func() { WeightsMarked(one, one, 0, [2][]uint16{{1}, nil}) })
	assert.Panics(t, func() { SigmoidTo(one, nil) })
}

func TestGemm(t *testing.T) {
	for _, s := range [][3]int{{0, 3, 2}, {3, 0, 2}, {3, 2, 0}, {1, 1, 1}, {2, 3, 4}, {5, 17, 9}, {7, 33, 100},
		{13, 64, 31}, {20, 100, 65}, {3, 500, 301}, {1, 784, 500}, {31, 30, 600}} {
		m, n, k := s[0], s[1], s[2]
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			a, b, c0 := randomFloats(1, m*k), randomFloats(2, k*n), randomFloats(3, m*n)
			bt := make([]float32, len(b))
			for l := range k {
				for j := range n {
					bt[j*k+l] = b[l*n+j]
				}
			}
			c, ct := append([]float32{}, c0...), append([]float32{}, c0...)
			Gemm(c, a, b, m, n, k)
			GemmT(ct, a, bt, m, n, k)
			for i := range m {
				for j := range n {
					want, size := float64(c0[i*n+j]), math.Abs(float64(c0[i*n+j]))
					for l := range k {
						p := float64(a[i*k+l]) * float64(b[l*n+j])
						want += p
						size += math.Abs(p)
					}
					bound := float64(k+1) * 0x1p-23 * size
					require.InDelta(t, want, c[i*n+j], bound)
					require.InDelta(t, want, ct[i*n+j], bound)
				}
			}
			// A row of the result depends on its own row alone.
			for i := range m {
				row, rowT := append([]float32{}, c0[i*n:(i+1)*n]...), append([]float32{}, c0[i*n:(i+1)*n]...)
				Gemm(row, a[i*k:(i+1)*k], b, 1, n, k)
				GemmT(rowT, a[i*k:(i+1)*k], bt, 1, n, k)
				require.Equal(t, c[i*n:(i+1)*n], row)
				require.Equal(t, ct[i*n:(i+1)*n], rowT)
			}
		})
	}
	require.PanicsWithValue(t, "simd: len(c) = 3, want 4", func() {
		Gemm(make([]float32, 3), make([]float32, 4), make([]float32, 4), 2, 2, 2)
	})
	require.Panics(t, func() { GemmT(nil, nil, nil, -1, 2, 2) })
}

// TestPacked: products with a packed factor are those with the factor itself, also when it
// has been packed by another backend.
func TestPacked(t *testing.T) {
	for _, s := range [][3]int{{0, 3, 2}, {3, 0, 2}, {3, 2, 0}, {1, 1, 1}, {5, 17, 9}, {4, 33, 300}, {13, 64, 31}, {35, 100, 520}} {
		m, n, k := s[0], s[1], s[2]
		a, b, c := randomFloats(1, m*k), randomFloats(2, k*n), randomFloats(3, m*n)
		for _, packing := range backends() {
			var p *Packed
			withBackend(packing, func() { p = Pack(b, n, k) })
			for _, using := range backends() {
				withBackend(using, func() {
					want, got := append([]float32{}, c...), append([]float32{}, c...)
					Gemm(want, a, b, m, n, k)
					p.Gemm(got, a, m)
					require.Equal(t, want, got, "%v, packed with %s, used with %s", s, levelNames[packing], levelNames[using])
				})
			}
		}
	}
	require.PanicsWithValue(t, "simd: len(b) = 3, want 4", func() { Pack(make([]float32, 3), 2, 2) })
	require.PanicsWithValue(t, "simd: len(c) = 3, want 4", func() { Pack(make([]float32, 4), 2, 2).Gemm(make([]float32, 3), make([]float32, 4), 2) })
}

func TestNothingAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("pools allocate under the race detector")
	}
	w, p := logWeights(1, 640, 3), make([]float32, 640)
	total, u := make([]float64, 10), make([]float64, 10)
	idx, x, bits := make([]int32, 640), make([]int32, 640), make([]uint32, 640)
	sums, added, chosen, packed := make([]float64, 64), new(Changes), new(Choice), Pack(w[:100], 10, 10)
	fixed, short := Fix(w[:100], w[:10], 10, 10), make([]int16, 100)
	require.Zero(t, testing.AllocsPerRun(10, func() {
		Philox(bits, 1, 2, 3)
		Unit32(p, bits)
		Unit64(u, bits[:20])
		Weights(p, total, w, 64, 0)
		Pick(p[:64], total[0], 0.5)
		Categorical(idx[:10], w, 64, u)
		LogSumExp(total, w, 64)
		Softmax(p, w, 64)
		LogSoftmax(p, w, 64)
		ArgMax(idx[:10], w, 64)
		FlipThresholds(idx, w, x, 0.5, w[:1])
		Flip(x, x, idx, bits)
		FlipLogProb(x, x, idx)
		Dot(p, w)
		Axpy(1, p, w)
		Scale(1, p)
		Sum(p)
		SigmoidTo(p, p)
		Slope(p)
		Gemm(p[:100], p[100:200], w[:100], 10, 10, 10)
		Gumbel(p, bits)
		GumbelSoftmax(p, w, w, 64, 1)
		SoftmaxPull(p, w, w, 64, 1)
		Entropy(total, w, 64)
		SoftplusSum(w)
		added.Set(x[:10], nil, 10)
		added.Add(0, sums, p[:64], sums, w)
		chosen.Set(x[:30], 10)
		packed.AddChosen(p[:30], chosen)
		LogisticWords(short[:10], p[:10])
		fixed.Gemm(p[:100], short, 10)
		AddChosen64(sums, p[:64], 10, total, w[:100], chosen)
		GemmT(p[:100], p[100:200], w[:100], 10, 10, 10)
	}))
}
