package layer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
)

func TestLinear(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	for _, s := range [][3]int{{5, 3, 4}, {20, 33, 7}, {1, 1, 1}} {
		rows, in, out := s[0], s[1], s[2]
		for _, bias := range []bool{false, true} {
			x, c := randoms(r, rows*in), randoms(r, rows*out)
			l := Linear{In: in, Out: out, Weight: randoms(r, in*out)}
			g := Linear{In: in, Out: out, Weight: make([]float32, in*out)}
			if bias {
				l.Bias, g.Bias = randoms(r, out), make([]float32, out)
			}
			y, dx, work := make([]float32, rows*out), make([]float32, len(x)), make([]float32, rows*out)
			exact.Steady(t, "Forward", func() { l.Forward(y, x) })
			l.Backward(dx, g, c, x, work)
			agree(t, y, c, [][]float32{x, l.Weight, l.Bias}, [][]float32{dx, g.Weight, g.Bias},
				func(p [][]float64) []float64 {
					if !bias {
						return refLinear(p[0], p[1], nil, in, out)
					}
					return refLinear(p[0], p[1], p[2], in, out)
				})
			before := append([]float32(nil), g.Weight...)
			l.Backward(nil, g, c, x, work)
			for i, v := range g.Weight {
				assert.InDelta(t, 2*float64(before[i]), float64(v), 1e-5*float64(rows), "gradients add up")
			}
		}
	}
}

func TestEmbedding(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 0))
	e := Embedding{Levels: 4, Width: 3, Weight: randoms(r, 12)}
	g := Embedding{Levels: 4, Width: 3, Weight: make([]float32, 12)}
	x := []int32{2, 0, 2, 3}
	y, c := make([]float32, 12), randoms(r, 12)
	e.Forward(y, x)
	e.Backward(g, c, x)
	agree(t, y, c, [][]float32{e.Weight}, [][]float32{g.Weight}, func(p [][]float64) []float64 {
		var y []float64
		for _, l := range x {
			y = append(y, p[0][3*l:3*l+3]...)
		}
		return y
	})
}

func TestNorm(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 0))
	const rows, n = 4, 9
	for k := range 8 {
		rms, gain, bias := k&1 > 0, k&2 > 0, k&4 > 0
		l, g := Norm{Width: n, RMS: rms}, Norm{Width: n}
		if gain {
			l.Gain, g.Gain = randoms(r, n), make([]float32, n)
		}
		if bias {
			l.Bias, g.Bias = randoms(r, n), make([]float32, n)
		}
		x, c := randoms(r, rows*n), randoms(r, rows*n)
		y, hat, scale, dx := make([]float32, rows*n), make([]float32, rows*n), make([]float32, rows), make([]float32, rows*n)
		exact.Steady(t, "Forward", func() { l.Forward(y, hat, scale, x) })
		l.Backward(dx, g, append([]float32(nil), c...), hat, scale)
		agree(t, y, c, [][]float32{x, l.Gain, l.Bias}, [][]float32{dx, g.Gain, g.Bias}, func(p [][]float64) []float64 {
			w, b := p[1], p[2]
			if !gain {
				w = nil
			}
			if !bias {
				b = nil
			}
			return refNorm(p[0], w, b, n, rms)
		})
	}
	// A large mean, which a sum of squares would lose, and a chosen ε.
	x := []float32{10000, 10001, 10002}
	y, hat, scale := make([]float32, 3), make([]float32, 3), make([]float32, 1)
	Norm{Width: 3, Epsilon: 1e-9}.Forward(y, hat, scale, x)
	require.LessOrEqual(t, farthest(y, []float64{-math.Sqrt(1.5), 0, math.Sqrt(1.5)}), 1e-6)
}

func TestActivations(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 0))
	for _, a := range []Activation{GELU, SiLU} {
		x, c := randoms(r, chunk+77), randoms(r, chunk+77)
		x[0], x[1], x[2] = 0, 30, -30
		y := make([]float32, len(x))
		exact.Steady(t, "Forward", func() { a.Forward(y, x) })
		d := append([]float32(nil), c...)
		a.Backward(d, x)
		p := wide(x)
		require.LessOrEqual(t, farthest(y, refActivation(a, p)), 1e-6)
		for i := range x { // entry by entry: the function is one of single entries
			one := p[i : i+1]
			want := differences(func() float64 { return float64(c[i]) * refActivation(a, one)[0] }, one)
			assert.InDelta(t, want[0], float64(d[i]), gradientError*max(1, math.Abs(want[0])), "%v at %v", a, x[i])
		}
	}
	assert.Equal(t, "GELU SiLU Activation(7)", GELU.String()+" "+SiLU.String()+" "+Activation(7).String())
	text, err := SiLU.MarshalText()
	require.NoError(t, err)
	var back Activation
	require.NoError(t, back.UnmarshalText(text))
	assert.Equal(t, SiLU, back)
}

