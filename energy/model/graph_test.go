package model_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawEdges draws edges between n sites, duplicates included, with small
// integer weights.
func drawEdges(t *rapid.T, n int) []model.Edge {
	if n < 2 {
		return nil
	}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) model.Edge {
		i := rapid.IntRange(0, n-1).Draw(t, "i")
		j := rapid.IntRange(0, n-2).Draw(t, "j")
		if j >= i {
			j++
		}
		return model.Edge{I: i, J: j, W: float64(rapid.IntRange(-3, 3).Draw(t, "w"))}
	}), 0, 12).Draw(t, "edges")
}

func TestNewGraphAgreesWithDenseMatrix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "n")
		edges := drawEdges(t, n)
		dense := make([]float64, n*n)
		for _, e := range edges {
			dense[e.I*n+e.J] += e.W
			dense[e.J*n+e.I] += e.W
		}
		g, err := model.NewGraph(n, edges)
		require.NoError(t, err)
		require.Equal(t, n, g.Sites())

		got := make([]float64, n*n)
		count := 0
		for i := range n {
			sites, weights := g.Neighbors(i)
			require.Len(t, weights, len(sites))
			require.True(t, slices.IsSorted(sites))
			for k, j := range sites {
				require.NotZero(t, weights[k])
				got[i*n+int(j)] = weights[k]
				count++
			}
		}
		require.Equal(t, dense, got)
		require.Equal(t, count, 2*g.Len())

		clear(got)
		for e := range g.Edges() {
			require.Less(t, e.I, e.J)
			got[e.I*n+e.J], got[e.J*n+e.I] = e.W, e.W
		}
		require.Equal(t, dense, got)
	})
}

func TestNewGraphRefuses(t *testing.T) {
	for _, c := range []struct {
		n     int
		edges []model.Edge
		want  string
	}{
		{0, nil, "model: NewGraph: n = 0, want 1 … 2147483646"},
		{-3, nil, "model: NewGraph: n = -3, want 1 … 2147483646"},
		{3, []model.Edge{{0, 1, 1}, {1, 3, 1}}, "model: NewGraph: edges[1] joins sites 1 and 3, want 0 … 2"},
		{3, []model.Edge{{-1, 1, 1}}, "model: NewGraph: edges[0] joins sites -1 and 1, want 0 … 2"},
		{3, []model.Edge{{2, 2, 1}}, "model: NewGraph: edges[0] joins site 2 with itself"},
		{3, []model.Edge{{1, 2, math.NaN()}}, "model: NewGraph: edges[0].W = NaN, want a finite number"},
		{3, []model.Edge{{1, 2, math.Inf(-1)}}, "model: NewGraph: edges[0].W = -Inf, want a finite number"},
		{3, []model.Edge{{1, 2, 1e308}, {2, 1, 1e308}}, "model: NewGraph: the weights between sites 1 and 2 add up to +Inf, want a finite number"},
	} {
		_, err := model.NewGraph(c.n, c.edges)
		require.EqualError(t, err, c.want)
	}
	_, err := new(model.Graph).Graph()
	require.EqualError(t, err, "model: empty Graph, want one made by NewGraph")
	var none *model.Graph
	_, err = none.Graph()
	require.Error(t, err)
}

func TestEdgesStops(t *testing.T) {
	g, err := model.Lattice{4}.Graph()
	require.NoError(t, err)
	for e := range g.Edges() {
		require.Equal(t, model.Edge{I: 0, J: 1, W: 1}, e)
		break
	}
}

// bonds returns the bonds of a lattice by comparing the coordinates of every
// pair of sites.
func bonds(sides []int, periodic bool) []model.Edge {
	n := 1
	for _, s := range sides {
		n *= s
	}
	at := func(i int) []int {
		c := make([]int, len(sides))
		for k := len(sides) - 1; k >= 0; k-- {
			c[k] = i % sides[k]
			i /= sides[k]
		}
		return c
	}
	var list []model.Edge
	for i := range n {
		for j := i + 1; j < n; j++ {
			a, b := at(i), at(j)
			differ, joined := 0, false
			for k, side := range sides {
				if a[k] != b[k] {
					differ++
					gap := max(a[k]-b[k], b[k]-a[k])
					joined = gap == 1 || periodic && gap == side-1
				}
			}
			if differ == 1 && joined {
				list = append(list, model.Edge{I: i, J: j, W: 1})
			}
		}
	}
	return list
}

func TestLatticeBonds(t *testing.T) {
	for _, sides := range [][]int{{1}, {2}, {3}, {7}, {1, 1}, {2, 2}, {3, 4}, {1, 5}, {5, 2}, {2, 3, 4}, {3, 1, 3}, {2, 2, 2, 3}} {
		t.Run(fmt.Sprint(sides), func(t *testing.T) {
			g, err := model.Lattice(sides).Graph()
			require.NoError(t, err)
			require.Equal(t, bonds(sides, true), slices.Collect(g.Edges()))
			require.Equal(t, g.Sites(), model.Lattice(sides).Sites())

			g, err = model.FreeLattice(sides).Graph()
			require.NoError(t, err)
			require.Equal(t, bonds(sides, false), slices.Collect(g.Edges()))
			require.Equal(t, g.Sites(), model.FreeLattice(sides).Sites())
		})
	}
}

func TestLatticeRefuses(t *testing.T) {
	for _, c := range []struct {
		t    model.Topology
		want string
	}{
		{model.Lattice{}, "model: Lattice: no sides, want at least one"},
		{model.Lattice{5, 0}, "model: Lattice: side 1 = 0, want ≥ 1"},
		{model.Lattice{-5, -5}, "model: Lattice: side 0 = -5, want ≥ 1"},
		{model.FreeLattice{0}, "model: FreeLattice: side 0 = 0, want ≥ 1"},
		{model.Lattice{1 << 20, 1 << 20}, "model: Lattice: the sides [1048576 1048576] give more than 2147483646 sites"},
	} {
		_, err := c.t.Graph()
		require.EqualError(t, err, c.want)
		_, err = model.NewIsing(c.t, 1, 0)
		require.EqualError(t, err, c.want)
	}
}

func TestMaxCutIsTheCut(t *testing.T) {
	edges := []model.Edge{{I: 0, J: 1, W: 3}, {I: 1, J: 2, W: -1}, {I: 2, J: 3, W: 2}, {I: 3, J: 4, W: 1}, {I: 4, J: 0, W: 1}, {I: 0, J: 2, W: 2}}
	g, err := model.NewGraph(5, edges)
	require.NoError(t, err)
	m, err := model.MaxCut(g)
	require.NoError(t, err)
	e := make([]float64, 1)
	for _, x := range exact.States(5, 2) {
		cut := 0.0
		for _, b := range edges {
			if x[b.I] != x[b.J] {
				cut += b.W
			}
		}
		m.Energy(e, x)
		require.Equal(t, cut, g.Cut(x))
		require.Equal(t, 8./2-cut, e[0], "half the weight of all edges, minus the cut")
	}
	assert.PanicsWithValue(t, "model: len(x) = 4, want 5", func() { g.Cut(make([]int32, 4)) })
	assert.Zero(t, testing.AllocsPerRun(10, func() { g.Cut([]int32{0, 1, 0, 1, 1}) }))
}

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
