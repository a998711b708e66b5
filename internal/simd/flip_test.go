package simd

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
)

func TestFlipThresholds(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	h := []float32{0, 0, 2, 2, inf, inf, -inf, nan, 1e6, -1e6, 1e-40, 400, 400}
	x := []int32{0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1}
	got := make([]int32, len(h))
	FlipThresholds(got, h, x, 0.5, []float32{0})
	for i, hi := range h {
		delta := float64(hi)
		if x[i] == 1 {
			delta = -delta
		}
		switch {
		case delta != delta:
			assert.Equal(t, int32(-1), got[i])
		case math.IsInf(delta, 1):
			assert.Equal(t, int32(0), got[i])
		default:
			p := 1 / (1 + math.Exp(0.5*delta))
			want := math.Min(math.Max(math.Floor(p*(1<<31)), 1), 1<<31-128)
			assert.InDelta(t, want, float64(got[i]), 1+3.5*0x1p-23*want, "site %d", i)
		}
	}
	// One coefficient per site equals one for all.
	c := make([]float32, len(h))
	for i := range c {
		c[i] = 2.5
	}
	one, each := make([]int32, len(h)), make([]int32, len(h))
	FlipThresholds(one, h, x, 0.5, c[:1])
	FlipThresholds(each, h, x, 0.5, c)
	assert.Equal(t, one, each)
	c[0] = inf // frozen
	FlipThresholds(each, h, x, 0.5, c)
	assert.Equal(t, int32(0), each[0])
	c[0] = nan
	FlipThresholds(each, h, x, 0.5, c)
	assert.Equal(t, int32(-1), each[0])
	assert.PanicsWithValue(t, "simd: len(c) = 2, want 1 or 13", func() { FlipThresholds(got, h, x, 1, c[:2]) })
	assert.Panics(t, func() { FlipThresholds(got[1:], h, x, 1, c[:1]) })
	assert.Panics(t, func() { FlipThresholds(got, h, x[1:], 1, c[:1]) })
}

// TestFlipExact walks all boundary bits of a threshold: the probability is
// exactly t/2³¹.
func TestFlipExact(t *testing.T) {
	for _, th := range []int32{0, 1, 2, 77, 1 << 30, 1<<31 - 128} {
		for _, b := range []int64{0, 1, 2, 3, 2*int64(th) - 1, 2 * int64(th), 2*int64(th) + 1, 1<<32 - 1} {
			if b < 0 || b >= 1<<32 {
				continue
			}
			y := []int32{0}
			moved, logq := Flip(y, []int32{1}, []int32{th}, []uint32{uint32(b)})
			if b < 2*int64(th) {
				assert.Equal(t, int32(0), y[0])
				assert.Equal(t, 1, moved)
				assert.InDelta(t, math.Log(float64(th))-31*math.Ln2, logq, 1e-14)
			} else {
				assert.Equal(t, int32(1), y[0])
				assert.Equal(t, 0, moved)
				assert.InDelta(t, math.Log1p(-float64(th)/(1<<31)), logq, 1e-14)
			}
		}
	}
}

func TestFlipLogProb(t *testing.T) {
	r := newRand(3)
	for _, n := range []int{0, 1, 2, 15, 16, 17, 100, 511, 512, 513, 5000, 100000} {
		th, x, y := make([]int32, n), make([]int32, n), make([]int32, n)
		bits := make([]uint32, n)
		for i := range th {
			th[i] = max(1, int32(math.Ldexp(float64(r.Int32()), -r.IntN(31))))
			if i%3 == 0 {
				th[i] = math.MaxInt32 - 127
			}
			x[i] = r.Int32N(2)
			bits[i] = r.Uint32()
		}
		moved, logq := Flip(y, x, th, bits)
		diff, terms := 0, make([]float64, n)
		for i := range th {
			if x[i] != y[i] {
				terms[i] = math.Log(float64(th[i]) / (1 << 31))
				diff++
			} else {
				terms[i] = math.Log1p(-float64(th[i]) / (1 << 31))
			}
		}
		want := floats.SumCompensated(terms)
		assert.Equal(t, diff, moved)
		assert.InDelta(t, want, logq, 1e-15*(float64(n)+math.Abs(want)))
		assert.Equal(t, logq, FlipLogProb(x, y, th), "one number, forward or not")
		inPlace := append([]int32{}, x...)
		_, again := Flip(inPlace, inPlace, th, bits)
		assert.Equal(t, y, inPlace)
		assert.Equal(t, logq, again)
		if n == 0 {
			assert.Zero(t, logq)
			continue
		}
		i := r.IntN(n)
		th[i], y[i] = 0, 1-x[i]
		assert.Equal(t, math.Inf(-1), FlipLogProb(x, y, th), "impossible")
		y[i] = x[i]
		assert.False(t, math.IsInf(FlipLogProb(x, y, th), 0), "staying is certain")
		th[i] = -1
		assert.True(t, math.IsNaN(FlipLogProb(x, y, th)))
		_, nan := Flip(y, x, th, bits)
		assert.True(t, math.IsNaN(nan))
		assert.Equal(t, x[i], y[i])
	}
	require.Panics(t, func() { Flip(nil, nil, make([]int32, 1), nil) })
	require.Panics(t, func() { FlipLogProb(nil, nil, make([]int32, 1)) })
}
