package model_test

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var (
	_ energy.Differentiable = (*model.Ising)(nil)
	_ energy.Binary         = (*model.Ising)(nil)
	_ energy.Local          = (*model.Ising)(nil)
	_ energy.Graphical      = (*model.Ising)(nil)
)

// isingSum returns E as the plain sum over a list of edges.
func isingSum(edges []model.Edge, j float64, h []float64) func(x []int32) float64 {
	return func(x []int32) float64 {
		e := 0.0
		for _, b := range edges {
			e -= j * b.W * float64((2*x[b.I]-1)*(2*x[b.J]-1))
		}
		for i, v := range x {
			e -= h[i] * float64(2*v-1)
		}
		return e
	}
}

// repeat returns n copies of v.
func repeat(v float64, n int) []float64 { return slices.Repeat([]float64{v}, n) }

func TestIsingOnLattices(t *testing.T) {
	exact.SkipUnderRace(t)
	sides := [][]int{{1}, {2}, {3}, {6}, {2, 2}, {2, 3}, {1, 4}, {3, 1}, {2, 1, 3}}
	if exact.Long() {
		sides = append(sides, []int{3, 3}, []int{2, 4}, []int{2, 2, 2})
	}
	for _, sides := range sides {
		n := model.Lattice(sides).Sites()
		extra := make([]float64, n)
		for i := range extra {
			extra[i] = float64(i%3) - 1
		}
		for _, par := range []struct{ j, h float64 }{{1, 0}, {-2, 3}, {0, 1}, {0.3, -0.7}} {
			integer := par.j == math.Trunc(par.j)
			m, err := model.NewIsing(model.Lattice(sides), par.j, par.h)
			require.NoError(t, err)
			exact.CheckModel(t, m, integer, isingSum(bonds(sides, true), par.j, repeat(par.h, n)))

			with := repeat(par.h, n)
			for i, v := range extra {
				with[i] += v
			}
			m, err = m.WithFields(extra)
			require.NoError(t, err)
			exact.CheckModel(t, m, integer, isingSum(bonds(sides, true), par.j, with))

			m, err = model.NewIsing(model.FreeLattice(sides), par.j, par.h)
			require.NoError(t, err)
			exact.CheckModel(t, m, integer, isingSum(bonds(sides, false), par.j, repeat(par.h, n)))
		}
	}
}

func TestIsingOnGraphs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "n")
		edges := drawEdges(t, n)
		j := rapid.IntRange(-2, 2).Draw(t, "J")
		h := rapid.IntRange(-2, 2).Draw(t, "h")
		extra := rapid.SliceOfN(rapid.IntRange(-2, 2), n, n).Draw(t, "extra")
		unit := rapid.SampledFrom([]float64{1, 0.1, math.Pi}).Draw(t, "unit")

		g, err := model.NewGraph(n, edges)
		require.NoError(t, err)
		m, err := model.NewIsing(g, unit*float64(j), unit*float64(h))
		require.NoError(t, err)
		fields, more := repeat(unit*float64(h), n), make([]float64, n)
		for i, v := range extra {
			more[i] = unit * float64(v)
			fields[i] += more[i]
		}
		m, err = m.WithFields(more)
		require.NoError(t, err)
		exact.CheckModel(t, m, unit == 1, isingSum(edges, unit*float64(j), fields))
	})
}

// On larger lattices the stencil and the index arrays must agree to the bit.
func TestIsingStencilIsTheGraph(t *testing.T) {
	for _, sides := range [][]int{{50, 50}, {3, 17}, {17, 3}, {2, 31}, {64, 1}, {4, 5, 6}, {3, 2, 5, 3}, {2, 3, 3, 3, 3}, {200}} {
		l := model.Lattice(sides)
		g, err := l.Graph()
		require.NoError(t, err)
		a, err := model.NewIsing(l, 0.1, -0.7)
		require.NoError(t, err)
		b, err := model.NewIsing(g, 0.1, -0.7)
		require.NoError(t, err)
		n := l.Sites()
		x := make([]int32, 3*n)
		for i := range x {
			x[i] = int32(i*i/7+i/3) & 1
		}
		for range 2 {
			e, f := make([]float64, 3), make([]float64, 3)
			h, k := make([]float32, 3*n), make([]float32, 3*n)
			a.Field(e, h, x)
			b.Field(f, k, x)
			require.Equal(t, e, f, "%v", sides)
			require.Equal(t, h, k, "%v", sides)
			a.Energy(f, x)
			require.Equal(t, e, f, "%v", sides)

			fields := make([]float64, n)
			for i := range fields {
				fields[i] = math.Sin(float64(i))
			}
			a, err = a.WithFields(fields)
			require.NoError(t, err)
			b, err = b.WithFields(fields)
			require.NoError(t, err)
		}
	}
}

