package conformance_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/unlearn"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/energytest"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/read"
	"github.com/gibbsite-go/gibbsite/internal/conformance"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// modelEntry is a line of the registry of models: "package.Type", and what is special
// about this one. Options say what the doc of the model promises.
type modelEntry struct {
	name  string
	model energy.Model
	opt   energytest.Options
}

// derivatives are the options of models whose tables are first order.
var derivatives = energytest.Options{FirstOrder: true}

// reals returns n numbers of unit variance.
func reals[T float32 | float64](n int, seed uint64) []T {
	r, v := rand.New(rand.NewPCG(seed, 1)), make([]T, n)
	for i := range v {
		v[i] = T(r.NormFloat64())
	}
	return v
}

// The models of the module. A new one adds a line.
func modelEntries() []modelEntry {
	grid := exact.Must(model.NewGraph(7, []model.Edge{{I: 0, J: 1, W: 1}, {I: 1, J: 2, W: -2}, {I: 2, J: 6, W: 0.5}, {I: 0, J: 5, W: 1}, {I: 3, J: 4, W: 1}}))
	ising := exact.Must(model.NewIsing(model.Lattice{4, 4}, 0.3, 0.1))
	rbm := exact.Must(model.NewRBM(reals[float32](35, 1), reals[float32](5, 2), reals[float32](7, 3)))
	markov := exact.Must(model.NewMarkov(5, 3, 1, []float64{.5, .5, 0}, []float64{.2, .3, .5, 0, .9, .1, 1, 0, 0}))
	wave := energy.Func{Sites: 5, Levels: 3, E: func(x []int32) float64 {
		e := 0.0
		for i, l := range x {
			e += math.Sin(float64(l+1)*float64(i+2)) * float64(x[(i+1)%5]+1)
		}
		return e
	}}
	potts := exact.Must(model.NewPotts(model.Lattice{3, 3}, 3, 0.4, []float64{0, .1, .3}))
	none := energytest.Options{}
	return []modelEntry{
		{"energy.Func", wave, none},
		{"energy.Func with everything", evaluated(), none},
		{"energy.Affine of a Sum", exact.Must(energy.Sum(wave, exact.Must(energy.Scale(wave, 0.3)))), none},
		{"energy.Affine of a Scale", exact.Must(energy.Scale(potts, 1.7)), none},
		{"energy.Affine of a Clamp", exact.Must(energy.Clamp(potts, map[int]int32{2: 1, 5: 0})), none},
		{"energy.Affine of a torus and a field", exact.Must(energy.Sum(ising, exact.Must(model.NewPotts(model.Lattice{4, 4}, 2, 0, []float64{0, .4})))), none},
		{"energy.Affine of pairs", exact.Must(energy.Sum(exact.Must(model.NewIsing(grid, -0.7, 0.2)), exact.Must(model.NewBernoulli(reals[float64](7, 14))), exact.Must(model.NewIsing(model.Lattice{7}, 0.3, 0)))), none},
		{"energy.Affine of hidden units", exact.Must(energy.Clamp(exact.Must(energy.Sum(exact.Must(model.NewBernoulli(reals[float64](7, 15))), rbm)), map[int]int32{3: 1})), derivatives},
		{"model.Independent", exact.Must(model.NewIndependent(reals[float64](12, 4), 3)), none},
		{"model.Independent of two levels", exact.Must(model.NewBernoulli(reals[float64](6, 5))), none},
		{"model.Independent with forbidden levels", exact.Must(model.NewIndependent([]float64{0, 1, math.Inf(-1), math.Inf(-1), .5, 1}, 3)), none},
		{"model.Ising of a torus", ising, none},
		{"model.Ising of a graph", exact.Must(model.NewIsing(grid, -0.7, 0.2)), none},
		{"model.Ising with fields", exact.Must(ising.WithFields(reals[float64](16, 6))), none},
		{"model.Ising of a maximum cut", exact.Must(model.MaxCut(grid)), none},
		{"model.Potts of a torus", potts, none},
		{"model.Potts of two levels", exact.Must(model.NewPotts(grid, 2, 0.4, []float64{0, .2})), none},
		{"model.Quadratic sparse", exact.Must(model.NewQuadratic(5, []model.Edge{{I: 0, J: 1, W: 1.5}, {I: 2, J: 2, W: -1}, {I: 3, J: 1, W: .25}}, model.Polynomial{Linear: reals[float64](5, 7)})), none},
		{"model.Quadratic dense", exact.Must(model.NewDenseQuadratic(6, reals[float64](36, 8), model.Polynomial{})), none},
		{"model.Quadratic ordinal", exact.Must(model.NewDenseQuadratic(4, reals[float64](16, 9), model.Polynomial{Values: []float32{-1, 0, .5, 3}, Constant: 2})), none},
		{"model.RBM", rbm, derivatives},
		{"model.RBM tempered", exact.Must(rbm.Tempered(0.6)), derivatives},
		{"model.Markov", markov, none},
		{"read.UAI", exact.Must(read.UAI(strings.NewReader("MARKOV\n4\n2 3 2 3\n3\n2 0 1\n2 1 2\n3 1 2 3\n6 1 2 3 4 5 6\n6 .1 .2 .3 .4 .5 .6\n18 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9\n"))), none},
		{"neural.Potential", exact.Must(neural.NewPotential(6, 2, 8, 1, rand.NewPCG(1, 2))), energytest.Options{FirstOrder: true, Tolerance: 0x1p-18}},
		{"neural.Potential of three levels", exact.Must(neural.NewPotential(4, 3, 8, 2, rand.NewPCG(1, 3))), energytest.Options{FirstOrder: true, Tolerance: 0x1p-18}},
		{"neural.Posterior", exact.Must(neural.NewPosterior(reals[float32](24, 1), []float32{0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 0}, 3, 20, 0)), energytest.Options{FirstOrder: true, Tolerance: 0x1p-18}},
		{"neural.Posterior of a batch", exact.Must(neural.NewPosterior(reals[float32](24, 1), []float32{0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 0}, 3, 20, 4)), energytest.Options{FirstOrder: true, Tolerance: 0x1p-18}},
		{"dual.Lagrangian of counts", lagrangian(potts), none},
		{"dual.Lagrangian of an RBM", lagrangian(rbm), derivatives},
		{"dual.Lagrangian at a temperature", exact.Must(lagrangian(ising).AtTemperature(2)), none},
		{"dual.Lagrangian of a function", weighted(ising), none},
		{"unlearn.Experts", experts(), none},
		{"denoise.Likelihood", exact.Must(denoise.NewLikelihood(exact.Must(denoise.NewIndependent(exact.Must(model.NewIndependent(reals[float64](12, 4), 3)), denoise.Absorbing)), 3, 2, 1)), none},
	}
}

