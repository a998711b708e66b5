package model_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// numbers returns n normal numbers of the given seed.
func numbers(n int, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, 7))
	v := make([]float64, n)
	for i := range v {
		v[i] = r.NormFloat64()
	}
	return v
}

func narrow(v []float64) []float32 {
	f := make([]float32, len(v))
	for i, a := range v {
		f[i] = float32(a)
	}
	return f
}

// learnables are models of every kind, with a float64 energy of their own where
// the model's is rounded to float32.
func learnables(t *testing.T) map[string]energy.Learnable {
	must := func(m energy.Learnable, err error) energy.Learnable {
		require.NoError(t, err)
		return m
	}
	g, err := model.NewGraph(4, []model.Edge{{I: 0, J: 1, W: 1}, {I: 2, J: 0, W: -2}, {I: 3, J: 1, W: 0.5}, {I: 2, J: 3, W: 1}})
	require.NoError(t, err)
	sparse := []model.Edge{{I: 0, J: 3, W: 0.5}, {I: 2, J: 1, W: -0.3}, {I: 1, J: 1, W: 0.7}}
	holed := append([]float64{math.Inf(-1)}, numbers(8, 3)...)
	start, trans := []float64{0.25, 0, 0.75, 0}, []float64{0.5, 0.5, 1, 0, 0.25, 0.75, 0, 1}
	ising := func(tp model.Topology, j float64) energy.Learnable {
		m, err := model.NewIsing(tp, j, 0.2)
		return must(m, err)
	}
	quadratic := func(n int, p model.Polynomial, dense bool) energy.Learnable {
		if dense {
			m, err := model.NewDenseQuadratic(n, numbers(n*n, 4), p)
			return must(m, err)
		}
		m, err := model.NewQuadratic(n, sparse, p)
		return must(m, err)
	}
	potts, err := model.NewPotts(model.Lattice{3}, 3, 0.4, []float64{0.1, -0.2, 0.3})
	require.NoError(t, err)
	independent, err := model.NewIndependent(holed, 3)
	require.NoError(t, err)
	markov, err := model.NewMarkov(4, 2, 2, start, trans)
	require.NoError(t, err)
	rbm, err := model.NewRBM(narrow(numbers(15, 5)), narrow(numbers(3, 6)), narrow(numbers(5, 7)))
	require.NoError(t, err)
	return map[string]energy.Learnable{
		"ising lattice": ising(model.Lattice{3, 3}, 0.3), "ising graph": ising(g, 0.3), "ising without coupling": ising(g, 0), "potts": potts,
		"quadratic dense bits": quadratic(4, model.Polynomial{Constant: 1}, true), "quadratic dense spins": quadratic(5, model.Polynomial{Values: []float32{-1, 1}, Linear: numbers(5, 8)}, true),
		"quadratic dense levels": quadratic(3, model.Polynomial{Values: []float32{-1, 0.5, 2}}, true), "quadratic sparse": quadratic(4, model.Polynomial{Values: []float32{-1, 1}}, false),
		"quadratic sparse levels": quadratic(4, model.Polynomial{Values: []float32{-1, 0, 2}}, false),
		"independent":             independent, "markov": markov, "rbm": rbm,
	}
}

// rbmEnergy is the energy of an RBM in float64.
func rbmEnergy(theta []float64, hidden int, x []int32) float64 {
	visible := len(x)
	e := 0.0
	for i, v := range x {
		e -= theta[hidden*visible+hidden+i] * float64(v)
	}
	for j := range hidden {
		a := theta[hidden*visible+j]
		for i, v := range x {
			a += theta[j*visible+i] * float64(v)
		}
		e -= math.Log1p(math.Exp(a))
	}
	return e
}

// The gradients of every model are those of its energy, by central differences in
// float64, for weighted sums over states.
func TestParamGradients(t *testing.T) {
	for name, m := range learnables(t) {
		p, err := m.Learn()
		require.NoError(t, err, name)
		sites, levels := p.Shape()
		theta := p.Params()
		for k, d := range numbers(len(theta), 9) {
			theta[k] += 0.3 * d
		}
		require.NoError(t, p.SetParams(theta), name)
		require.Equal(t, theta, p.Params(), name)
		x, w := make([]int32, 7*sites), numbers(7, 10)
		src := rand.New(rand.NewPCG(1, 1))
		for i := range x {
			x[i] = int32(src.IntN(levels))
		}
		if s, ok := energy.As[energy.Supported](p); ok {
			s.Repair(x)
		}
		g, plain := make([]float64, len(theta)), make([]float64, len(theta))
		g[0] = 1 // it adds
		p.ParamGradient(g, x, w)
		g[0]--
		p.ParamGradient(plain, x, nil)
		sum := func(w []float64) float64 {
			e := make([]float64, 7)
			p.Energy(e, x)
			total := 0.0
			for s := range e {
				if name == "rbm" {
					e[s] = rbmEnergy(theta, 3, x[s*sites:(s+1)*sites])
				}
				if w == nil {
					total += e[s]
				} else {
					total += w[s] * e[s]
				}
			}
			return total
		}
		const step = 0x1p-13
		for k := range theta {
			at := theta[k]
			theta[k] = at + step
			require.NoError(t, p.SetParams(theta))
			up, upPlain := sum(w), sum(nil)
			theta[k] = at - step
			require.NoError(t, p.SetParams(theta))
			down, downPlain := sum(w), sum(nil)
			theta[k] = at
			assert.InDelta(t, (up-down)/(2*step), g[k], 1e-6, "%s: parameter %d of %d", name, k, len(theta))
			assert.InDelta(t, (upPlain-downPlain)/(2*step), plain[k], 1e-6, "%s: parameter %d, without weights", name, k)
		}
	}
}

