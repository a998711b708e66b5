package energy_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/energytest"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/read"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
)

// veiled is a model that only knows energies, differences and single-site
// caches, not who interacts with whom.
type veiled struct{ energy.Local }

// Whatever a weighted sum offers agrees with the sum of the energies of its
// parts, for weights 0, 1 and others, and with graphs known or not.
func TestEverythingThatASumOffers(t *testing.T) {
	glass := exact.Must(model.NewGraph(4, []model.Edge{{I: 0, J: 1, W: 1}, {I: 1, J: 2, W: -2}, {I: 0, J: 3, W: 0.5}}))
	fields := exact.Must(model.NewIndependent([]float64{0, 0.3, 0, -0.2, 0, 1, 0.5, 0}, 2))
	binary := []energy.Model{
		exact.Must(model.NewIsing(model.Lattice{4}, 0.3, 0.1)),
		exact.Must(model.NewIsing(glass, 0.4, 0.2)),
		fields,
	}
	local, ok := energy.As[energy.Local](binary[1])
	require.True(t, ok)
	covered := []energy.Model{binary[0], veiled{local}}
	potts := []energy.Model{
		exact.Must(model.NewPotts(model.FreeLattice{3}, 3, 0.6, []float64{0.1, 0, -0.2})),
		exact.Must(model.NewIndependent([]float64{0, 1, 2, 0.5, 0, 0, 0, 0, 1}, 3)),
	}
	for name, parts := range map[string][]energy.Model{"binary": binary, "without a graph": covered, "potts": potts} {
		for _, coef := range [][]float64{{1, 0, 0}, {1, 1, 1}, {2, -0.5, 3}, {0.7, 1.5, 0}} {
			s, set := newAffine(parts[0], parts[1:]...)
			set(coef[:len(parts)], 0.25)
			t.Run(name, func(t *testing.T) {
				(&exact.Checker{Model: s, FirstOrder: true, Brute: func(x []int32) float64 {
					e, sum := make([]float64, 1), 0.25
					for k, m := range parts {
						m.Energy(e, x)
						sum += coef[k] * e[0]
					}
					return sum
				}}).Run(t)
				tables(t, s, parts, coef)
			})
		}
	}
}

// tables holds the table of a sum against the sum of those of the parts: two
// roundings to float32 per part, each of a partial sum.
func tables(t *testing.T, s *energy.Affine, parts []energy.Model, coef []float64) {
	t.Helper()
	known := true
	for _, m := range parts {
		_, ok := energy.As[energy.Differentiable](m)
		known = known && ok
	}
	whole, ok := energy.As[energy.Differentiable](s)
	require.Equal(t, known, ok, "a sum has a table if all parts have")
	if !ok {
		return
	}
	sites, levels := s.Shape()
	n := sites * levels
	e, got, g := make([]float64, 1), make([]float32, n), make([]float32, n)
	for _, x := range exact.States(sites, levels) {
		want, size := make([]float64, n), make([]float64, n)
		for k, m := range parts {
			part, _ := energy.As[energy.Differentiable](m)
			part.Gradient(e, g, x)
			for i, v := range g {
				want[i] += coef[k] * float64(v)
				size[i] += math.Abs(coef[k] * float64(v))
			}
		}
		whole.Gradient(e, got, x)
		for i, v := range got {
			require.InDelta(t, want[i], v, 2*float64(len(parts))*exact.Rounding32*size[i]+1e-12)
		}
	}
}

// Levels and support are those of the base, and weight 0 is not evaluated.
func TestBaseGivesLevelsAndSupport(t *testing.T) {
	base := exact.Must(model.NewMarkov(3, 2, 1, []float64{1, 0}, []float64{0.5, 0.5, 0.2, 0.8}))
	asked := 0
	part := &energy.Func{Sites: 3, Levels: 2, E: func(x []int32) float64 { asked++; return float64(x[1]) }}
	s, set := newAffine(base, part)
	support, ok := energy.As[energy.Supported](s)
	require.True(t, ok)
	x := []int32{1, 0, 1}
	support.Repair(x)
	e, want := make([]float64, 1), make([]float64, 1)
	s.Energy(e, x)
	base.Energy(want, x)
	require.Equal(t, want, e, "a state with probability")
	s.Energy(e, []int32{1, 1, 1})
	require.Equal(t, math.Inf(1), e[0])
	require.Zero(t, asked)
	set([]float64{2, -3}, 0.5)
	s.Energy(e, []int32{0, 1, 0})
	base.Energy(want, []int32{0, 1, 0})
	require.InDelta(t, 2*want[0]-2.5, e[0], 1e-12)
	require.Panics(t, func() { set([]float64{1}, 0) })

	numbers, _ := newAffine(exact.Ordinal{Rugged: exact.NewRugged(2, 3, 1, 0, 1)}, energy.Func{Sites: 2, Levels: 3})
	ordinal, ok := energy.As[energy.Ordinal](numbers)
	require.True(t, ok)
	require.Len(t, ordinal.Values(), 3)
	_, ok = energy.As[energy.Ordinal](s)
	require.False(t, ok)
	_, ok = energy.As[energy.Stochastic](s)
	require.False(t, ok)
}

