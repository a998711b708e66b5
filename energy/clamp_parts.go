package energy

import (
	"math"
	"math/rand/v2"
)

// As implements [Capable].
func (c *clamped) As(target any) bool {
	switch p := target.(type) {
	case *Differentiable:
		return around(c.m, p, func(m Differentiable) Differentiable { return clampedTable{c, m} })
	case *Binary:
		return around(c.m, p, func(m Binary) Binary { return clampedField{c, m} })
	case *Conditional:
		return around(c.m, p, func(m Conditional) Conditional { return clampedConditional{c, m} })
	case *Local:
		return around(c.m, p, func(m Local) Local { return clampedLocal{clampedConditional{c, m}, m} })
	case *Graphical:
		return around(c.m, p, func(m Graphical) Graphical { return clampedGraph{c, m} })
	case *Ordinal:
		return around(c.m, p, func(m Ordinal) Ordinal { return clampedOrdinal{c, m} })
	case *Windowed:
		return around(c.m, p, func(m Windowed) Windowed { return clampedWindow{clampedOrdinal{c, m}, m} })
	case *Stochastic:
		return around(c.m, p, func(m Stochastic) Stochastic { return clampedEstimate{c, m} })
	case *Bipartite:
		return around(c.m, p, func(m Bipartite) Bipartite { return clampedBipartite{c, m} })
	case *Parametric:
		return around(c.m, p, func(m Parametric) Parametric { return clampedParams{c, m} })
	case *teller:
		return around(c.m, p, func(m teller) teller { return m })
	case *Learnable:
		return around(c.m, p, func(m Learnable) Learnable { return clampedLearn{c, m} })
	}
	return false
}

// clampedTable is a clamped model as [Differentiable].
type clampedTable struct {
	*clamped
	m Differentiable
}

// Gradient implements [Differentiable].
func (c clampedTable) Gradient(e []float64, g []float32, x []int32) {
	c.m.Gradient(e, g, x)
	c.energies(e, x)
	c.rows(g, x)
}

// rows corrects the rows of the fixed sites in a table of differences.
func (c *clamped) rows(g []float32, x []int32) {
	for ; len(x) > 0; x = x[c.sites:] {
		for _, i := range c.which {
			block(g[i*c.levels:(i+1)*c.levels], int(x[i]))
		}
		g = g[c.sites*c.levels:]
	}
}

// block makes every entry of a row +Inf but one, which becomes 0.
func block[T float32 | float64](row []T, but int) {
	for l := range row {
		row[l] = T(math.Inf(1))
	}
	row[but] = 0
}

// clampedField is a clamped model as [Binary].
type clampedField struct {
	*clamped
	m Binary
}

// Field implements [Binary].
func (c clampedField) Field(e []float64, h []float32, x []int32) {
	c.m.Field(e, h, x)
	c.energies(e, x)
	c.fields(h, 1)
}

// fields makes the entry of every fixed site +Inf, times sign, where it is
// fixed at 0 and −Inf where it is fixed at 1.
func (c *clamped) fields(h []float32, sign int) {
	for ; len(h) > 0; h = h[c.sites:] {
		for _, i := range c.which {
			h[i] = float32(math.Inf(sign * int(1-2*c.fixed[i])))
		}
	}
}

// clampedConditional is a clamped model as [Conditional].
type clampedConditional struct {
	*clamped
	m Conditional
}

// Conditional implements [Conditional].
func (c clampedConditional) Conditional(d []float64, site int, x []int32) {
	c.m.Conditional(d, site, x)
	if c.fixed[site] != free {
		block(d, int(x[site]))
	}
}

// clampedLocal is a clamped model as [Local].
type clampedLocal struct {
	clampedConditional
	m Local
}

// Locals implements [Local].
func (c clampedLocal) Locals(d []float64, x []int32) {
	c.m.Locals(d, x)
	for _, i := range c.which {
		block(d[i*c.levels:(i+1)*c.levels], int(c.fixed[i]))
	}
}

// Move implements [Local]. What the model inside adds to the row of a fixed
// site is a constant to its one finite entry.
func (c clampedLocal) Move(d []float64, site int, to int32, x []int32) { c.m.Move(d, site, to, x) }

// clampedGraph is a clamped model as [Graphical].
type clampedGraph struct {
	*clamped
	m Graphical
}

// Graph implements [Graphical] with the graph of the model inside.
func (c clampedGraph) Graph() (start, adj []int32) { return c.m.Graph() }

// clampedOrdinal is a clamped model as [Ordinal].
type clampedOrdinal struct {
	*clamped
	m Ordinal
}

// Values implements [Ordinal].
func (c clampedOrdinal) Values() []float32 { return c.m.Values() }

// clampedWindow is a clamped model as [Windowed].
type clampedWindow struct {
	clampedOrdinal
	m Windowed
}

// Window implements [Windowed].
func (c clampedWindow) Window(e []float64, g []float32, x []int32, w int) {
	c.m.Window(e, g, x, w)
	c.energies(e, x)
	columns := 2*w + 1
	for ; len(g) > 0; g = g[c.sites*columns:] {
		for _, i := range c.which {
			block(g[i*columns:(i+1)*columns], w)
		}
	}
}

// clampedEstimate is a clamped model as [Stochastic].
type clampedEstimate struct {
	*clamped
	m Stochastic
}

// Estimate implements [Stochastic]; the rows of fixed sites are certain.
func (c clampedEstimate) Estimate(g []float32, x []int32, src []rand.Source) {
	c.m.Estimate(g, x, src)
	if c.levels == 2 && len(g) == len(x) {
		c.fields(g, 1)
		return
	}
	c.rows(g, x)
}

// clampedBipartite is a clamped model as [Bipartite].
type clampedBipartite struct {
	*clamped
	m Bipartite
}

// Hidden implements [Bipartite].
func (c clampedBipartite) Hidden() int { return c.m.Hidden() }

// HiddenField implements [Bipartite].
func (c clampedBipartite) HiddenField(f []float32, x []int32) { c.m.HiddenField(f, x) }

// VisibleField implements [Bipartite]: a fixed site is certain.
func (c clampedBipartite) VisibleField(f []float32, h []int32) {
	c.m.VisibleField(f, h)
	c.fields(f, -1)
}

// clampedParams is a clamped model as [Parametric]: states outside the support
// have the gradient of the model inside.
type clampedParams struct {
	*clamped
	m Parametric
}

// Params implements [Parametric].
func (c clampedParams) Params() []float64 { return c.m.Params() }

// ParamGradient implements [Parametric].
func (c clampedParams) ParamGradient(g []float64, x []int32, w []float64) { c.m.ParamGradient(g, x, w) }

// SetParams implements [Parametric].
func (c clampedParams) SetParams(theta []float64) error { return c.m.SetParams(theta) }

// clampedLearn is a clamped model as [Learnable].
type clampedLearn struct {
	*clamped
	m Learnable
}

// Learn implements [Learnable].
func (c clampedLearn) Learn() (Parametric, error) {
	fixed := make(map[int]int32, len(c.which))
	for _, i := range c.which {
		fixed[i] = c.fixed[i]
	}
	return relearned(c.m, func(m Model) (Model, error) { return Clamp(m, fixed) })
}