// A copy begins where its model is and never changes it; views that were taken
// before follow the parameters; a refusal changes nothing.
func TestLearnersOwnTheirParameters(t *testing.T) {
	for name, m := range learnables(t) {
		sites, levels := m.Shape()
		x := make([]int32, 5*sites)
		src := rand.New(rand.NewPCG(2, 1))
		for i := range x {
			x[i] = int32(src.IntN(levels))
		}
		if s, ok := energy.As[energy.Supported](m); ok {
			s.Repair(x)
		}
		before, after, e := make([]float64, 5), make([]float64, 5), make([]float64, 5)
		m.Energy(before, x)
		p, err := m.Learn()
		require.NoError(t, err, name)
		p.Energy(e, x)
		assert.InDeltaSlice(t, before, e, 1e-5, name)
		for _, kind := range []bool{has[energy.Binary](p) == has[energy.Binary](m), has[energy.Local](p) == has[energy.Local](m), has[energy.Ordinal](p) == has[energy.Ordinal](m),
			has[energy.Incremental](p) == has[energy.Incremental](m), has[energy.Bipartite](p) == has[energy.Bipartite](m), has[energy.Graphical](p) == has[energy.Graphical](m)} {
			assert.True(t, kind, "%s: the copy knows something else than the model", name)
		}
		d := energy.Differences(p) // a view from before
		theta := p.Params()
		for k, v := range numbers(len(theta), 11) {
			theta[k] += 0.5 * v
		}
		require.NoError(t, p.SetParams(theta), name)
		theta[0] = math.NaN() // it was copied
		m.Energy(after, x)
		assert.Equal(t, before, after, "%s: the model changed", name)
		p.Energy(e, x)
		assert.NotEqual(t, before, e, name)
		g := make([]float32, len(x)*levels)
		d.Gradient(after, g, x)
		assert.InDeltaSlice(t, e, after, 1e-9, name)

		require.ErrorContains(t, p.SetParams(theta), "theta[0] = NaN, want a finite number", name)
		huge := slices.Repeat([]float64{math.MaxFloat64}, len(theta))
		if name != "markov" {
			require.Error(t, p.SetParams(huge), name)
		}
		p.Energy(after, x)
		assert.Equal(t, e, after, "%s: a refusal changed something", name)
		assert.PanicsWithValue(t, fmt.Sprintf("model: len(theta) = 1, want %d", len(theta)), func() { _ = p.SetParams(theta[:1]) })
		assert.PanicsWithValue(t, fmt.Sprintf("model: len(g) = 1, want %d", len(theta)), func() { p.ParamGradient(theta[:1], x, nil) })
	}
}

func has[T any](m energy.Model) bool { _, ok := energy.As[T](m); return ok }

// Copies are models like others: every table is that of their energy.
func TestLearnersAreModels(t *testing.T) {
	for name, m := range learnables(t) {
		if name == "rbm" || name == "independent" || name == "markov" {
			continue // first-order tables or states without probability
		}
		p, err := m.Learn()
		require.NoError(t, err)
		theta := p.Params()
		for k, v := range numbers(len(theta), 12) {
			theta[k] = math.Round(4 * v)
		}
		require.NoError(t, p.SetParams(theta))
		exact.CheckModel(t, p, false, func(x []int32) float64 {
			e := make([]float64, 1)
			p.Energy(e, x)
			return e[0]
		})
	}
}

// pseudo models know the gradient of their pseudo-likelihood.
type pseudo interface {
	energy.Parametric
	PseudoGradient(g []float64, x []int32) float64
}

// The gradient of the pseudo-likelihood is that of its own value, which is the sum
// of the conditionals.
func TestPseudoGradients(t *testing.T) {
	for name, m := range learnables(t) {
		p, err := m.Learn()
		require.NoError(t, err)
		l, ok := energy.As[pseudo](p)
		if !ok {
			continue
		}
		sites, _ := p.Shape()
		x := make([]int32, 6*sites)
		fill(x, 2)
		theta := p.Params()
		g, d := make([]float64, len(theta)), make([]float64, 2)
		value := func() float64 {
			sum, c := 0.0, energy.Conditionals(p)
			for s := range 6 {
				state := x[s*sites : (s+1)*sites]
				for i := range state {
					c.Conditional(d, i, state)
					sum += math.Log(math.Exp(-d[0]) + math.Exp(-d[1]))
				}
			}
			return sum
		}
		assert.InDelta(t, value(), l.PseudoGradient(g, x), 1e-5, name)
		const step = 0x1p-13
		for k := range theta {
			at := theta[k]
			theta[k] = at + step
			require.NoError(t, p.SetParams(theta))
			up := value()
			theta[k] = at - step
			require.NoError(t, p.SetParams(theta))
			down := value()
			theta[k] = at
			assert.InDelta(t, (up-down)/(2*step), g[k], 1e-5, "%s: parameter %d", name, k)
		}
	}
}

// A learner of equal couplings is not energy.Matching: kernels would keep tables of
// what SetParams changes.
func TestLearnersDoNotMatch(t *testing.T) {
	potts, err := model.NewPotts(model.Lattice{3, 3}, 3, 0.4, nil)
	require.NoError(t, err)
	spins, err := model.NewIsing(model.Lattice{3, 3}, 0.2, 0)
	require.NoError(t, err)
	for _, m := range []energy.Learnable{potts, spins} {
		_, _, ok := m.(energy.Matching).Matching()
		require.True(t, ok, "%T", m)
		l, err := m.Learn()
		require.NoError(t, err)
		if v, has := energy.As[energy.Matching](l); has {
			_, _, ok = v.Matching()
			assert.False(t, ok, "%T", l)
		}
	}
}
