package energy_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// double is a model that supports every optional interface but Bipartite, each
// by the plainest formula: sites in a ring,
//
//	E(x) = Σ_i u_i(x_i) + Σ_i w_i·(x_i − x_{i+1})².
//
// The numbers are eighths, so that sums are exact, in float32 too.
type double struct {
	sites, levels int
	u             [][]float64
	w             []float64 // w_i joins i and i+1; 0: no edge
}

func newDouble(r *rand.Rand, sites, levels int) *double {
	m := &double{sites: sites, levels: levels, w: make([]float64, sites)}
	for i := range sites {
		row := make([]float64, levels)
		for l := range row {
			row[l] = eighth(r)
		}
		m.u = append(m.u, row)
		if i%3 != 2 {
			m.w[i] = eighth(r)
		}
	}
	return m
}

func eighth(r *rand.Rand) float64 { return float64(r.IntN(33)-16) / 8 }

func (m *double) one(x []int32) float64 {
	e := 0.0
	for i, v := range x {
		d := float64(v - x[(i+1)%m.sites])
		e += m.u[i][v] + m.w[i]*d*d
	}
	return e
}

func (m *double) Shape() (sites, levels int) { return m.sites, m.levels }

func (m *double) Energy(e []float64, x []int32) {
	for s := range e {
		e[s] = m.one(x[s*m.sites : (s+1)*m.sites])
	}
}

// at returns E(x with x_i = l).
func (m *double) at(x []int32, i int, l int32) float64 {
	y := slices.Clone(x)
	y[i] = l
	return m.one(y)
}

func (m *double) Conditional(d []float64, site int, x []int32) {
	for l := range d {
		d[l] = m.at(x, site, int32(l)) - m.one(x)
	}
	d[x[site]] = 0
}

func (m *double) Gradient(e []float64, g []float32, x []int32) {
	m.Energy(e, x)
	d := make([]float64, m.levels)
	for k := range x {
		m.Conditional(d, k%m.sites, x[k/m.sites*m.sites:][:m.sites])
		for l, v := range d {
			g[k*m.levels+l] = float32(v)
		}
	}
}

func (m *double) Field(e []float64, h []float32, x []int32) {
	m.Energy(e, x)
	for k := range x {
		y := x[k/m.sites*m.sites:][:m.sites]
		h[k] = float32(m.at(y, k%m.sites, 1) - m.at(y, k%m.sites, 0))
	}
}

func (m *double) Locals(d []float64, x []int32) {
	for i := range x {
		for l := range m.levels {
			d[i*m.levels+l] = m.at(x, i, int32(l)) - m.at(x, i, 0)
		}
	}
}

func (m *double) Move(d []float64, site int, to int32, x []int32) {
	before, after := make([]float64, len(d)), make([]float64, len(d))
	m.Locals(before, x)
	y := slices.Clone(x)
	y[site] = to
	m.Locals(after, y)
	for k := range d {
		if k/m.levels != site && !math.IsInf(before[k], 0) {
			d[k] += after[k] - before[k]
		}
	}
}

func (m *double) Graph() (start, adj []int32) {
	start = []int32{0}
	for i := range m.sites {
		for j := range m.sites {
			if (j == (i+1)%m.sites && m.w[i] != 0 || i == (j+1)%m.sites && m.w[j] != 0) && i != j {
				adj = append(adj, int32(j))
			}
		}
		start = append(start, int32(len(adj)))
	}
	return start, adj
}

func (m *double) Values() []float32 {
	v := make([]float32, m.levels)
	for l := range v {
		v[l] = float32(l)
	}
	return v
}

func (m *double) Window(e []float64, g []float32, x []int32, w int) {
	m.Energy(e, x)
	for k, at := range x {
		y := x[k/m.sites*m.sites:][:m.sites]
		for c := range 2*w + 1 {
			l := at + int32(c-w)
			d := math.Inf(1)
			if l >= 0 && int(l) < m.levels {
				d = m.at(y, k%m.sites, l) - m.one(y)
			}
			g[k*(2*w+1)+c] = float32(d)
		}
	}
}

