package exact

import (
	"math"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
)

// Rounding32 is the relative rounding error of one conversion to float32.
const Rounding32 = 0x1p-24

// Test is the part of *testing.T and *rapid.T that a [Checker] needs.
type Test interface {
	TB
	FailNow()
}

// Checker compares the methods of a model, on every state, with a plain formula for the model's
// energy. It includes the methods of every interface that [energy.As] finds in the model.
type Checker struct {
	Model energy.Model
	// plain formula for the energy of the state x
	Brute func(x []int32) float64

	// Exact requires energies and differences to be equal to those of Brute. Otherwise they may be
	// off by 2⁻⁴⁴·(m + 1), where m is the largest |energy|. This allows for 2⁹ roundings of 2⁻⁵³
	// each, far more than the tested models have terms.
	Exact bool

	// FirstOrder skips the check of tables of energy differences. Set it for models whose tables
	// are only first-order approximations. Such tables are checked elsewhere.
	FirstOrder bool

	// Slack is the permitted error of energy differences. [Checker.Run] sets it.
	Slack float64
}

// CheckModel runs a [Checker] on the model, where brute is the formula for the energy. If exactly
// is true, energies must be equal.
func CheckModel(t Test, m energy.Model, exactly bool, brute func(x []int32) float64) {
	t.Helper()
	(&Checker{Model: m, Brute: brute, Exact: exactly}).Run(t)
}

// Run checks every interface of the model on every state.
func (c *Checker) Run(t Test) {
	t.Helper()
	sites, levels := c.Model.Shape()
	var all []int32
	var want []float64
	largest := 0.0
	for _, x := range States(sites, levels) {
		all = append(all, x...)
		e := c.Brute(x)
		want = append(want, e)
		if !math.IsInf(e, 1) {
			largest = max(largest, math.Abs(e))
		}
	}
	if !c.Exact {
		c.Slack = 0x1p-44 * (largest + 1)
	}
	got := make([]float64, len(want))
	c.Model.Energy(got, all)
	for s := range got {
		c.Near(t, want[s], got[s], c.Slack, "energy of state", s)
	}
	c.Tables(t, got, all)
	for s := range got {
		if x := all[s*sites : (s+1)*sites]; !math.IsInf(got[s], 1) {
			c.Single(t, x)
		}
	}
	c.Graph(t)
	c.Pairs(t)
}

// Near asserts that |want − got| ≤ slack for two energies or energy differences. If want or got is
// infinite, the two must be equal.
func (c *Checker) Near(t Test, want, got, slack float64, what ...any) {
	t.Helper()
	if want == got || math.Abs(want-got) <= slack {
		return
	}
	require.Failf(t, "wrong", "%v: got %v, want %v ± %g", what, got, want, slack)
}

// Tables checks the methods of the model that return energy differences: Gradient, Field and
// Window. It calls each method for all states at once, and checks that the results for one state do
// not depend on the other states.
func (c *Checker) Tables(t Test, energies []float64, all []int32) {
	t.Helper()
	sites, levels := c.Model.Shape()
	e := make([]float64, len(energies))
	if m, ok := energy.As[energy.Differentiable](c.Model); ok {
		g := make([]float32, len(all)*levels)
		m.Gradient(e, g, all)
		require.Equal(t, energies, e, "Gradient's energies")
		row := make([]float32, sites*levels)
		for s := range e {
			x := all[s*sites : (s+1)*sites]
			m.Gradient(e[:1], row, x)
			require.Equal(t, g[s*len(row):(s+1)*len(row)], row, "rows depend on each other")
			c.Table(t, row, x)
		}
	}
	if m, ok := energy.As[energy.Binary](c.Model); ok {
		require.Equal(t, 2, levels)
		h := make([]float32, len(all))
		m.Field(e, h, all)
		require.Equal(t, energies, e, "Field's energies")
		row := make([]float32, sites)
		for s := range e {
			x := all[s*sites : (s+1)*sites]
			m.Field(e[:1], row, x)
			require.Equal(t, h[s*sites:(s+1)*sites], row, "rows depend on each other")
			for i := range x {
				d := c.difference(x, i, 1, 0)
				if !c.FirstOrder && !math.IsNaN(d) {
					c.Near(t, d, float64(row[i]), c.Slack+Rounding32*math.Abs(d), "Field", x, i)
				}
			}
		}
	}
}

// Table checks the table g of energy differences, which the model returned for the state x, against
// differences of [Checker.Brute].
func (c *Checker) Table(t Test, g []float32, x []int32) {
	t.Helper()
	_, levels := c.Model.Shape()
	for i := range x {
		require.Zero(t, g[i*levels+int(x[i])], "the entry of the current level")
		for l := range int32(levels) {
			d := c.difference(x, i, l, x[i])
			if !c.FirstOrder && !math.IsNaN(d) {
				c.Near(t, d, float64(g[i*levels+int(l)]), c.Slack+Rounding32*math.Abs(d), "Gradient", x, i, l)
			}
		}
	}
}

