package simd

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestExponential32 compares with float64 at every scale of the bits.
func TestExponential32(t *testing.T) {
	worst, worstGumbel := 0.0, 0.0
	check := func(b uint32) {
		v := (float64(b) + 0.5) * 0x1p-32
		want := -math.Log1p(-v)
		got := exponential32(b)
		worst = max(worst, ulps32(got, want))
		worstGumbel = max(worstGumbel, math.Abs(float64(-log32(got))+math.Log(want)))
	}
	for b := uint64(0); b < 1<<32; b += 4099 {
		check(uint32(b))
	}
	for s := range 32 {
		for d := uint32(0); d < 200; d++ {
			check(d << s)
			check(-(d << s) - 1)
			check(smallBits - 100 + d)
		}
	}
	t.Logf("exponential32: %.2f ulp, Gumbel %.3g", worst, worstGumbel)
	assert.Less(t, worst, 4.0)
	assert.Less(t, worstGumbel, 2e-6)
}

// TestGumbelTail: the chance of noise above −log(c) is 1 − e^−c, also far out.
func TestGumbelTail(t *testing.T) {
	const n = 1 << 22
	bits, g := make([]uint32, n), make([]float32, n)
	Philox(bits, 5, 6, 7)
	Gumbel(g, bits)
	for _, c := range []float64{1e-5, 1e-3, 0.1, 1, 3, 8} {
		bound := float32(-math.Log(c))
		count := 0.0
		for _, v := range g {
			if v > bound {
				count++
			}
		}
		mean := n * -math.Expm1(-c)
		sigma := math.Sqrt(mean * math.Exp(-c))
		// Normal bound at 1e-6; the counts are in the tens at least.
		assert.InDelta(t, mean, count, 5.2*sigma+8, "c = %v", c)
	}
}

// TestSoftmaxPull compares with a difference quotient.
func TestSoftmaxPull(t *testing.T) {
	const cols, temperature = 9, 0.6
	w, noise, d := randomFloats(1, cols), make([]float32, cols), randomFloats(3, cols)
	bits := make([]uint32, 64)
	Philox(bits, 1, 1, 1)
	Gumbel(noise, bits[:cols])
	y, grad := make([]float32, cols), make([]float32, cols)
	GumbelSoftmax(y, w, noise, cols, temperature)
	SoftmaxPull(grad, y, d, cols, 1/temperature)
	value := func(j int, h float64) float64 {
		total, sum := 0.0, 0.0
		for i := range w {
			z := float64(w[i]) + float64(noise[i])
			if i == j {
				z += h
			}
			e := math.Exp(z / temperature)
			total += e
			sum += e * float64(d[i])
		}
		return sum / total
	}
	for j := range w {
		const h = 1e-5
		assert.InDelta(t, (value(j, h)-value(j, -h))/(2*h), float64(grad[j]), 2e-6)
	}
	assert.Panics(t, func() { GumbelSoftmax(y, w, noise, cols, 0) })
	assert.Panics(t, func() { SoftmaxPull(grad[1:], y, d, cols, 1) })
}

func TestEntropy(t *testing.T) {
	for _, cols := range []int{1, 2, 16, 40, 500, 9000} {
		const rows = 3
		w := randomFloats(1, rows*cols)
		if cols > 2 {
			w[1], w[2] = -inf32, -inf32
		}
		h := make([]float64, rows)
		Entropy(h, w, cols)
		for r := range rows {
			z := 0.0
			for i := r * cols; i < (r+1)*cols; i++ {
				z += math.Exp(float64(w[i]))
			}
			want := 0.0
			for i := r * cols; i < (r+1)*cols; i++ {
				if p := math.Exp(float64(w[i])) / z; p > 0 {
					want -= p * math.Log(p)
				}
			}
			assert.InDelta(t, want, h[r], 1e-6*(1+want))
		}
	}
	h := make([]float64, 1)
	Entropy(h, []float32{0, nan32}, 2)
	assert.True(t, math.IsNaN(h[0]))
	Entropy(h, []float32{-inf32, -inf32}, 2)
	assert.True(t, math.IsNaN(h[0]))
}
