package model_test

import (
	"testing"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
)

// torus embeds a lattice; weighted has the sides of one but another graph.
type (
	torus    struct{ model.Lattice }
	weighted struct{ model.Lattice }
)

func (w weighted) Graph() (*model.Graph, error) {
	g, err := w.Lattice.Graph()
	if err != nil {
		return nil, err
	}
	var edges []model.Edge
	for e := range g.Edges() {
		e.W = 2
		edges = append(edges, e)
	}
	return model.NewGraph(g.Sites(), edges)
}

// A pointer to a lattice and what embeds one have its fast path; a graph that is
// not the lattice's counts for more than the sides do.
func TestLatticeThroughInterface(t *testing.T) {
	for _, sides := range []model.Lattice{{4, 5}, {3, 3}, {7}, {2, 3, 4}, {1, 6}, {2, 2}} {
		want := exact.Must(model.NewIsing(sides, 0.3, 0.1))
		_, rows, fast := want.Torus()
		for _, top := range []model.Topology{&sides, torus{sides}, &torus{sides}} {
			m := exact.Must(model.NewIsing(top, 0.3, 0.1))
			require.Equal(t, want, m)
			_, got, ok := m.Torus()
			require.Equal(t, fast, ok)
			require.Equal(t, rows, got)
			require.Equal(t, exact.Must(model.NewPotts(sides, 3, 0.3, nil)), exact.Must(model.NewPotts(top, 3, 0.3, nil)))
		}
		double := exact.Must(model.NewIsing(weighted{sides}, 0.3, 0.1))
		twice := exact.Must(model.NewIsing(exact.Must(weighted{sides}.Graph()), 0.3, 0.1))
		_, _, ok := double.Torus()
		require.False(t, ok)
		require.Equal(t, twice, double)
	}
}
