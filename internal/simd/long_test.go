package simd

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLongRows compares the backends with the reference where one call is cut
// into several.
func TestLongRows(t *testing.T) {
	if raceEnabled {
		t.Skip("arithmetic of one goroutine: nothing for the race detector")
	}
	for _, n := range []int{4096, 4097, 8192, 16384, 20000, 70001, 200000} {
		in := newArena(n)
		in.fill(newRand(uint64(n)), n%2 == 0)
		in.f[1][n/2] = 30
		for i, v := range in.f[1] {
			if v != v || v > 1e9 {
				in.f[1][i] = 0 // keep the row drawable
			}
		}
		for name, run := range rowKernels(n) {
			t.Run(name, func(t *testing.T) { agree(t, in, n, run) })
		}
		for _, name := range []string{"Philox", "Unit32", "Unit64", "FlipThresholds", "Flip", "FlipLogProb", "SigmoidTo", "Slope",
			"Dot", "Axpy", "Scale", "Sum", "AddRows", "AddRows/narrow", "Torus/3", "Torus/50", "Torus/300"} {
			t.Run(name, func(t *testing.T) { agree(t, in, n, kernels[name]) })
		}
	}
}

func agree(t *testing.T, in *arena, n int, run func(a *arena, from, to int)) {
	want, got := newArena(n), newArena(n)
	want.take(in, n)
	withBackend(purego, func() { run(want, 0, n) })
	for _, b := range backends() {
		got.take(in, n)
		withBackend(b, func() { run(got, 0, n) })
		require.Empty(t, got.differs(want, n), "%s, length %d", levelNames[b], n)
	}
}

// TestPickAgrees draws at many heights from long and short rows of weights.
func TestPickAgrees(t *testing.T) {
	r := newRand(8)
	for _, n := range []int{1, 2, 15, 16, 17, 40, 127, 128, 129, 500, 5000, 40000} {
		p := make([]float32, n)
		total := 0.0
		for i := range p {
			if r.IntN(3) > 0 {
				p[i] = r.Float32()
			}
		}
		p[r.IntN(n)] = 1
		for i := 0; i < n; i += blockTerms {
			total += blockSum(p[i:min(i+blockTerms, n)])
		}
		for i := range 300 {
			u := r.Float64()
			switch i {
			case 0:
				u = 0
			case 1:
				u = 1 - 0x1p-53
			case 2:
				u = 1 // out of contract, same answer
			}
			var want int
			withBackend(purego, func() { want = Pick(p, total, u) })
			require.Positive(t, p[want])
			for _, b := range backends() {
				withBackend(b, func() { require.Equal(t, want, Pick(p, total, u), "%s, %d terms", levelNames[b], n) })
			}
		}
	}
}

// TestTailsOfLongRows: every length of what is left of a row after whole pieces, with and
// without a floor.
func TestTailsOfLongRows(t *testing.T) {
	r := newRand(5)
	for rest := range 40 {
		for _, n := range []int{scratchTerms + 1 + rest, 2*scratchTerms + 128 + rest} {
			w := make([]float32, n)
			for i := range w {
				w[i] = float32(10 * r.NormFloat64())
			}
			for _, floor := range []float32{0, 1e-9, 0.01} {
				want, got := make([]float32, n), make([]float32, n)
				sum, total := make([]float64, 1), make([]float64, 1)
				withBackend(purego, func() { Weights(want, sum, w, n, floor) })
				for _, b := range backends() {
					withBackend(b, func() { Weights(got, total, w, n, floor) })
					require.True(t, Same(want, got) && sum[0] == total[0], "%s: length %d, floor %v", levelNames[b], n, floor)
				}
			}
		}
	}
}