// Single checks the methods of the model that concern a single site: Conditional, Locals and Move.
// It calls them for the state x, which must have a finite energy.
func (c *Checker) Single(t Test, x []int32) {
	t.Helper()
	sites, levels := c.Model.Shape()
	if m, ok := energy.As[energy.Conditional](c.Model); ok {
		d := make([]float64, levels)
		for i := range x {
			m.Conditional(d, i, x)
			for l := range int32(levels) {
				c.Near(t, c.difference(x, i, l, x[i]), d[l], 2*c.Slack, "Conditional", x, i, l)
			}
		}
	}
	m, ok := energy.As[energy.Local](c.Model)
	if !ok {
		return
	}
	d := make([]float64, sites*levels)
	locals := func(x []int32) {
		for i := range x {
			for l := range int32(levels) {
				// Rows may be off by a constant; x_i has a finite entry.
				row := d[i*levels : (i+1)*levels]
				c.Near(t, c.difference(x, i, l, x[i]), row[l]-row[x[i]], 2*c.Slack, "Locals", x, i, l)
			}
		}
	}
	m.Locals(d, x)
	locals(x)
	start := slices.Clone(d)
	for i := range x {
		for l := range int32(levels) {
			copy(d, start)
			y := slices.Clone(x)
			m.Move(d, i, l, y)
			require.Equal(t, x, y, "Move changed x")
			y[i] = l
			if !math.IsInf(c.Brute(y), 1) {
				locals(y)
			}
			for k := range levels {
				require.Equal(t, start[i*levels+k], d[i*levels+k], "row of the moved site")
			}
		}
	}
}

// Graph checks that the model's lists of the neighbours of each site are sorted, symmetric and
// complete.
func (c *Checker) Graph(t Test) {
	t.Helper()
	m, ok := energy.As[energy.Graphical](c.Model)
	if !ok {
		return
	}
	sites, levels := c.Model.Shape()
	start, adj := m.Graph()
	require.Len(t, start, sites+1)
	require.Len(t, adj, int(start[sites]))
	for i := range sites {
		row := adj[start[i]:start[i+1]]
		for k, j := range row {
			require.NotEqual(t, int32(i), j)
			require.True(t, k == 0 || row[k-1] < j, "not ascending")
			require.Contains(t, adj[start[j]:start[j+1]], int32(i), "not symmetric")
		}
		for j := range sites {
			if i == j || slices.Contains(row, int32(j)) {
				continue
			}
			for _, x := range States(sites, levels) {
				y := slices.Clone(x)
				y[j] = (y[j] + 1) % int32(levels)
				d, f := c.difference(x, i, 0, x[i]), c.difference(y, i, 0, y[i])
				if !math.IsNaN(d) && !math.IsNaN(f) {
					c.Near(t, d, f, 2*c.Slack, "depends on a site that is no neighbour", x, i, j)
				}
			}
		}
	}
}

// difference returns E(x with x_i = to) − E(x with x_i = from).
func (c *Checker) difference(x []int32, i int, to, from int32) float64 {
	y := slices.Clone(x)
	y[i] = to
	a := c.Brute(y)
	y[i] = from
	return a - c.Brute(y)
}

// Pairs checks the couplings and fields of an energy.Pairwise model. Up to a constant, the energy
// that they define must be the model's energy on every state.
func (c *Checker) Pairs(t Test) {
	t.Helper()
	m, ok := energy.As[energy.Pairwise](c.Model)
	if !ok {
		return
	}
	start, adj, weight, field, ok := m.Pairs()
	if !ok {
		return
	}
	sites, levels := c.Model.Shape()
	require.Equal(t, 2, levels, "levels of a model of pairs")
	require.Len(t, field, sites)
	require.Len(t, start, sites+1)
	require.Len(t, adj, int(start[sites]))
	require.Len(t, weight, len(adj))
	zero := c.Brute(make([]int32, sites))
	for _, x := range States(sites, levels) {
		twice := 0.0
		for i, v := range x {
			twice += 2 * field[i] * float64(v)
			for k := start[i]; k < start[i+1]; k++ {
				require.NotEqual(t, int32(i), adj[k])
				require.True(t, k == start[i] || adj[k-1] < adj[k], "not ascending")
				twice += weight[k] * float64(v*x[adj[k]])
			}
		}
		c.Near(t, c.Brute(x)-zero, twice/2, 2*c.Slack, "energy of pairs", x)
	}
}