// The figures of the tori with E(s) = −0.1 sᵀWs − 0.2 Σs, W counting each bond
// in both directions, come from transfer matrices in 40 decimal digits.
func TestIsingKnownAnswersSide4(t *testing.T) {
	m, err := model.NewIsing(model.Lattice{4, 4}, 0.2, 0.2)
	require.NoError(t, err)
	p, logZ := exact.Law(m)
	require.InDelta(t, 12.59850259739004, logZ, 1e-12)
	require.InDelta(t, 0.4800050727469961, exact.Expect(p, 16, 2, energy.Magnetization), 1e-12)
}

func TestIsingKnownAnswersSide5(t *testing.T) {
	if !exact.Long() {
		t.Skip("enumerates 2²⁵ states: -long")
	}
	m, err := model.NewIsing(model.Lattice{5, 5}, 0.2, 0.2)
	require.NoError(t, err)
	p, logZ := exact.Law(m)
	require.InDelta(t, 19.67408576134091, logZ, 1e-12)
	require.InDelta(t, 0.4829698422359797, exact.Expect(p, 25, 2, energy.Magnetization), 1e-12)
	corr, err := model.NeighborCorrelation(model.Lattice{5, 5})
	require.NoError(t, err)
	require.InDelta(t, 0.368767061, exact.Expect(p, 25, 2, corr), 5e-10)
}

func TestIsingRefuses(t *testing.T) {
	l := model.Lattice{3, 3}
	for _, c := range []struct {
		t    model.Topology
		j, h float64
		want string
	}{
		{nil, 1, 1, "model: NewIsing: no topology"},
		{l, math.NaN(), 1, "model: NewIsing: coupling = NaN, want a finite number"},
		{l, 1, math.Inf(1), "model: NewIsing: field = +Inf, want a finite number"},
		{l, 1e308, 1, "model: NewIsing: the parameters add up to more than 8.988465674311579e+307, energies would overflow"},
		{(*model.Graph)(nil), 1, 1, "model: empty Graph, want one made by NewGraph"},
	} {
		_, err := model.NewIsing(c.t, c.j, c.h)
		require.EqualError(t, err, c.want)
	}
	m, err := model.NewIsing(l, 1, 1)
	require.NoError(t, err)
	_, err = m.WithFields(make([]float64, 8))
	require.EqualError(t, err, "model: WithFields: len(h) = 8, want 9")
	_, err = m.WithFields([]float64{0, 0, math.NaN(), 0, 0, 0, 0, 0, 0})
	require.EqualError(t, err, "model: WithFields: h[2] = NaN, want a finite number")
	_, err = m.WithFields(repeat(1e308, 9))
	require.Error(t, err)
}

func TestIsingPanics(t *testing.T) {
	m, err := model.NewIsing(model.Lattice{3, 3}, 1, 0)
	require.NoError(t, err)
	e, h, g := make([]float64, 1), make([]float32, 9), make([]float32, 18)
	x, d := make([]int32, 9), make([]float64, 18)
	for want, f := range map[string]func(){
		"model: len(x) = 7, want a multiple of 9": func() { m.Energy(e, x[:7]) },
		"model: len(e) = 0, want 1":               func() { m.Energy(nil, x) },
		"model: len(h) = 8, want 9":               func() { m.Field(e, h[:8], x) },
		"model: len(g) = 9, want 18":              func() { m.Gradient(e, g[:9], x) },
		"model: len(d) = 1, want 2":               func() { m.Conditional(d[:1], 0, x) },
		"model: len(x) = 8, want 9":               func() { m.Conditional(d[:2], 0, x[:8]) },
		"model: len(d) = 17, want 18":             func() { m.Locals(d[:17], x) },
		"model: len(d) = 16, want 18":             func() { m.Move(d[:16], 0, 1, x) },
	} {
		require.PanicsWithValue(t, want, f)
	}
	require.NotPanics(t, func() { m.Field(nil, nil, nil) })
}

func TestIsingAllocatesNothing(t *testing.T) {
	for _, l := range []model.Lattice{{9}, {4, 5}, {3, 2, 4}} {
		g, err := l.Graph()
		require.NoError(t, err)
		for _, top := range []model.Topology{l, g} {
			m, err := model.NewIsing(top, 1, 0)
			require.NoError(t, err)
			n := l.Sites()
			e, x, tab, d := make([]float64, 2), make([]int32, 2*n), make([]float32, 4*n), make([]float64, 2*n)
			exact.Steady(t, "Ising", func() {
				m.Energy(e, x)
				m.Field(e, tab[:2*n], x)
				m.Gradient(e, tab, x)
				m.Conditional(d[:2], 1, x[:n])
				m.Locals(d, x[:n])
				m.Move(d, 1, 1, x[:n])
			})
		}
	}
}