// What combinations say of their structure holds, by the laws of every model, and so does
// what is inside fixed sites and changing weights.
func TestStructureOfCombinations(t *testing.T) {
	exact.SkipUnderRace(t)
	torus := exact.Must(model.NewIsing(model.Lattice{3, 3}, 0.3, 0.1))
	uniform := exact.Must(model.NewIndependent([]float64{0, .3, 0, .3, 0, .3, 0, .3, 0, .3, 0, .3, 0, .3, 0, .3, 0, .3}, 2))
	potts := exact.Must(model.NewPotts(model.Lattice{3, 3}, 2, 0.4, []float64{0, 0.2}))
	glass := exact.Must(model.NewIsing(exact.Must(model.NewGraph(9, []model.Edge{{I: 0, J: 8, W: 1}, {I: 3, J: 5, W: -2}})), 0.4, 0.2))
	uneven := exact.Must(model.NewBernoulli([]float64{0.1, 0.2, 0.3, -0.4, 0, 0.6, 0.7, -0.8, 0.9}))
	w := make([]float32, 18)
	for i := range w {
		w[i] = 0.25 * float32(i%5-2)
	}
	rbm := exact.Must(model.NewRBM(w, []float32{0.1, -0.2}, make([]float32, 9)))
	sum := func(m ...energy.Model) energy.Model { return exact.Must(energy.Sum(m...)) }
	for name, c := range map[string]struct {
		m                      energy.Model
		torus, matching, pairs bool
	}{
		"torus and field":      {sum(torus, uniform), true, true, true},
		"torus twice, scaled":  {exact.Must(energy.Scale(sum(torus, torus), 0.5)), true, true, true},
		"torus and Potts":      {sum(torus, potts), false, true, true},
		"torus and other sums": {sum(torus, uneven), false, false, true},
		"pairs":                {sum(torus, glass, uneven, potts), false, false, true},
		"Potts alone":          {exact.Must(energy.Scale(potts, 2)), false, true, true},
		"hidden units":         {sum(uneven, rbm), false, false, false},
		"two of them":          {sum(rbm, rbm), false, false, false},
		"no sum over sites":    {sum(torus, energyOnly{newDouble(rand.New(rand.NewPCG(1, 1)), 9, 2)}), false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			ok := false
			if m, is := energy.As[energy.Toroidal](c.m); is {
				_, _, ok = m.Torus()
			}
			require.Equal(t, c.torus, ok, "torus")
			ok = false
			if m, is := energy.As[energy.Matching](c.m); is {
				_, _, ok = m.Matching()
			}
			require.Equal(t, c.matching, ok, "matching")
			_, _, _, _, ok = energy.PairsOf(c.m)
			require.Equal(t, c.pairs, ok, "pairs")
			varying, set := newAffine(c.m, uniform)
			set([]float64{1, 0.5}, 0.25)
			clamped := exact.Must(energy.Clamp(c.m, map[int]int32{2: 1, 7: 0}))
			inner, set2 := newAffine(clamped, uneven)
			set2([]float64{1, -0.5}, 0)
			for _, m := range []energy.Model{c.m, varying, clamped, inner, exact.Must(energy.Scale(varying, 0.5))} {
				require.NoError(t, energytest.TestModel(context.Background(), m, energytest.Options{FirstOrder: true, States: 16}))
			}
		})
	}
	_, _, _, _, ok := energy.PairsOf(exact.Must(model.NewPotts(model.Lattice{3}, 3, 1, nil)))
	require.False(t, ok)
	m := exact.Must(energy.Clamp(exact.Must(energy.Clamp(torus, map[int]int32{0: 0})), map[int]int32{0: 1}))
	e := make([]float64, 1)
	m.Energy(e, make([]int32, 9))
	require.Equal(t, math.Inf(1), e[0], "no state has both levels")
}