// Estimate adds one number of the source to every entry.
func (m *double) Estimate(g []float32, x []int32, src []rand.Source) {
	m.Gradient(make([]float64, len(src)), g, x)
	row := m.sites * m.levels
	for s := range src {
		noise := float32(int32(src[s].Uint64())) * 0x1p-31
		for k := range row {
			g[s*row+k] += noise
		}
	}
}

// Repair has an opinion about site 0 only.
func (m *double) Repair(x []int32) {
	for s := 0; s < len(x); s += m.sites {
		x[s] = 1
	}
}

// kinds names the optional interfaces.
var kinds = []string{"Differentiable", "Binary", "Conditional", "Local", "Graphical", "Stochastic", "Ordinal", "Windowed", "Supported", "Bipartite"}

func has[T any](m energy.Model) bool { _, ok := energy.As[T](m); return ok }

// supports returns the kinds that m supports, in the order of kinds.
func supports(m energy.Model) []string {
	ok := []bool{has[energy.Differentiable](m), has[energy.Binary](m), has[energy.Conditional](m), has[energy.Local](m), has[energy.Graphical](m),
		has[energy.Stochastic](m), has[energy.Ordinal](m), has[energy.Windowed](m), has[energy.Supported](m), has[energy.Bipartite](m)}
	var names []string
	for k, name := range kinds {
		if ok[k] {
			names = append(names, name)
		}
	}
	return names
}

// without is a model that denies one interface (and those that contain it).
type without struct {
	energy.Model
	kind string
}

func (m without) As(target any) bool {
	switch p := target.(type) {
	case *energy.Differentiable:
		return pass(m, p, "Differentiable")
	case *energy.Binary:
		return pass(m, p, "Binary")
	case *energy.Conditional:
		return pass(m, p, "Conditional")
	case *energy.Local:
		return pass(m, p, "Local", "Conditional")
	case *energy.Graphical:
		return pass(m, p, "Graphical")
	case *energy.Stochastic:
		return pass(m, p, "Stochastic")
	case *energy.Ordinal:
		return pass(m, p, "Ordinal")
	case *energy.Windowed:
		return pass(m, p, "Windowed", "Ordinal")
	case *energy.Supported:
		return pass(m, p, "Supported")
	case *energy.Bipartite:
		return pass(m, p, "Bipartite")
	}
	return false
}

func pass[T any](m without, p *T, kinds ...string) bool {
	t, ok := energy.As[T](m.Model)
	if slices.Contains(kinds, m.kind) {
		return false
	}
	*p = t
	return ok
}

// minus returns a without the entries of b.
func minus(a []string, b ...string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// checkOnSupport is CheckModel on the support; the energy is checked everywhere,
// and so is the gauge of the table.
func checkOnSupport(t *testing.T, m energy.Model, brute func(x []int32) float64) {
	t.Helper()
	sites, levels := m.Shape()
	c := &exact.Checker{Model: m, Brute: brute, Slack: 0x1p-40}
	var energies []float64
	var support []int32
	e := make([]float64, 1)
	for _, x := range exact.States(sites, levels) {
		m.Energy(e, x)
		require.Equal(t, brute(x), e[0])
		if !math.IsInf(e[0], 1) {
			energies, support = append(energies, e[0]), append(support, x...)
		}
	}
	c.Tables(t, energies, support)
	for s := range energies {
		c.Single(t, support[s*sites:(s+1)*sites])
	}
	c.Graph(t)
	d, ok := energy.As[energy.Differentiable](m)
	require.True(t, ok)
	g := make([]float32, sites*levels)
	for _, x := range exact.States(sites, levels) {
		d.Gradient(e, g, x)
		require.Equal(t, brute(x), e[0])
		for i, v := range x {
			require.Zero(t, g[i*levels+int(v)], "the gauge holds outside the support, too")
		}
	}
}
