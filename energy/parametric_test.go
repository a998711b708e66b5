package energy_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
)

// slope is a user's own parametric model, E = θ·Σx.
type slope struct {
	energy.Func
	theta []float64
}

func newSlope() *slope {
	s := &slope{theta: []float64{0.5}}
	s.Func = energy.Func{Sites: 4, Levels: 2, E: func(x []int32) float64 { return s.theta[0] * float64(x[0]+x[1]+x[2]+x[3]) }}
	return s
}

func (s *slope) Params() []float64 { return []float64{s.theta[0]} }

func (s *slope) ParamGradient(g []float64, x []int32, w []float64) {
	for i, v := range x {
		c := 1.0
		if w != nil {
			c = w[i/4]
		}
		g[0] += c * float64(v)
	}
}

func (s *slope) SetParams(theta []float64) error {
	if theta[0] > 9 {
		return errors.New("too steep")
	}
	s.theta[0] = theta[0]
	return nil
}

// wrapped returns wrappers around learnable parts, and around a user's own model.
func wrapped(t *testing.T) map[string]energy.Parametric {
	must := func(m energy.Model, err error) energy.Model { require.NoError(t, err); return m }
	ising := must(model.NewIsing(model.Lattice{4}, 0.3, 0.1))
	bias := must(model.NewBernoulli([]float64{0.1, 0.2, -0.3, 0}))
	rbm := must(model.NewRBM([]float32{1, -1, 0.5, 0.25, 0, 2, 1, -0.5}, []float32{0.5, -0.25}, []float32{0, 1, 0, 0.5}))
	fixed := energy.Func{Sites: 4, Levels: 2, E: func(x []int32) float64 { return float64(x[0] * x[3]) }}
	all := map[string]energy.Parametric{}
	for name, m := range map[string]energy.Model{
		"scale": must(energy.Scale(ising, 0.5)), "clamp": must(energy.Clamp(ising, map[int]int32{1: 1})),
		"sum": must(energy.Sum(ising, fixed, bias)), "nested": must(energy.Clamp(must(energy.Scale(must(energy.Sum(bias, ising)), 2)), map[int]int32{0: 0})),
		"sum with hidden units": must(energy.Sum(rbm, bias)),
	} {
		_, ok := energy.As[energy.Parametric](m)
		require.False(t, ok, "%s: models are immutable", name)
		l, ok := energy.As[energy.Learnable](m)
		require.True(t, ok, name)
		p, err := l.Learn()
		require.NoError(t, err)
		all[name] = p
	}
	own := must(energy.Sum(must(energy.Scale(newSlope(), 3)), fixed))
	p, ok := energy.As[energy.Parametric](own)
	require.True(t, ok)
	all["own"] = p
	_, ok = energy.As[energy.Learnable](own)
	require.False(t, ok)
	_, ok = energy.As[energy.Parametric](fixed)
	require.False(t, ok)
	return all
}

func TestParamGradientsOfWrappers(t *testing.T) {
	for name, p := range wrapped(t) {
		x, w, e := make([]int32, 12), []float64{1, -2, 0.5}, make([]float64, 3)
		r := rand.New(rand.NewPCG(1, 1))
		for i := range x {
			x[i] = int32(r.IntN(2))
		}
		if s, ok := energy.As[energy.Supported](p); ok {
			s.Repair(x)
		}
		theta := p.Params()
		for k := range theta {
			theta[k] += 0.2 * r.NormFloat64()
		}
		require.NoError(t, p.SetParams(theta), name)
		g := make([]float64, len(theta))
		p.ParamGradient(g, x, w)
		value := func() float64 { p.Energy(e, x); return e[0] - 2*e[1] + 0.5*e[2] }
		step, within := 0x1p-13, 1e-6
		if name == "sum with hidden units" {
			step, within = 0x1p-6, 1e-4 // weights and activations are float32 there
		}
		for k := range theta {
			at := theta[k]
			theta[k] = at + step
			require.NoError(t, p.SetParams(theta))
			up := value()
			theta[k] = at - step
			require.NoError(t, p.SetParams(theta))
			down := value()
			theta[k] = at
			assert.InDelta(t, (up-down)/(2*step), g[k], within, "%s: parameter %d", name, k)
		}
	}
}

// The log-odds of a sum with hidden units follow the parameters of the other parts.
func TestBipartiteSumsFollowTheirParameters(t *testing.T) {
	p := wrapped(t)["sum with hidden units"]
	theta := p.Params()
	theta[len(theta)-1] += 3 // of level 1 at the last site
	b, ok := energy.As[energy.Bipartite](p)
	require.True(t, ok)
	before, after := make([]float32, 4), make([]float32, 4)
	b.VisibleField(before, []int32{1, 0})
	require.NoError(t, p.SetParams(theta))
	b, _ = energy.As[energy.Bipartite](p)
	b.VisibleField(after, []int32{1, 0})
	assert.Equal(t, before[:3], after[:3])
	assert.InDelta(t, before[3]+3, after[3], 1e-6)
}

// A part that refuses leaves all parts as they were.
func TestSumsRefuseWhole(t *testing.T) {
	bias, err := model.NewBernoulli([]float64{1, 2, 3, 4})
	require.NoError(t, err)
	l, err := bias.Learn()
	require.NoError(t, err)
	m, err := energy.Sum(l, newSlope())
	require.NoError(t, err)
	p, ok := energy.As[energy.Parametric](m)
	require.True(t, ok)
	theta := p.Params()
	require.Len(t, theta, 9)
	bad := append([]float64{7, 7, 7, 7, 7, 7, 7, 7}, 10)
	require.ErrorContains(t, p.SetParams(bad), "too steep")
	assert.Equal(t, theta, p.Params())
	assert.Panics(t, func() { p.ParamGradient(make([]float64, 10), make([]int32, 4), nil) })
}

