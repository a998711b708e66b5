package model_test

import (
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var (
	_ energy.Differentiable = (*model.RBM)(nil)
	_ energy.Binary         = (*model.RBM)(nil)
	_ energy.Conditional    = (*model.RBM)(nil)
	_ energy.Bipartite      = (*model.RBM)(nil)
)

// machine is an RBM written down plainly.
type machine struct{ w, bh, bv []float32 }

// drawMachine draws weights and biases that are multiples of unit.
func drawMachine(t *rapid.T, unit float32) machine {
	number := rapid.Custom(func(t *rapid.T) float32 { return unit * float32(rapid.IntRange(-12, 12).Draw(t, "k")) })
	draw := func(n int, name string) []float32 { return rapid.SliceOfN(number, n, n).Draw(t, name) }
	visible, hidden := rapid.IntRange(1, 5).Draw(t, "visible"), rapid.IntRange(1, 5).Draw(t, "hidden")
	return machine{draw(visible*hidden, "W"), draw(hidden, "bh"), draw(visible, "bv")}
}

// joint returns the energy of visible and hidden units together.
func (m machine) joint(v, h []int32) float64 {
	e := 0.0
	for i, b := range m.bv {
		e -= float64(b) * float64(v[i])
	}
	for j, b := range m.bh {
		e -= float64(b) * float64(h[j])
		for i := range v {
			e -= float64(h[j]) * float64(m.w[j*len(v)+i]) * float64(v[i])
		}
	}
	return e
}

// marginal returns −log Σ_h e^{−E(v,h)}.
func (m machine) marginal(v []int32) float64 {
	low := math.Inf(1)
	var all []float64
	for _, h := range exact.States(len(m.bh), 2) {
		all = append(all, m.joint(v, h))
		low = min(low, all[len(all)-1])
	}
	sum := 0.0
	for _, e := range all {
		sum += math.Exp(low - e)
	}
	return low - math.Log(sum)
}

// activation returns b_j + Σ_i W_ji v_i and how far a float32 sum may be from
// it: visible+1 roundings of the sum of absolute values, with a factor 2 for
// higher orders.
func (m machine) activation(j int, v []int32) (a, slack float64) {
	a = float64(m.bh[j])
	slack = math.Abs(a)
	for i, x := range v {
		w := float64(m.w[j*len(v)+i]) * float64(x)
		a += w
		slack += math.Abs(w)
	}
	return a, slack * 0x1p-23 * float64(len(v)+1)
}

// With weights in eighths the activations have no rounding, and energies must
// be right to float64.
func TestRBMByEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawMachine(t, 0.125)
		m, err := model.NewRBM(want.w, want.bh, want.bv)
		require.NoError(t, err)
		(&exact.Checker{Model: m, Brute: want.marginal, FirstOrder: true}).Run(t)
	})
}

func TestRBMFirstOrderField(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawMachine(t, rapid.SampledFrom([]float32{0.125, 0.1, math.Pi, 40}).Draw(t, "unit"))
		m, err := model.NewRBM(want.w, want.bh, want.bv)
		require.NoError(t, err)
		n := len(want.bv)
		e, h, g := make([]float64, 1), make([]float32, n), make([]float32, 2*n)
		for _, v := range exact.States(n, 2) {
			m.Field(e, h, v)
			m.Gradient(e, g, v)
			for i, b := range want.bv {
				field, size, slack := -float64(b), math.Abs(float64(b)), 0.0
				for j := range want.bh {
					a, off := want.activation(j, v)
					w := float64(want.w[j*n+i])
					field -= w / (1 + math.Exp(-a))
					size += math.Abs(w)
					// σ has slope ≤ ¼, and simd.SigmoidTo is right to 3.5 ulp
					// or to the cut-off e^−87.
					slack += math.Abs(w) * (off/4 + 4*0x1p-23)
				}
				slack += size * 0x1p-23 * float64(len(want.bh)+1)
				require.InDelta(t, field, h[i], slack)
				require.Equal(t, float32(1-2*v[i])*h[i], g[2*i+int(1-v[i])])
				require.Zero(t, g[2*i+int(v[i])])
			}
		}
	})
}

