package model_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

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
