package model_test

import (
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var (
	_ energy.Differentiable = (*model.Potts)(nil)
	_ energy.Local          = (*model.Potts)(nil)
	_ energy.Graphical      = (*model.Potts)(nil)
)

// pottsSum returns E as the plain sum over a list of edges.
func pottsSum(edges []model.Edge, j float64, field []float64) func(x []int32) float64 {
	return func(x []int32) float64 {
		e := 0.0
		for _, b := range edges {
			if x[b.I] == x[b.J] {
				e -= j * b.W
			}
		}
		for _, l := range x {
			if field != nil {
				e -= field[l]
			}
		}
		return e
	}
}

func TestPottsByEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]float64{1, 0.1, math.Pi}).Draw(t, "unit")
		number := rapid.Custom(func(t *rapid.T) float64 { return unit * float64(rapid.IntRange(-2, 2).Draw(t, "k")) })
		levels := rapid.IntRange(1, 4).Draw(t, "levels")
		n := rapid.IntRange(1, []int{0, 5, 6, 5, 4}[levels]).Draw(t, "n")
		edges := drawEdges(t, n)
		j := number.Draw(t, "J")
		var field []float64
		if rapid.Bool().Draw(t, "with field") {
			field = rapid.SliceOfN(number, levels, levels).Draw(t, "field")
		}
		g, err := model.NewGraph(n, edges)
		require.NoError(t, err)
		m, err := model.NewPotts(g, levels, j, field)
		require.NoError(t, err)
		exact.CheckModel(t, m, unit == 1, pottsSum(edges, j, field))
		_, binary := energy.As[energy.Binary](m)
		require.Equal(t, levels == 2, binary)
		_, ordinal := energy.As[energy.Ordinal](m)
		require.False(t, ordinal)
	})
}

func TestPottsOnLattices(t *testing.T) {
	exact.SkipUnderRace(t)
	field := []float64{0.25, -1, 2}
	for _, c := range []struct {
		sides  []int
		levels int
	}{{[]int{3, 3}, 2}, {[]int{1}, 3}, {[]int{2, 3}, 3}, {[]int{5}, 3}, {[]int{2, 2, 2}, 2}} {
		n := model.Lattice(c.sides).Sites()
		m, err := model.NewPotts(model.Lattice(c.sides), c.levels, 1.5, field[:c.levels])
		require.NoError(t, err)
		sites, levels := m.Shape()
		require.Equal(t, []int{n, c.levels}, []int{sites, levels})
		exact.CheckModel(t, m, true, pottsSum(bonds(c.sides, true), 1.5, field[:c.levels]))

		m, err = model.NewPotts(model.FreeLattice(c.sides), c.levels, 1.5, nil)
		require.NoError(t, err)
		exact.CheckModel(t, m, true, pottsSum(bonds(c.sides, false), 1.5, nil))
	}
}

// On larger lattices the stencil and the index arrays must agree to the bit.
func TestPottsStencilIsTheGraph(t *testing.T) {
	for _, l := range []model.Lattice{{50, 50}, {3, 17}, {17, 3}, {4, 4}} {
		g, err := l.Graph()
		require.NoError(t, err)
		field := []float64{0.1, 0.2, 0.7, -1, 0}
		a, err := model.NewPotts(l, 5, 0.3, field)
		require.NoError(t, err)
		b, err := model.NewPotts(g, 5, 0.3, field)
		require.NoError(t, err)
		x := make([]int32, 3*l.Sites())
		fill(x, 5)
		e, f := make([]float64, 3), make([]float64, 3)
		ga, gb := make([]float32, 5*len(x)), make([]float32, 5*len(x))
		a.Gradient(e, ga, x)
		b.Gradient(f, gb, x)
		require.Equal(t, e, f)
		require.Equal(t, ga, gb)
		a.Energy(f, x)
		require.Equal(t, e, f)
	}
}

