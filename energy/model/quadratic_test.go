package model_test

import (
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var (
	_ energy.Differentiable = (*model.Quadratic)(nil)
	_ energy.Local          = (*model.Quadratic)(nil)
)

// quadraticSum returns vᵀQv + bᵀv + c as the plain double sum.
func quadraticSum(q []float64, p model.Polynomial) func(x []int32) float64 {
	return func(x []int32) float64 {
		n, e := len(x), p.Constant
		v := make([]float64, n)
		for i, l := range x {
			v[i] = float64(l)
			if p.Values != nil {
				v[i] = float64(p.Values[l])
			}
		}
		for i := range n {
			for j := range n {
				e += v[i] * q[i*n+j] * v[j]
			}
			if p.Linear != nil {
				e += p.Linear[i] * v[i]
			}
		}
		return e
	}
}

func TestQuadraticByEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]float64{1, 0.1, math.Pi}).Draw(t, "unit")
		number := rapid.Custom(func(t *rapid.T) float64 { return unit * float64(rapid.IntRange(-3, 3).Draw(t, "k")) })
		values := rapid.SampledFrom([][]float32{nil, {0, 1}, {-1, 1}, {-2, 0, 1}, {-1, 0.5, 2, 7}, {3}, {0, 2}, {0, 1, 2}}).Draw(t, "values")
		n := rapid.IntRange(1, 4).Draw(t, "n")
		if len(values) < 3 {
			n = rapid.IntRange(1, 7).Draw(t, "sites")
		}
		q := rapid.SliceOfN(number, n*n, n*n).Draw(t, "Q")
		p := model.Polynomial{Constant: number.Draw(t, "c"), Values: values}
		if rapid.Bool().Draw(t, "linear") {
			p.Linear = rapid.SliceOfN(number, n, n).Draw(t, "b")
		}
		brute := quadraticSum(q, p)

		m, err := model.NewDenseQuadratic(n, q, p)
		require.NoError(t, err)
		exact.CheckModel(t, m, unit == 1, brute)
		checkViews(t, m, values, false)
		checkWindow(t, m, unit == 1, brute)

		var entries []model.Edge
		for k, w := range q {
			if w != 0 {
				entries = append(entries, model.Edge{I: k / n, J: k % n, W: w - unit}, model.Edge{I: k % n, J: k / n, W: unit})
			}
		}
		m, err = model.NewQuadratic(n, entries, p)
		require.NoError(t, err)
		exact.CheckModel(t, m, unit == 1, brute)
		checkViews(t, m, values, true)
	})
}

// checkViews checks which interfaces the model offers.
func checkViews(t exact.Test, m *model.Quadratic, values []float32, sparse bool) {
	t.Helper()
	_, levels := m.Shape()
	_, binary := energy.As[energy.Binary](m)
	require.Equal(t, levels == 2, binary)
	_, graphical := energy.As[energy.Graphical](m)
	require.Equal(t, sparse, graphical)
	o, ordinal := energy.As[energy.Ordinal](m)
	_, windowed := energy.As[energy.Windowed](m)
	plain := values == nil || levels == 2 && values[1] == 1
	require.Equal(t, !plain, ordinal)
	require.Equal(t, !plain, windowed)
	if ordinal {
		require.Equal(t, values, o.Values())
	}
	_, local := energy.As[energy.Local](m)
	require.True(t, local)
	_, bipartite := energy.As[energy.Bipartite](m)
	require.False(t, bipartite)
}

// checkWindow compares Window with the whole table.
func checkWindow(t exact.Test, m *model.Quadratic, exactly bool, brute func([]int32) float64) {
	t.Helper()
	o, ok := energy.As[energy.Windowed](m)
	if !ok {
		return
	}
	n, levels := m.Shape()
	x := make([]int32, 2*n)
	fill(x, uint32(levels))
	e, f, g := make([]float64, 2), make([]float64, 2), make([]float32, len(x)*levels)
	m.Gradient(e, g, x)
	for _, w := range []int{0, 1, levels} {
		win := make([]float32, len(x)*(2*w+1))
		o.Window(f, win, x, w)
		require.Equal(t, e, f)
		for at, from := range x {
			for k := range 2*w + 1 {
				want := float32(math.Inf(1))
				if l := int(from) + k - w; l >= 0 && l < levels {
					want = g[at*levels+l]
				}
				require.Equal(t, want, win[at*(2*w+1)+k])
			}
		}
	}
}

// A matrix beyond the unrolled part of the dense row sum.
func TestQuadraticDenseIsSparse(t *testing.T) {
	const n = 37
	q := make([]float64, n*n)
	var entries []model.Edge
	for k := range q {
		q[k] = float64(k*k%11 - 5)
		entries = append(entries, model.Edge{I: k / n, J: k % n, W: q[k]})
	}
	p := model.Polynomial{Values: []float32{-1, 0, 3}}
	a, err := model.NewDenseQuadratic(n, q, p)
	require.NoError(t, err)
	b, err := model.NewQuadratic(n, entries, p)
	require.NoError(t, err)
	x := make([]int32, 5*n)
	fill(x, 3)
	e, f := make([]float64, 5), make([]float64, 5)
	g, h := make([]float32, 3*len(x)), make([]float32, 3*len(x))
	a.Gradient(e, g, x)
	b.Gradient(f, h, x)
	require.Equal(t, e, f)
	require.Equal(t, g, h)
}

func TestQuadraticRefuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	one := []model.Edge{{I: 0, J: 1, W: 1}}
	for _, c := range []struct {
		n    int
		q    []model.Edge
		p    model.Polynomial
		want string
	}{
		{0, nil, model.Polynomial{}, "n = 0, want ≥ 1"},
		{2, []model.Edge{{I: 0, J: 2, W: 1}}, model.Polynomial{}, "q[0] is at (0, 2), want 0 … 1"},
		{2, []model.Edge{{I: 1, J: 1, W: nan}}, model.Polynomial{}, "q[0].W = NaN, want a finite number"},
		{2, one, model.Polynomial{Linear: []float64{1}}, "len(Linear) = 1, want 2"},
		{2, one, model.Polynomial{Linear: []float64{1, inf}}, "Linear[1] = +Inf, want a finite number"},
		{2, one, model.Polynomial{Constant: nan}, "Constant = NaN, want a finite number"},
		{2, one, model.Polynomial{Values: []float32{}}, "len(Values) = 0, want ≥ 1"},
		{2, one, model.Polynomial{Values: []float32{0, float32(inf)}}, "Values[1] = +Inf, want a finite number"},
		{2, one, model.Polynomial{Values: []float32{0, 0}}, "Values[1] = 0, want more than Values[0] = 0"},
		{2, []model.Edge{{I: 0, J: 1, W: 1e308}}, model.Polynomial{}, "the parameters add up to more than 4.4942328371557893e+307, energies would overflow"},
	} {
		_, err := model.NewQuadratic(c.n, c.q, c.p)
		require.EqualError(t, err, "model: NewQuadratic: "+c.want)
	}
	_, err := model.NewQuadratic(2, []model.Edge{{I: 0, J: 1, W: 1e308}, {I: 1, J: 0, W: 1e308}}, model.Polynomial{})
	require.Error(t, err)
	for _, c := range []struct {
		n    int
		q    []float64
		want string
	}{
		{0, nil, "n = 0 and len(q) = 0, want n ≥ 1 and len(q) = n²"},
		{2, make([]float64, 6), "n = 2 and len(q) = 6, want n ≥ 1 and len(q) = n²"},
		{2, []float64{0, 0, nan, 0}, "q[2] = NaN, want a finite number"},
	} {
		_, err := model.NewDenseQuadratic(c.n, c.q, model.Polynomial{})
		require.EqualError(t, err, "model: NewDenseQuadratic: "+c.want)
	}
}

// Whatever a constructor accepts has finite energies.
func FuzzQuadraticIsFinite(f *testing.F) {
	f.Add(1.0, -2.0, 0.5, float32(0), float32(1))
	f.Add(1e308, -1e308, 1e300, float32(-1e38), float32(3e38))
	f.Add(math.NaN(), math.Inf(1), 0.0, float32(1), float32(1))
	f.Fuzz(func(t *testing.T, w, d, b float64, lo, hi float32) {
		m, err := model.NewQuadratic(2, []model.Edge{{I: 0, J: 1, W: w}, {I: 1, J: 1, W: d}},
			model.Polynomial{Linear: []float64{b, -b}, Values: []float32{lo, hi}})
		if err != nil {
			return
		}
		e, d4 := make([]float64, 4), make([]float64, 4)
		x := []int32{0, 0, 1, 0, 0, 1, 1, 1}
		m.Energy(e, x)
		for s, v := range e {
			m.Locals(d4, x[2*s:2*s+2])
			for _, v := range append(d4, v) {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Fatalf("energies %v, differences %v", e, d4)
				}
			}
		}
	})
}

func TestQuadraticPanics(t *testing.T) {
	m, err := model.NewQuadratic(3, nil, model.Polynomial{Values: []float32{0, 2}})
	require.NoError(t, err)
	b, _ := energy.As[energy.Binary](m)
	o, _ := energy.As[energy.Windowed](m)
	e, g, x, d := make([]float64, 1), make([]float32, 6), make([]int32, 3), make([]float64, 6)
	for want, f := range map[string]func(){
		"model: len(x) = 2, want a multiple of 3": func() { m.Energy(e, x[:2]) },
		"model: len(e) = 0, want 1":               func() { m.Energy(nil, x) },
		"model: len(g) = 5, want 6":               func() { m.Gradient(e, g[:5], x) },
		"model: len(h) = 2, want 3":               func() { b.Field(e, g[:2], x) },
		"model: len(g) = 6, want 9":               func() { o.Window(e, g, x, 1) },
		"model: len(d) = 1, want 2":               func() { m.Conditional(d[:1], 0, x) },
		"model: len(d) = 3, want 6":               func() { m.Locals(d[:3], x) },
		"model: len(d) = 4, want 6":               func() { m.Move(d[:4], 0, 1, x) },
	} {
		require.PanicsWithValue(t, want, f)
	}
}