// A table or a field of one's own is asked instead of evaluations, and the
// conditionals stay exact.
func TestFuncTables(t *testing.T) {
	weights := []float64{1, -2, 0.5}
	e := func(x []int32) float64 {
		sum := 0.0
		for i, v := range x {
			sum += weights[i] * float64(v)
		}
		return sum * sum
	}
	field := func(h []float32, x []int32) float64 {
		for i, w := range weights {
			h[i] = float32(w) // not even near: it only proposes
		}
		return e(x)
	}
	grad := func(g []float32, x []int32) float64 {
		for i, v := range x {
			g[2*i], g[2*i+1] = 0, 0
			g[2*i+1-int(v)] = float32(weights[i]) * float32(1-2*v)
		}
		return e(x)
	}
	for name, f := range map[string]energy.Func{"field": {Field: field}, "grad": {Grad: grad}, "both": {Field: field, Grad: grad}} {
		f.Sites, f.Levels, f.E = 3, 2, e
		x := []int32{1, 0, 1, 0, 0, 1}
		got, table := make([]float64, 2), make([]float32, 12)
		for _, d := range []energy.Differentiable{f, &f} {
			d.Gradient(got, table, x)
			assert.Equal(t, []float64{2.25, 0.25}, got, name)
			assert.Equal(t, []float32{-1, 0, 0, -2, -0.5, 0, 0, 1, 0, -2, -0.5, 0}, table, name)
		}
		b, ok := energy.As[energy.Binary](f)
		require.Equal(t, f.Field != nil, ok)
		if ok {
			h := make([]float32, 6)
			b.Field(got, h, x)
			assert.Equal(t, []float32{1, -2, 0.5, 1, -2, 0.5}, h)
			assert.Equal(t, []float64{2.25, 0.25}, got)
		}
		d := make([]float64, 2)
		f.Conditional(d, 1, x[:3])
		assert.Equal(t, []float64{0, 0.25 - 2.25}, d, "exact")
	}
	_, ok := energy.As[energy.Binary](energy.Func{Sites: 1, Levels: 3, E: e, Field: field})
	assert.False(t, ok)
	_, ok = energy.As[energy.Stochastic](energy.Func{Sites: 1, Levels: 3, E: e})
	assert.False(t, ok)
}

// Rows are subsets drawn uniformly, sorted, and both layouts say the same; wrappers
// pass both on.
func TestFuncEstimates(t *testing.T) {
	const rows, batch = 5, 2
	counts := map[[2]int32]int{}
	f := energy.Func{
		Sites: 2, Levels: 2, Rows: rows, Batch: batch,
		E: func(x []int32) float64 { return float64(x[0] + 2*x[1]) },
		Estimate: func(h []float32, x []int32, r []int32) {
			counts[[2]int32(r)]++
			h[0], h[1] = float32(r[0]), float32(r[1])
		},
	}
	for name, m := range map[string]func() (energy.Model, error){
		"itself": func() (energy.Model, error) { return f, nil },
		"scaled": func() (energy.Model, error) { return energy.Scale(f, 2) },
		"summed": func() (energy.Model, error) { return energy.Sum(f, must(model.NewBernoulli([]float64{-1, -1}))) },
		"fixed":  func() (energy.Model, error) { return energy.Clamp(f, map[int]int32{0: 1}) },
	} {
		m, err := m()
		require.NoError(t, err)
		s, ok := energy.As[energy.Stochastic](m)
		require.True(t, ok, name)
		x := []int32{1, 0, 1, 1}
		h, g := make([]float32, 4), make([]float32, 8)
		s.Estimate(h, x, []rand.Source{rand.NewPCG(1, 1), rand.NewPCG(1, 2)})
		s.Estimate(g, x, []rand.Source{rand.NewPCG(1, 1), rand.NewPCG(1, 2)})
		for i := range h {
			assert.Equal(t, h[i], g[2*i+1]-g[2*i], "%s: %d", name, i)
			assert.Zero(t, g[2*i+int(x[i])], name)
		}
	}
	clear(counts)
	s, _ := energy.As[energy.Stochastic](f)
	for k := range 2000 {
		s.Estimate(make([]float32, 2), []int32{0, 1}, []rand.Source{rand.NewPCG(3, uint64(k))})
	}
	require.Len(t, counts, 10)
	for r, n := range counts {
		assert.Less(t, r[0], r[1])
		assert.InDelta(t, 200, n, 4.9*1.1*14.2+1, "%v", r)
	}
	table := f
	table.Grad = func(g []float32, x []int32) float64 { return 0 }
	table.Estimate = func(g []float32, x []int32, r []int32) { copy(g, []float32{0, 3, 4, 0}) }
	s, _ = energy.As[energy.Stochastic](table)
	h := make([]float32, 2)
	s.Estimate(h, []int32{0, 1}, []rand.Source{rand.NewPCG(1, 1)})
	assert.Equal(t, []float32{3, -4}, h)
	table.Batch = 6
	s, _ = energy.As[energy.Stochastic](table)
	assert.PanicsWithValue(t, "energy: Func{Rows: 5, Batch: 6} with Estimate, want 1 ≤ Batch ≤ Rows", func() {
		s.Estimate(h, []int32{0, 1}, []rand.Source{rand.NewPCG(1, 1)})
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