// evaluated is a Func with all of its functions, of E(x) = −Σ h_i x_i over two levels.
func evaluated() energy.Func {
	h := reals[float64](4, 20)
	e := func(x []int32) (sum float64) {
		for i, l := range x {
			sum -= h[i] * float64(l)
		}
		return sum
	}
	return energy.Func{
		Sites: 4, Levels: 2, E: e, Rows: 6, Batch: 2,
		Grad: func(g []float32, x []int32) float64 {
			for i, l := range x {
				g[2*i], g[2*i+1] = float32(h[i]*float64(l)), float32(h[i]*float64(l-1))
			}
			return e(x)
		},
		Field: func(f []float32, x []int32) float64 {
			for i := range x {
				f[i] = float32(-h[i])
			}
			return e(x)
		},
		Estimate: func(g []float32, x []int32, rows []int32) {
			share := float32(0) // 1 on average
			for _, r := range rows {
				share += float32(2*r+1) / 12
			}
			for i, l := range x {
				g[2*i], g[2*i+1] = share*float32(h[i]*float64(l)), share*float32(h[i]*float64(l-1))
			}
		},
	}
}

// lagrangian is a model under two counts at multipliers above zero.
func lagrangian(m energy.Model) *dual.Lagrangian {
	l := exact.Must(dual.NewLagrangian(m, constraint.Count{Levels: []int32{1}, Max: 2}, constraint.Count{Levels: []int32{0}, Min: 1, Max: 4}))
	lambda := make([]float64, l.Len())
	for j := range lambda {
		lambda[j] = 0.3 + 0.2*float64(j)
	}
	if err := l.SetLambda(lambda); err != nil {
		panic(err)
	}
	return l
}

