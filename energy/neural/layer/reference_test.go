package layer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The references are forward passes in float64, written from the formulas and
// sharing nothing with the package.

func randoms(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// farthest returns max |got − want| over max |want|.
func farthest(got []float32, want []float64) float64 {
	far, size := 0.0, 0.0
	for i, w := range want {
		far = max(far, math.Abs(float64(got[i])-w))
		size = max(size, math.Abs(w))
	}
	return far / size
}

// differences returns ∂f/∂x by central differences of fourth order.
func differences(f func() float64, x []float64) []float64 {
	g := make([]float64, len(x))
	const h = 1e-3
	for i, v := range x {
		at := func(d float64) float64 { x[i] = v + d; return f() }
		g[i] = (8*(at(h)-at(-h)) - (at(2*h) - at(-2*h))) / (12 * h)
		x[i] = v
	}
	return g
}

// The gradients of a network may be wrong by 1e-5 of their largest entry; sums
// of float32 at these sizes stay within a tenth of it.
const gradientError = 1e-5

// agree compares a result with its reference, and the gradients of Σ c·y with
// respect to every argument with differences of the reference.
func agree(t *testing.T, y, c []float32, args, grads [][]float32, reference func(p [][]float64) []float64) {
	t.Helper()
	p := make([][]float64, len(args))
	for i, a := range args {
		p[i] = wide(a)
	}
	require.LessOrEqual(t, farthest(y, reference(p)), gradientError, "forward")
	loss := func() float64 {
		s := 0.0
		for i, v := range reference(p) {
			s += v * float64(c[i])
		}
		return s
	}
	for i := range args {
		if grads[i] == nil {
			continue
		}
		require.LessOrEqual(t, farthest(grads[i], differences(loss, p[i])), gradientError, fmt.Sprintf("argument %d", i))
	}
}

func refLinear(x, w, b []float64, in, out int) []float64 {
	var y []float64
	for ; len(x) > 0; x = x[in:] {
		for o := range out {
			s := 0.0
			if b != nil {
				s = b[o]
			}
			for i, v := range x[:in] {
				s += v * w[o*in+i]
			}
			y = append(y, s)
		}
	}
	return y
}

func refNorm(x, gain, bias []float64, n int, rms bool) []float64 {
	var y []float64
	for ; len(x) > 0; x = x[n:] {
		m, s := 0.0, 0.0
		for _, v := range x[:n] {
			if !rms {
				m += v / float64(n)
			}
		}
		for _, v := range x[:n] {
			s += (v - m) * (v - m) / float64(n)
		}
		for i, v := range x[:n] {
			v = (v - m) / math.Sqrt(s+1e-5)
			if gain != nil {
				v *= gain[i]
			}
			if bias != nil {
				v += bias[i]
			}
			y = append(y, v)
		}
	}
	return y
}

func refActivation(a Activation, x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		if a == GELU {
			y[i] = v / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v)))
		} else {
			y[i] = v / (1 + math.Exp(-v))
		}
	}
	return y
}

func refAttention(a Attention, qkv []float64) []float64 {
	dim := a.Width / a.Heads
	y := make([]float64, a.Length*a.Width)
	for h := range a.Heads {
		// part returns entry j of the queries (0), keys (1) or values (2) of position t.
		part := func(which, t, j int) float64 {
			at := func(j int) float64 { return qkv[t*3*a.Width+which*a.Width+h*dim+j] }
			if a.Rotary == nil || which == 2 {
				return at(j)
			}
			angle := float64(t) / math.Pow(10000, float64(2*(j%(dim/2)))/float64(dim))
			if j < dim/2 {
				return at(j)*math.Cos(angle) - at(j+dim/2)*math.Sin(angle)
			}
			return at(j)*math.Cos(angle) + at(j-dim/2)*math.Sin(angle)
		}
		for t := range a.Length {
			var w []float64
			for u := range a.Length {
				s := 0.0
				for j := range dim {
					s += part(0, t, j) * part(1, u, j)
				}
				if a.Block > 0 && u/a.Block > t/a.Block {
					s = math.Inf(-1)
				}
				w = append(w, s/math.Sqrt(float64(dim)))
			}
			top, sum := slices.Max(w), 0.0
			for u := range w {
				w[u] = math.Exp(w[u] - top)
				sum += w[u]
			}
			for u := range w {
				for j := range dim {
					y[t*a.Width+h*dim+j] += w[u] / sum * part(2, u, j)
				}
			}
		}
	}
	return y
}