// With weights that float32 sums do round, energies stay within the bound that
// the rounding of activations implies (log(1+e^a) has slope ≤ 1).
func TestRBMRounding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawMachine(t, rapid.SampledFrom([]float32{0.1, math.Pi, 1e6}).Draw(t, "unit"))
		m, err := model.NewRBM(want.w, want.bh, want.bv)
		require.NoError(t, err)
		n := len(want.bv)
		e, d := make([]float64, 1), make([]float64, 2)
		for _, v := range exact.States(n, 2) {
			slack := 0.0
			for j := range want.bh {
				_, off := want.activation(j, v)
				slack += off
			}
			m.Energy(e, v)
			b := want.marginal(v)
			require.InDelta(t, b, e[0], slack+0x1p-44*(math.Abs(b)+1))
			own := e[0]
			for i := range v {
				y := append([]int32(nil), v...)
				y[i] = 1 - v[i]
				m.Energy(e, y)
				m.Conditional(d, i, v)
				require.Equal(t, e[0]-own, d[y[i]], "Conditional is not the difference of energies")
				require.Zero(t, d[v[i]])
			}
		}
	})
}

func TestRBMBipartite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawMachine(t, 0.125)
		m, err := model.NewRBM(want.w, want.bh, want.bv)
		require.NoError(t, err)
		visible, hidden := len(want.bv), len(want.bh)
		require.Equal(t, hidden, m.Hidden())
		odds := func(energy func(bit int32) float64) float32 { return float32(energy(0) - energy(1)) }
		fh, fv := make([]float32, hidden), make([]float32, visible)
		for _, v := range exact.States(visible, 2) {
			for _, h := range exact.States(hidden, 2) {
				m.HiddenField(fh, v)
				for j := range h {
					g := append([]int32(nil), h...)
					require.Equal(t, odds(func(b int32) float64 { g[j] = b; return want.joint(v, g) }), fh[j])
				}
				m.VisibleField(fv, h)
				for i := range v {
					u := append([]int32(nil), v...)
					require.Equal(t, odds(func(b int32) float64 { u[i] = b; return want.joint(u, h) }), fv[i])
				}
			}
		}
	})
}

// bigMachine is larger than a tile of states and than a batch of logarithms.
func bigMachine(visible, hidden int) machine {
	m := machine{make([]float32, visible*hidden), make([]float32, hidden), make([]float32, visible)}
	for k := range m.w {
		m.w[k] = float32(k*k%101)/100 - 0.5
	}
	for j := range m.bh {
		m.bh[j] = float32(j%7) - 3
	}
	return m
}

func TestRBMInTiles(t *testing.T) {
	const visible, hidden, chains = 13, 1203, 300
	want := bigMachine(visible, hidden)
	m, err := model.NewRBM(want.w, want.bh, want.bv)
	require.NoError(t, err)
	x := make([]int32, chains*visible)
	fill(x, 2)
	e, h, f := make([]float64, chains), make([]float32, len(x)), make([]float32, chains*hidden)
	m.Field(e, h, x)
	m.HiddenField(f, x)
	one, h1, f1 := make([]float64, 1), make([]float32, visible), make([]float32, hidden)
	for s := range e {
		v := x[s*visible : (s+1)*visible]
		m.Field(one, h1, v)
		m.HiddenField(f1, v)
		require.Equal(t, one[0], e[s])
		require.Equal(t, h1, h[s*visible:(s+1)*visible])
		require.Equal(t, f1, f[s*hidden:(s+1)*hidden])
		sum, slack := 0.0, 0.0
		for j := range want.bh {
			a, off := want.activation(j, v)
			sum -= math.Max(a, 0) + math.Log1p(math.Exp(-math.Abs(a)))
			slack += off
		}
		require.InDelta(t, sum, e[s], slack)
	}
}