func TestMLP(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 0))
	const rows, n, wider = 6, 4, 10
	for _, a := range []Activation{GELU, SiLU} {
		m := MLP{Linear{n, wider, randoms(r, n*wider), randoms(r, wider)}, Linear{wider, n, randoms(r, n*wider), randoms(r, n)}, a}
		zero := func(k int) []float32 { return make([]float32, k) }
		g := MLP{Linear{n, wider, zero(n * wider), zero(wider)}, Linear{wider, n, zero(n * wider), zero(n)}, a}
		x, c, y, dx := randoms(r, rows*n), randoms(r, rows*n), zero(rows*n), zero(rows*n)
		pre, act, dact, work := zero(rows*wider), zero(rows*wider), zero(rows*wider), zero(rows*wider)
		m.Forward(y, pre, act, x)
		m.Backward(dx, g, c, x, pre, act, dact, work)
		agree(t, y, c, [][]float32{x, m.Up.Weight, m.Up.Bias, m.Down.Weight, m.Down.Bias},
			[][]float32{dx, g.Up.Weight, g.Up.Bias, g.Down.Weight, g.Down.Bias}, func(p [][]float64) []float64 {
				return refLinear(refActivation(a, refLinear(p[0], p[1], p[2], n, wider)), p[3], p[4], wider, n)
			})
		again := zero(rows * n)
		m.Forward(again, pre, pre, x)
		assert.Equal(t, y, again, "in place")
	}
}

func TestAttention(t *testing.T) {
	exact.SkipRepeated(t)
	r := rand.New(rand.NewPCG(6, 0))
	for _, a := range []Attention{
		{Length: 5, Width: 8, Heads: 2},
		{Length: 5, Width: 8, Heads: 2, Block: 1},
		{Length: 7, Width: 6, Heads: 3, Block: 3, Rotary: NewRotary(9, 2, 0)},
		{Length: 20, Width: 16, Heads: 1, Rotary: NewRotary(20, 16, 0)},
		{Length: 1, Width: 2, Heads: 1, Rotary: NewRotary(1, 2, 0)},
	} {
		x, c := randoms(r, a.Length*3*a.Width), randoms(r, a.Length*a.Width)
		o, dx := make([]float32, len(c)), make([]float32, len(x))
		f, b := a.Work()
		probs := make([]float32, a.Heads*a.Length*a.Length)
		a.Forward(o, probs, x, make([]float32, f))
		a.Backward(dx, c, probs, x, make([]float32, b))
		grads := [][]float32{dx}
		if a.Length == 1 {
			grads[0] = nil // one position: queries and keys have no gradient
		}
		agree(t, o, c, [][]float32{x}, grads, func(p [][]float64) []float64 { return refAttention(a, p[0]) })

		short, again, work := probs[:a.Length*a.Length], make([]float32, len(o)), make([]float32, f)
		exact.Steady(t, "Forward", func() { a.Forward(again, short, x, work) })
		assert.Equal(t, o, again, "with space for one head")
	}
}

func TestModulation(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 0))
	const rows, n = 3, 5
	h, shift, scale, c := randoms(r, rows*n), randoms(r, n), randoms(r, n), randoms(r, rows*n)
	y := make([]float32, rows*n)
	Modulate(y, h, shift, scale)
	ds, dc, dh := make([]float32, n), make([]float32, n), append([]float32(nil), c...)
	ModulateBack(ds, dc, dh, h, scale)
	agree(t, y, c, [][]float32{h, shift, scale}, [][]float32{dh, ds, dc}, func(p [][]float64) []float64 {
		var y []float64
		for i, v := range p[0] {
			y = append(y, v*(1+p[2][i%n])+p[1][i%n])
		}
		return y
	})

	x, f, gate := randoms(r, rows*n), randoms(r, rows*n), randoms(r, n)
	copy(y, x)
	Gate(y, f, gate)
	df, dg := make([]float32, rows*n), make([]float32, n)
	GateBack(df, dg, c, f, gate)
	agree(t, y, c, [][]float32{x, f, gate}, [][]float32{c, df, dg}, func(p [][]float64) []float64 {
		var y []float64
		for i, v := range p[0] {
			y = append(y, v+p[1][i]*p[2][i%n])
		}
		return y
	})
	copy(y, x)
	Gate(y, f, nil)
	for i := range y {
		assert.Equal(t, x[i]+f[i], y[i])
	}
	GateBack(df, nil, c, f, nil)
	assert.Equal(t, c, df)
}

func TestSinusoid(t *testing.T) {
	d := []float32{9, 9, 9, 9, 9, 9, 9}
	Sinusoid(d, 2.5)
	want := []float64{math.Cos(2.5), math.Cos(2.5 * math.Pow(10000, -1./3)), math.Cos(2.5 * math.Pow(10000, -2./3)),
		math.Sin(2.5), math.Sin(2.5 * math.Pow(10000, -1./3)), math.Sin(2.5 * math.Pow(10000, -2./3)), 0}
	require.LessOrEqual(t, farthest(d, want), 1e-6)
}

