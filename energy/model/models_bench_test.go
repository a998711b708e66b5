package model_test

import (
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
)

// benchGradient times Gradient on so many states.
func benchGradient(b *testing.B, m energy.Differentiable, chains int) {
	n, levels := m.Shape()
	e, x, g := make([]float64, chains), make([]int32, chains*n), make([]float32, chains*n*levels)
	fill(x, uint32(levels))
	for b.Loop() {
		m.Gradient(e, g, x)
	}
	perSite(b, len(x))
}

func BenchmarkPotts(b *testing.B) {
	l := model.Lattice{50, 50}
	g, err := l.Graph()
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		t    model.Topology
	}{{"stencil", l}, {"graph", g}} {
		m, err := model.NewPotts(c.t, 4, 0.5, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("gradient/"+c.name, func(b *testing.B) { benchGradient(b, m, 100) })
	}
}

func BenchmarkQuadratic(b *testing.B) {
	const n = 200
	q := make([]float64, n*n)
	var entries []model.Edge
	for i := range q {
		q[i] = float64(i*i%17) - 8
		if i%50 == 0 {
			entries = append(entries, model.Edge{I: i / n, J: i % n, W: 1})
		}
	}
	dense, err := model.NewDenseQuadratic(n, q, model.Polynomial{})
	if err != nil {
		b.Fatal(err)
	}
	sparse, err := model.NewQuadratic(n, entries, model.Polynomial{})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("gradient/dense/n=200", func(b *testing.B) { benchGradient(b, dense, 10) })
	b.Run("gradient/sparse/n=200", func(b *testing.B) { benchGradient(b, sparse, 10) })
}

func BenchmarkIndependent(b *testing.B) {
	m, err := model.NewIndependent(make([]float64, 400), 4)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("gradient/levels=4", func(b *testing.B) { benchGradient(b, m, 100) })
}
