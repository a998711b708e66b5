package model_test

import (
	"fmt"
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

// benchField times Field on 100 states.
func benchField(b *testing.B, m energy.Binary) {
	n, _ := m.Shape()
	e, h, x := make([]float64, 100), make([]float32, 100*n), make([]int32, 100*n)
	fill(x, 2)
	for b.Loop() {
		m.Field(e, h, x)
	}
	perSite(b, len(x))
}

// fill writes an irregular pattern of levels.
func fill(x []int32, levels uint32) {
	w := uint32(1)
	for i := range x {
		w = w*1664525 + 1013904223 // the generator of Numerical Recipes §7.1
		x[i] = int32((w >> 16) % levels)
	}
}

// circulant joins site i with i + k·k for k = 1 … degree/2, modulo n, with
// weights that are multiples of unit.
func circulant(n, degree int, unit float64) model.Topology {
	var edges []model.Edge
	for i := range n {
		for k := 1; k <= degree/2; k++ {
			edges = append(edges, model.Edge{I: i, J: (i + k*k) % n, W: unit * float64((i+k)%5-2)})
		}
	}
	g, err := model.NewGraph(n, edges)
	if err != nil {
		panic(err)
	}
	return g
}

// perSite reports the time per site of one iteration over so many sites.
func perSite(b *testing.B, sites int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(sites), "ns/site")
}

func BenchmarkIsing(b *testing.B) {
	for _, degree := range []int{4, 8, 48} {
		m, err := model.NewIsing(circulant(1000, degree, 1), 0.01, 0)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("field/circulant/degree=%d", degree), func(b *testing.B) { benchField(b, m) })
	}
	for _, sides := range [][]int{{5, 5}, {50, 50}, {14, 14, 14}} {
		l := model.Lattice(sides)
		g, err := l.Graph()
		if err != nil {
			b.Fatal(err)
		}
		for name, t := range map[string]model.Topology{"stencil": l, "graph": g} {
			m, err := model.NewIsing(t, 0.2, 0.2)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("field/%s/sides=%v", name, sides), func(b *testing.B) { benchField(b, m) })
			b.Run(fmt.Sprintf("energy/%s/sides=%v", name, sides), func(b *testing.B) {
				n := l.Sites()
				e, x := make([]float64, 100), make([]int32, 100*n)
				fill(x, 2)
				for b.Loop() {
					m.Energy(e, x)
				}
				perSite(b, len(x))
			})
		}
	}
}