// Dense graphs with integer weights take another road to the field, with the
// bits of the energies and of the exact differences; with weights that are not
// integers, or that add up to too much, they do not.
func TestIsingDenseGraphs(t *testing.T) {
	const n = 97
	for _, unit := range []float64{1, -3, 0.1, 1 << 45} {
		m, err := model.NewIsing(circulant(n, 12, unit), 0.37/math.Abs(unit), -0.21)
		require.NoError(t, err)
		x := make([]int32, 3*n)
		fill(x, 2)
		e, h, want, d := make([]float64, 3), make([]float32, 3*n), make([]float64, 3), make([]float64, 2)
		m.Field(e, h, x)
		m.Energy(want, x)
		require.Equal(t, want, e)
		for i, v := range h {
			state := x[i/n*n : (i/n+1)*n]
			m.Conditional(d, i%n, state)
			require.Equal(t, float32(d[1]-d[0]), v)
		}
	}
	m, err := model.NewIsing(circulant(n, 12, 1), 0.37, -0.21)
	require.NoError(t, err)
	e, h, x := make([]float64, 1), make([]float32, n), make([]int32, n)
	exact.Steady(t, "dense Ising", func() { m.Field(e, h, x) })
}

// own is a lattice whose graph is another one.
type own struct{ model.Lattice }

func (own) Graph() (*model.Graph, error) { return model.NewGraph(6, []model.Edge{{I: 0, J: 1, W: 1}}) }

// TestLatticeMakesNoGraph: an Ising model on a lattice, given as a value or by a
// pointer, makes the graph when it is asked for and not before; others look at it.
func TestLatticeMakesNoGraph(t *testing.T) {
	const side = 512
	l := model.Lattice{side, side}
	for _, topology := range []model.Topology{l, &l} {
		x, e, h := make([]int32, side*side), make([]float64, 1), make([]float32, side*side)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m, err := model.NewIsing(topology, 0.3, 0.1)
		require.NoError(t, err)
		m.Energy(e, x)
		m.Field(e, h, x)
		_, _, ok := m.Torus()
		require.True(t, ok)
		_, _, ok = m.Matching()
		require.True(t, ok)
		runtime.ReadMemStats(&after)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(5*side*side), "a graph takes 56 bytes a site, the scratch of an energy 4")
		want, err := l.Graph()
		require.NoError(t, err)
		_, adj := m.Graph()
		assert.Len(t, adj, 2*want.Len())
		again, _ := m.Graph()
		first, _ := m.Graph()
		assert.Same(t, &again[0], &first[0])
	}
	m, err := model.NewIsing(own{model.Lattice{2, 3}}, 0.3, 0)
	require.NoError(t, err)
	_, adj := m.Graph()
	assert.Len(t, adj, 2, "the graph counts")
	for _, bad := range []model.Topology{model.Lattice{}, model.Lattice{0, 3}, model.Lattice{1 << 20, 1 << 20}} {
		_, err := model.NewIsing(bad, 1, 0)
		assert.ErrorContains(t, err, "model: Lattice:")
	}
}

// Goroutines that share a model, and its scratch, must not meet.
func TestModelsAreSafeForConcurrentUse(t *testing.T) {
	ising, err := model.NewIsing(model.Lattice{3, 4, 5}, 0.3, 0.1)
	require.NoError(t, err)
	potts, err := model.NewPotts(model.Lattice{6, 10}, 2, 0.3, nil)
	require.NoError(t, err)
	quadratic, err := model.NewDenseQuadratic(60, repeat(0.1, 3600), model.Polynomial{})
	require.NoError(t, err)
	big := bigMachine(60, 30)
	rbm, err := model.NewRBM(big.w, big.bh, big.bv)
	require.NoError(t, err)
	for _, m := range []energy.Differentiable{ising, potts, quadratic, rbm} {
		c := m.(energy.Conditional)
		work := func() ([]float64, []float32, []float64) {
			x := make([]int32, 4*60)
			fill(x, 2)
			e, g, d := make([]float64, 4), make([]float32, 2*len(x)), make([]float64, 2)
			m.Gradient(e, g, x)
			c.Conditional(d, 7, x[:60])
			return e, g, d
		}
		e, g, d := work()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 20 {
					e2, g2, d2 := work()
					if !slices.Equal(e, e2) || !slices.Equal(g, g2) || !slices.Equal(d, d2) {
						t.Errorf("%T: another result while other goroutines run", m)
					}
				}
			})
		}
		wg.Wait()
	}
}