// Two levels of a Potts model with coupling 2J are an Ising model, up to the
// constant J times the number of bonds.
func TestPottsOfTwoLevelsIsIsing(t *testing.T) {
	l := model.Lattice{3, 4}
	p, err := model.NewPotts(l, 2, 2, nil)
	require.NoError(t, err)
	m, err := model.NewIsing(l, 1, 0)
	require.NoError(t, err)
	b, ok := energy.As[energy.Binary](p)
	require.True(t, ok)
	x := make([]int32, 4*12)
	fill(x, 2)
	e, f := make([]float64, 4), make([]float64, 4)
	h, k := make([]float32, len(x)), make([]float32, len(x))
	b.Field(e, h, x)
	m.Field(f, k, x)
	require.Equal(t, k, h)
	for s := range e {
		require.Equal(t, f[s]-24, e[s])
	}
}

func TestPottsRefuses(t *testing.T) {
	l := model.Lattice{3, 3}
	for _, c := range []struct {
		t      model.Topology
		levels int
		j      float64
		field  []float64
		want   string
	}{
		{nil, 2, 1, nil, "model: NewPotts: no topology"},
		{l, 0, 1, nil, "model: NewPotts: levels = 0, want 1 … 2147483647"},
		{l, 2, math.NaN(), nil, "model: NewPotts: coupling = NaN, want a finite number"},
		{l, 2, 1, []float64{1}, "model: NewPotts: len(field) = 1, want 2"},
		{l, 2, 1, []float64{1, math.Inf(-1)}, "model: NewPotts: field[1] = -Inf, want a finite number"},
		{l, 2, 1e308, nil, "model: NewPotts: the parameters add up to more than 8.988465674311579e+307, energies would overflow"},
		{model.Lattice{0}, 2, 1, nil, "model: Lattice: side 0 = 0, want ≥ 1"},
	} {
		_, err := model.NewPotts(c.t, c.levels, c.j, c.field)
		require.EqualError(t, err, c.want)
	}
}

func TestPottsPanics(t *testing.T) {
	m, err := model.NewPotts(model.Lattice{3}, 2, 1, nil)
	require.NoError(t, err)
	b, _ := energy.As[energy.Binary](m)
	e, g, x, d := make([]float64, 1), make([]float32, 6), make([]int32, 3), make([]float64, 6)
	for want, f := range map[string]func(){
		"model: len(x) = 2, want a multiple of 3": func() { m.Energy(e, x[:2]) },
		"model: len(e) = 0, want 1":               func() { m.Energy(nil, x) },
		"model: len(g) = 5, want 6":               func() { m.Gradient(e, g[:5], x) },
		"model: len(h) = 2, want 3":               func() { b.Field(e, g[:2], x) },
		"model: len(d) = 1, want 2":               func() { m.Conditional(d[:1], 0, x) },
		"model: len(d) = 3, want 6":               func() { m.Locals(d[:3], x) },
		"model: len(d) = 4, want 6":               func() { m.Move(d[:4], 0, 1, x) },
	} {
		require.PanicsWithValue(t, want, f)
	}
}

func TestPottsAllocatesNothing(t *testing.T) {
	if exact.Race {
		t.Skip("pools drop scratch")
	}
	for _, top := range []model.Topology{model.Lattice{3, 4}, model.FreeLattice{3, 4}} {
		m, err := model.NewPotts(top, 2, 1, nil)
		require.NoError(t, err)
		b, _ := energy.As[energy.Binary](m)
		e, x, g, d := make([]float64, 2), make([]int32, 24), make([]float32, 48), make([]float64, 24)
		exact.Steady(t, "Potts", func() {
			m.Energy(e, x)
			m.Gradient(e, g, x)
			b.Field(e, g[:24], x)
			m.Conditional(d[:2], 1, x[:12])
			m.Locals(d, x[:12])
			m.Move(d, 1, 1, x[:12])
		})
	}
}