func TestQuadraticAllocatesNothing(t *testing.T) {
	const n = 9
	q := repeat(0.5, n*n)
	sparse, err := model.NewQuadratic(n, []model.Edge{{I: 0, J: 8, W: 1}}, model.Polynomial{Values: []float32{0, 3}})
	require.NoError(t, err)
	dense, err := model.NewDenseQuadratic(n, q, model.Polynomial{Values: []float32{0, 3}})
	require.NoError(t, err)
	for _, m := range []*model.Quadratic{sparse, dense} {
		b, _ := energy.As[energy.Binary](m)
		o, _ := energy.As[energy.Windowed](m)
		e, x, g, d := make([]float64, 2), make([]int32, 2*n), make([]float32, 6*n), make([]float64, 2*n)
		exact.Steady(t, "Quadratic", func() {
			m.Energy(e, x)
			m.Gradient(e, g[:4*n], x)
			b.Field(e, g[:2*n], x)
			o.Window(e, g, x, 1)
			m.Conditional(d[:2], 1, x[:n])
			m.Locals(d, x[:n])
			m.Move(d, 1, 1, x[:n])
		})
	}
}

// Pairs of models of every kind are their energies, also scaled, and learners,
// whose numbers change, have none.
func TestPairs(t *testing.T) {
	g := exact.Must(model.NewGraph(4, []model.Edge{{I: 0, J: 1, W: 1.5}, {I: 1, J: 3, W: -2}, {I: 0, J: 3, W: 0.25}}))
	q := []model.Edge{{I: 0, J: 0, W: 3}, {I: 0, J: 2, W: -1}, {I: 2, J: 1, W: 0.5}}
	dense := []float64{1, 2, 0, 0, -1, 0, 3, 0.5, 2}
	p := model.Polynomial{Linear: []float64{1, -2, 0.5}, Constant: 7, Values: []float32{-1, 3}}
	ising := exact.Must(exact.Must(model.NewIsing(g, 0.7, 0.3)).WithFields([]float64{1, 2, -3, 0}))
	for name, m := range map[string]energy.Model{
		"ising":     ising,
		"lattice":   exact.Must(model.NewIsing(model.Lattice{3, 3}, 0.4, -1)),
		"edgeless":  exact.Must(model.NewIsing(g, 0, 1)),
		"cut":       exact.Must(model.MaxCut(g)),
		"sparse":    exact.Must(model.NewQuadratic(3, q, p)),
		"QUBO":      exact.Must(model.NewQuadratic(3, q, model.Polynomial{})),
		"dense":     exact.Must(model.NewDenseQuadratic(3, dense, p)),
		"three":     exact.Must(model.NewQuadratic(3, q, model.Polynomial{Values: []float32{0, 1, 2}})),
		"scaled":    exact.Must(energy.Scale(ising, 1.3)),
		"nothing":   exact.Must(energy.Scale(ising, 0)),
		"wrapped":   exact.Must(energy.Scale(exact.Must(model.NewDenseQuadratic(3, dense, p)), 0.5)),
		"potts":     exact.Must(model.NewPotts(g, 3, 1, nil)),
		"clamped":   exact.Must(energy.Clamp(ising, map[int]int32{1: 1})),
		"bernoulli": exact.Must(model.NewBernoulli([]float64{1, 2})),
	} {
		sites, levels := m.Shape()
		e := map[string]float64{}
		one := make([]float64, 1)
		for _, x := range exact.States(sites, levels) {
			m.Energy(one, x)
			e[string(key(x))] = one[0]
		}
		c := &exact.Checker{Model: m, Brute: func(x []int32) float64 { return e[string(key(x))] }, Slack: 1e-12}
		c.Pairs(t)
		w, ok := energy.As[energy.Pairwise](m)
		if ok {
			_, _, _, _, ok = w.Pairs()
		}
		assert.Equal(t, name != "three" && name != "potts" && name != "clamped" && name != "bernoulli", ok, name)
	}
	for _, m := range []energy.Model{ising, exact.Must(model.NewQuadratic(3, q, p)), exact.Must(model.NewDenseQuadratic(3, dense, p))} {
		l, ok := energy.As[energy.Learnable](m)
		require.True(t, ok)
		learner := exact.Must(l.Learn())
		for _, m := range []energy.Model{learner, exact.Must(energy.Scale(learner, 2))} {
			if w, ok := energy.As[energy.Pairwise](m); ok {
				_, _, _, _, ok = w.Pairs()
				assert.False(t, ok, "%T", m)
			}
		}
	}
}

func key(x []int32) []byte {
	b := make([]byte, len(x))
	for i, v := range x {
		b[i] = byte(v)
	}
	return b
}