func TestLosses(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 0))
	const rows, n = 4, 5
	w, target, weight := randoms(r, rows*n), []int32{4, 0, 2, 2}, []float64{1, 0, 0.5, 3}
	w[2] = float32(math.Inf(-1)) // a level that cannot be
	w[n] = float32(math.NaN())   // in a row that nobody reads
	d := make([]float32, rows*n)
	loss := CrossEntropy(d, w, target, weight, n)
	p := wide(w)
	reference := func() float64 {
		s := 0.0
		for r, k := range target {
			if weight[r] == 0 {
				continue
			}
			z := 0.0
			for _, v := range p[r*n : (r+1)*n] {
				z += math.Exp(v)
			}
			s += weight[r] * (math.Log(z) - p[r*n+int(k)])
		}
		return s
	}
	assert.InEpsilon(t, reference(), loss, 1e-6)
	p[n] = 0
	g := differences(reference, p)
	g[2] = 0 // −Inf has no difference
	assert.LessOrEqual(t, farthest(d, g), gradientError)
	weight[1] = 1
	assert.True(t, math.IsNaN(CrossEntropy(d, w, target, weight, n)))

	y, want := randoms(r, rows*n), randoms(r, rows*n)
	loss = SquaredError(d, y, want, weight, n)
	p, q := wide(y), wide(want)
	square := func() float64 {
		s := 0.0
		for i := range p {
			s += weight[i/n] * (p[i] - q[i]) * (p[i] - q[i])
		}
		return s
	}
	assert.InEpsilon(t, square(), loss, 1e-6)
	assert.LessOrEqual(t, farthest(d, differences(square, p)), gradientError)
}

// A gradient that forgets a term must fail the check.
func TestTheGradientCheckCanFail(t *testing.T) {
	x := []float32{0.5, -1, 2}
	p := wide(x)
	want := differences(func() float64 { return refNorm(p, nil, nil, 3, false)[0] }, p)
	hat, scale, dx := make([]float32, 3), make([]float32, 1), make([]float32, 3)
	n := Norm{Width: 3}
	n.Forward(hat, hat, scale, x)
	n.RMS = true // forgets the mean
	n.Backward(dx, Norm{}, []float32{1, 0, 0}, hat, scale)
	assert.Greater(t, farthest(dx, want), 1e-2)
}

func TestLengths(t *testing.T) {
	l := Linear{In: 2, Out: 3, Weight: make([]float32, 6)}
	assert.PanicsWithValue(t, "layer: len(y) = 7, want 6", func() { l.Forward(make([]float32, 7), make([]float32, 4)) })
	assert.PanicsWithValue(t, "layer: len(x) = 5, want a multiple of 2", func() { l.Forward(nil, make([]float32, 5)) })

	s, target, w := make([]float32, 8), []int32{0, 1, 2, 4}, make([]float64, 4)
	w[3] = 1
	for want, f := range map[string]func(){
		"layer: target[3] = 4, want 0 … 1":                                       func() { CrossEntropy(s, s, target, w, 2) },
		fmt.Sprintf("layer: 4 rows of %d entries, want len(w) = 0", math.MinInt): func() { CrossEntropy(nil, nil, target, w, math.MinInt) },
		fmt.Sprintf("layer: 4 rows of %d entries, want len(w) = 0", math.MaxInt): func() { CrossEntropy(nil, nil, target, w, math.MaxInt) },
		fmt.Sprintf("layer: 4 rows of %d entries, want len(y) = 0", math.MinInt): func() { SquaredError(nil, nil, nil, w, math.MinInt) },
		"layer: len(probs) = 1, want 2 × 2² or 2²": func() {
			Attention{Length: 2, Width: 4, Heads: 2}.Forward(s, s[:1], make([]float32, 24), make([]float32, 16))
		},
		"layer: len(tmp) = 1, want ≥ 16": func() { Attention{Length: 2, Width: 4, Heads: 2}.Forward(s, s, make([]float32, 24), s[:1]) },
		"layer: len(tmp) = 8, want ≥ 36": func() {
			Attention{Length: 2, Width: 4, Heads: 2}.Backward(make([]float32, 24), s, s, make([]float32, 24), s)
		},
		"layer: Attention: Rotary has 0 angles for heads of 0 entries, want ≥ 2 for 2": func() {
			Attention{Length: 2, Width: 4, Heads: 2, Rotary: &Rotary{}}.Forward(s, s, make([]float32, 24), make([]float32, 16))
		},
	} {
		assert.PanicsWithValue(t, want, f)
	}
	for _, a := range []Attention{{Length: math.MaxInt, Heads: 1}, {Length: 1 << 16, Width: math.MaxInt &^ (1<<16 - 1), Heads: 1}, {Heads: math.MaxInt}} {
		assert.Panics(t, func() { a.Forward(nil, nil, nil, nil) })
	}
}