// The factors of wrappers are those of their parts, whatever levels the parts have, and are
// not offered where numbers change or hidden units are scaled.
func TestFactors(t *testing.T) {
	ctx := context.Background()
	network := func(text string) energy.Model { return exact.Must(read.UAI(strings.NewReader(text))) }
	one := network("MARKOV 3 2 3 3 2 2 0 1 2 1 2 6 1 2 0 4 5 6 9 1 2 3 4 5 0 7 8 9")
	two := network("MARKOV 3 3 2 3 1 3 2 0 1 18 1 2 3 4 5 6 7 8 9 8 7 6 5 4 3 2 1 2")
	sum := exact.Must(energy.Sum(one, two, exact.Must(energy.Scale(one, 0.5)), exact.Must(model.NewIndependent([]float64{1, 2, 3, 4, math.Inf(-1), 5, 6, 7, 8}, 3))))
	require.NoError(t, energytest.TestModel(ctx, sum, energytest.Options{Skip: []string{"supports"}}))
	f, ok := energy.As[energy.Factored](exact.Must(energy.Clamp(sum, map[int]int32{2: 1})))
	require.True(t, ok)
	cards, _, _, ok := f.Factors()
	require.True(t, ok)
	require.Equal(t, []int32{2, 2, 3}, cards)

	machine := func(seed uint64) *model.RBM {
		r := rand.New(rand.NewPCG(seed, 2))
		w := make([]float32, 3*4)
		for i := range w {
			w[i] = float32(r.NormFloat64())
		}
		return exact.Must(model.NewRBM(w, w[:3], w[:4]))
	}
	twice := exact.Must(energy.Sum(machine(1), machine(2), exact.Must(model.NewBernoulli([]float64{1, 2, 3, 4}))))
	require.NoError(t, energytest.TestModel(ctx, twice, energytest.Options{FirstOrder: true}))
	f, ok = energy.As[energy.Factored](twice)
	require.True(t, ok)
	cards, _, _, ok = f.Factors()
	require.True(t, ok)
	require.Len(t, cards, 4+6)

	half, ok := energy.As[energy.Factored](exact.Must(energy.Scale(twice, 0.5)))
	require.True(t, ok)
	_, _, _, ok = half.Factors()
	require.False(t, ok, "half the free energy of hidden units is none")
	varying, set := newAffine(sum, two)
	set([]float64{1, 0.3}, 2)
	_, ok = energy.As[energy.Factored](varying)
	require.False(t, ok)
	v, _ := energy.As[energy.Varying](varying)
	require.NoError(t, energytest.TestModel(ctx, v.Now(), energytest.Options{Skip: []string{"supports"}}))
	_, ok = energy.As[energy.Factored](v.Now())
	require.True(t, ok)
	_, ok = energy.As[energy.Factored](exact.Must(energy.Sum(sum, energy.Func{Sites: 3, Levels: 3, E: func([]int32) float64 { return 1 }})))
	require.False(t, ok)
	learner := exact.Must(exact.Must(model.NewIsing(model.Lattice{3}, 1, 0)).Learn())
	l, ok := energy.As[energy.Factored](exact.Must(energy.Scale(learner, 0.5)))
	if ok {
		_, _, _, ok = l.Factors()
	}
	require.False(t, ok, "the numbers change")
}

func newAffine(base energy.Model, statistics ...energy.Model) (*energy.Affine, func(weight []float64, offset float64)) {
	m, set, err := energy.NewAffine(base, statistics...)
	if err != nil {
		panic(err)
	}
	return m, set
}

func TestNewAffineRefuses(t *testing.T) {
	base, small := exact.Must(model.NewIsing(model.Lattice{3, 3}, 0.1, 0)), exact.Must(model.NewIndependent([]float64{0, 1}, 2))
	_, _, err := energy.NewAffine(nil)
	require.EqualError(t, err, "energy: NewAffine: base is nil")
	_, _, err = energy.NewAffine(base, base, (*model.Ising)(nil))
	require.EqualError(t, err, "energy: NewAffine: statistics[1] is nil")
	_, _, err = energy.NewAffine(base, small)
	require.EqualError(t, err, "energy: NewAffine: statistics[0] has 1 sites and 2 levels, want 9 and 2 as base")
	_, _, _, _, ok := energy.PairsOf((*model.Ising)(nil))
	require.False(t, ok)
}
