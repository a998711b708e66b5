package layer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// refConv is the sum of the doc, tap by tap.
func refConv(c Conv, x, w, b []float64) []float64 {
	rows, d := max(1, c.Rows), max(1, c.Dilation)
	high, wide := c.Kernel, c.Kernel
	if c.Rows <= 1 {
		high = 1
	}
	shift := wide / 2
	if c.Causal {
		shift = wide - 1
	}
	var y []float64
	for ; len(x) > 0; x = x[rows*c.Cols*c.In:] {
		at := func(i, j, k int) float64 {
			if i < 0 || j < 0 || i >= rows || j >= c.Cols {
				return 0
			}
			return x[(i*c.Cols+j)*c.In+k]
		}
		for i := range rows {
			for j := range c.Cols {
				for o := range c.Out {
					s := 0.0
					if b != nil {
						s = b[o]
					}
					for a := range high {
						for e := range wide {
							for k := range c.In {
								s += w[((o*high+a)*wide+e)*c.In+k] * at(i+d*(a-high/2), j+d*(e-shift), k)
							}
						}
					}
					y = append(y, s)
				}
			}
		}
	}
	return y
}

var convolutions = []Conv{
	{Cols: 7, In: 3, Out: 4, Kernel: 3},
	{Rows: 1, Cols: 5, In: 2, Out: 1, Kernel: 5, Dilation: 2},
	{Cols: 9, In: 2, Out: 3, Kernel: 3, Dilation: 2, Causal: true},
	{Rows: 4, Cols: 5, In: 2, Out: 3, Kernel: 3},
	{Rows: 3, Cols: 3, In: 1, Out: 1, Kernel: 5},
	{Rows: 2, Cols: 2, In: 3, Out: 2, Kernel: 1},
}

func TestConv(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 0))
	const states = 2
	for i, c := range convolutions {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			g := c
			n := states * max(1, c.Rows) * c.Cols
			c.Weight = randoms(r, c.Out*c.Work())
			g.Weight = make([]float32, len(c.Weight))
			if i%2 == 0 {
				c.Bias, g.Bias = randoms(r, c.Out), make([]float32, c.Out)
			}
			x, s := randoms(r, n*c.In), randoms(r, n*c.Out)
			y, dx, windows, work := make([]float32, n*c.Out), make([]float32, len(x)), make([]float32, n*c.Work()), make([]float32, n*c.Out)
			exact.Steady(t, "Forward", func() { c.Forward(y, windows, x) })
			c.Backward(dx, g, s, windows, work)
			agree(t, y, s, [][]float32{x, c.Weight, c.Bias}, [][]float32{dx, g.Weight, g.Bias}, func(p [][]float64) []float64 {
				if c.Bias == nil {
					return refConv(c, p[0], p[1], nil)
				}
				return refConv(c, p[0], p[1], p[2])
			})
			// Without dx, windows are kept and gradients add up.
			c.Forward(y, windows, x)
			before := append([]float32(nil), g.Weight...)
			c.Backward(nil, g, s, windows, work)
			for k, v := range g.Weight {
				assert.InDelta(t, 2*float64(before[k]), float64(v), 1e-4)
			}
		})
	}
}

// A causal convolution does not look ahead; one that is not does.
func TestConvCausal(t *testing.T) {
	for _, causal := range []bool{true, false} {
		c := Conv{Cols: 4, In: 1, Out: 1, Kernel: 3, Causal: causal, Weight: []float32{1, 1, 1}}
		y, windows := make([]float32, 4), make([]float32, 12)
		c.Forward(y, windows, []float32{0, 0, 0, 1})
		assert.Equal(t, causal, y[2] == 0)
	}
}

func TestResidual(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 0))
	const states = 2
	zero := func(k int) []float32 { return make([]float32, k) }
	for _, grid := range [][2]int{{0, 6}, {3, 4}} {
		const in, mid = 3, 4
		a := Conv{Rows: grid[0], Cols: grid[1], In: in, Out: mid, Kernel: 3}
		b := Conv{Rows: grid[0], Cols: grid[1], In: mid, Out: in, Kernel: 3, Dilation: 2}
		block := Residual{Norm1: Norm{Width: in}, Norm2: Norm{Width: mid}, A: a, B: b, Activation: SiLU}
		grad := block
		block.A.Weight, block.A.Bias = randoms(r, mid*a.Work()), randoms(r, mid)
		block.B.Weight, block.B.Bias = randoms(r, in*b.Work()), randoms(r, in)
		block.Norm1.Gain, block.Norm2.Gain = randoms(r, in), randoms(r, mid)
		grad.A.Weight, grad.A.Bias, grad.B.Weight, grad.B.Bias = zero(mid*a.Work()), zero(mid), zero(in*b.Work()), zero(in)
		grad.Norm1.Gain, grad.Norm2.Gain = zero(in), zero(mid)
		n := states * max(1, grid[0]) * grid[1]
		x, c := randoms(r, n*in), randoms(r, n*in)
		y, dx := zero(n*in), zero(n*in)
		k := block.NewKept(states)
		exact.Steady(t, "Forward", func() { block.Forward(y, x, k) })
		block.Backward(dx, grad, c, k)
		agree(t, y, c,
			[][]float32{x, block.A.Weight, block.A.Bias, block.B.Weight, block.B.Bias, block.Norm1.Gain, block.Norm2.Gain},
			[][]float32{dx, grad.A.Weight, grad.A.Bias, grad.B.Weight, grad.B.Bias, grad.Norm1.Gain, grad.Norm2.Gain},
			func(p [][]float64) []float64 {
				h := refConv(a, refActivation(SiLU, refNorm(p[0], p[5], nil, in, false)), p[1], p[2])
				h = refConv(b, refActivation(SiLU, refNorm(h, p[6], nil, mid, false)), p[3], p[4])
				for i, v := range p[0] {
					h[i] += v
				}
				return h
			})
		again := append([]float32(nil), x...)
		block.Forward(again, again, k)
		assert.Equal(t, y, again, "in place")
	}
	one := Conv{Cols: 2, In: 1, Out: 1, Kernel: 1}
	for _, states := range []int{-1, math.MaxInt, math.MaxInt / 4} {
		want := fmt.Sprintf("layer: Residual: NewKept: states × rows × cols × taps × in = [%d 1 2 1 1 1], want a product of 0 … %d", states, check.MaxEntries)
		require.PanicsWithValue(t, want, func() { Residual{A: one, B: one}.NewKept(states) })
	}
	wide := Conv{Rows: 3, Cols: 2, In: 1, Out: math.MaxInt, Kernel: math.MaxInt}
	require.Panics(t, func() { Residual{A: wide, B: one}.NewKept(1) })
	wide.Kernel = 1
	require.Panics(t, func() { Residual{A: wide, B: one}.NewKept(1) })
	require.Panics(t, func() { Residual{A: Conv{Cols: 2, In: 1, Out: 1, Kernel: 1}}.Forward(nil, make([]float32, 3), nil) })
}
