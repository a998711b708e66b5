package simd

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func init() {
	kernels["Polar"] = func(a *arena, from, to int) {
		r := a.d[0][from:to]
		for i := range r {
			r[i] = float64(a.u[from+i]|1) * 0x1p-32
		}
		Polar(r)
	}
}

func TestPolar(t *testing.T) {
	r := newRand(6)
	for _, n := range []int{1, 15, 16, 33, 10000} {
		x, want := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i] = r.Float64()
			switch i % 5 {
			case 1:
				x[i] = math.Nextafter(1, 0)
			case 2:
				x[i] = 0x1p-64 * (1 + x[i])
			case 3:
				x[i] = math.Sqrt(0.5) + float64(i-n/2)*0x1p-53
			case 4:
				x[i] = 0x1p-1000 * (1 + x[i])
			}
			want[i] = math.Sqrt(-2 * math.Log(x[i]) / x[i])
		}
		Polar(x)
		for i := range x {
			require.InEpsilon(t, want[i], x[i], 1e-15)
		}
	}
	Polar(nil)
}

func BenchmarkPolar(b *testing.B) {
	from, x := make([]float64, 32), make([]float64, 32)
	r := newRand(7)
	for i := range from {
		from[i] = r.Float64()
	}
	onEach(b, "", func(b *testing.B) {
		for b.Loop() {
			copy(x, from)
			Polar(x)
		}
		perElement(b, len(x), 8)
	})
}