func TestRBMRefuses(t *testing.T) {
	two, nan := []float32{0, 0}, float32(math.NaN())
	for _, c := range []struct {
		w, bh, bv []float32
		want      string
	}{
		{nil, nil, two, "len(bh) = 0 and len(bv) = 2, want both ≥ 1"},
		{nil, two, nil, "len(bh) = 2 and len(bv) = 0, want both ≥ 1"},
		{two, two, two, "len(w) = 2, want len(bh)·len(bv) = 4"},
		{[]float32{0, 0, 0, 0, 0}, two, two, "len(w) = 5, want len(bh)·len(bv) = 4"},
		{[]float32{0, 0, nan, 0}, two, two, "w[2] = NaN, want a finite number"},
		{make([]float32, 4), []float32{0, nan}, two, "bh[1] = NaN, want a finite number"},
		{make([]float32, 4), two, []float32{float32(math.Inf(1)), 0}, "bv[0] = +Inf, want a finite number"},
		{[]float32{1e38, 1e38, 0, 0}, two, two, "the weights of hidden unit 0 add up to 1.9999999360571385e+38, want ≤ 1.7014117331926443e+38"},
		{[]float32{1e38, 0, 1e38, 0}, two, two, "the weights of visible unit 0 add up to 1.9999999360571385e+38, want ≤ 1.7014117331926443e+38"},
	} {
		_, err := model.NewRBM(c.w, c.bh, c.bv)
		require.EqualError(t, err, "model: NewRBM: "+c.want)
	}
}

// Fields of 1e6 and more give finite numbers everywhere.
func TestRBMHugeWeights(t *testing.T) {
	m, err := model.NewRBM([]float32{1e7, -1e7, 3e37, -3e37}, []float32{-1e6, 1e6}, []float32{1e6, -1e6})
	require.NoError(t, err)
	x := []int32{0, 0, 1, 0, 0, 1, 1, 1}
	e, h := make([]float64, 4), make([]float32, 8)
	m.Field(e, h, x)
	for _, v := range e {
		require.False(t, math.IsNaN(v) || math.IsInf(v, 0))
	}
	for _, v := range h {
		require.False(t, math.IsNaN(float64(v)) || math.IsInf(float64(v), 0))
	}
}

func TestRBMPanics(t *testing.T) {
	m, err := model.NewRBM(make([]float32, 6), make([]float32, 2), make([]float32, 3))
	require.NoError(t, err)
	e, g, x, d := make([]float64, 1), make([]float32, 6), make([]int32, 3), make([]float64, 2)
	for want, f := range map[string]func(){
		"model: len(x) = 2, want a multiple of 3": func() { m.Energy(e, x[:2]) },
		"model: len(e) = 0, want 1":               func() { m.Energy(nil, x) },
		"model: len(g) = 5, want 6":               func() { m.Gradient(e, g[:5], x) },
		"model: len(h) = 2, want 3":               func() { m.Field(e, g[:2], x) },
		"model: len(d) = 1, want 2":               func() { m.Conditional(d[:1], 0, x) },
		"model: len(x) = 1, want 3":               func() { m.Conditional(d, 0, x[:1]) },
		"model: len(f) = 3, want 2":               func() { m.HiddenField(g[:3], x) },
		"model: len(h) = 3, want a multiple of 2": func() { m.VisibleField(g[:3], x) },
		"model: len(f) = 2, want 3":               func() { m.VisibleField(g[:2], x[:2]) },
	} {
		require.PanicsWithValue(t, want, f)
	}
	require.NotPanics(t, func() { m.Field(nil, nil, nil) })
}

func TestRBMAllocatesNothing(t *testing.T) {
	if exact.Race {
		t.Skip("pools drop scratch")
	}
	want := bigMachine(5, 7)
	m, err := model.NewRBM(want.w, want.bh, want.bv)
	require.NoError(t, err)
	e, x, g, h := make([]float64, 200), make([]int32, 1000), make([]float32, 2000), make([]float32, 1400)
	hidden, d := make([]int32, 1400), make([]float64, 2)
	exact.Steady(t, "RBM", func() {
		m.Energy(e, x)
		m.Field(e, g[:1000], x)
		m.Gradient(e, g, x)
		m.Conditional(d, 1, x[:5])
		m.HiddenField(h, x)
		m.VisibleField(g[:1000], hidden)
	})
}

func BenchmarkRBM(b *testing.B) {
	want := bigMachine(784, 500)
	m, err := model.NewRBM(want.w, want.bh, want.bv)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("field/784x500", func(b *testing.B) { benchField(b, m) })
	e, x := make([]float64, 100), make([]int32, 78400)
	fill(x, 2)
	b.Run("energy/784x500", func(b *testing.B) {
		for b.Loop() {
			m.Energy(e, x)
		}
		perSite(b, len(x))
	})
}