// product is a set of which only values are known.
type product struct{}

func (product) Len() int { return 1 }
func (product) Violation(g []float64, x []int32) {
	for s := range g {
		n := len(x) / len(g)
		g[s] = 0.3 - float64(x[s*n])*float64(x[s*n+1]) + float64(x[s*n+n-1])
	}
}

func weighted(m energy.Model) *dual.Lagrangian {
	l := exact.Must(dual.NewLagrangian(m, product{}))
	if err := l.SetLambda([]float64{0.8}); err != nil {
		panic(err)
	}
	return l
}

func experts() *unlearn.Experts {
	q := exact.Must(model.NewPotts(model.Lattice{3, 3}, 2, 0.4, []float64{0, .1}))
	away := exact.Must(model.NewIndependent(reals[float64](18, 11), 2))
	e := exact.Must(unlearn.NewExperts(q, []energy.Model{away}, []float64{0.5}, func(m energy.Model) (float64, error) {
		sum, err := energy.Enumerate(context.Background(), m)
		return sum.LogZ, err
	}))
	if err := e.SetLambda([]float64{0.4}); err != nil {
		panic(err)
	}
	return e
}

func TestModels(t *testing.T) {
	for _, e := range modelEntries() {
		t.Run(e.name, func(t *testing.T) {
			if err := energytest.TestModel(t.Context(), e.model, e.opt); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Wrappers of models, which may be put around each other in any order.
var modelWrappers = []struct {
	name string
	wrap func(m energy.Model) energy.Model
}{
	{"Sum with another", func(m energy.Model) energy.Model {
		return exact.Must(energy.Sum(m, exact.Must(model.NewPotts(model.Lattice{3, 3}, 3, -0.2, []float64{0, .3, .1}))))
	}},
	{"Scale", func(m energy.Model) energy.Model { return exact.Must(energy.Scale(m, 0.7)) }},
	{"Clamp", func(m energy.Model) energy.Model { return exact.Must(energy.Clamp(m, map[int]int32{4: 2})) }},
	{"Lagrangian", func(m energy.Model) energy.Model { return lagrangian(m) }},
	{"tempered Lagrangian of a function", func(m energy.Model) energy.Model { return exact.Must(weighted(m).AtTemperature(0.8)) }},
}

func TestPairsOfModelWrappers(t *testing.T) {
	base := exact.Must(model.NewPotts(model.Lattice{3, 3}, 3, 0.4, []float64{0, .1, .3}))
	for _, inner := range modelWrappers {
		for _, outer := range modelWrappers {
			t.Run(outer.name+" of "+inner.name, func(t *testing.T) {
				if err := energytest.TestModel(t.Context(), outer.wrap(inner.wrap(base)), energytest.Options{States: 20}); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// A model that is not in the registry is named.
func TestModelsAreRegistered(t *testing.T) {
	m := exact.Must(loaded())
	var names []string
	for _, e := range modelEntries() {
		names = append(names, e.name)
	}
	for _, line := range conformance.Missing(exact.Must(m.Implementing("energy", "Model")), names, "energy.Model", "model_test.go") {
		t.Error(line)
	}
}
