// Package cost estimates the cost of evaluating a model from the entries visited and the
// bytes touched, at fixed prices, roughly in nanoseconds of one core. It uses no clock, so
// the estimate is the same on every machine.
package cost

import "github.com/gibbsite-go/gibbsite/energy"

// Model holds the costs of one state of a model.
type Model struct {
	Sites, Levels int
	Degree        float64 // neighbours of a site on average; all other sites where they are not known

	Energy float64 // E(x)
	Table  float64 // E(x) and the differences to all levels of all sites
	Row    float64 // exact differences to the levels of one site
	Move   float64 // updating the exact table after a change of one site

	// A field from that of another state, and what a site that has changed adds: of
	// energy.Incremental models, otherwise the table's and 0.
	Field, Changed float64
}

// Prices, in nanoseconds, as the test of prices in package auto found them on many
// sizes.
const (
	call      = 200  // an evaluation, at the least
	site      = 1.0  // to look at a site
	stencil   = 0.5  // on a torus
	neighbour = 0.9  // to gather a neighbour for an energy
	gathered  = 6.0  // and for a table
	entry     = 3.0  // of a table of more than two levels
	product   = 0.12 // of a matrix, by vectors
	factor    = 0.39 // and by one row after the other
	changed   = 0.06 // of a row that is added
	resting   = 5.0  // a site that may have changed
	opaque    = 50.0 // a call for one site of a function
	visit     = 4.0  // a call for one site
	moved     = 20.0 // a change of a table of float64
	updated   = 10.0 // a row of it
	added     = 5.0  // and an entry of that
	sweeping  = 1.5  // a row of many that follow each other
)

// teller is a model that says what it costs itself.
type teller = interface {
	Cost() (energy, table float64)
}

// Of estimates the costs of a model.
func Of(m energy.Model) Model {
	sites, levels := m.Shape()
	n, l := float64(sites), float64(levels)
	c := Model{Sites: sites, Levels: levels, Degree: n - 1}
	_, local := energy.As[energy.Local](m)
	if t, ok := energy.As[teller](m); ok {
		c.Energy, c.Table = t.Cost()
		c.Row = opaque + float64(l*c.Energy)
	} else if g, ok := energy.As[energy.Graphical](m); ok {
		c.graph(m, g, n, l)
	} else if b, ok := energy.As[energy.Bipartite](m); ok {
		all := n * float64(b.Hidden())
		c.Energy = call + float64(product*all)
		c.Table = call + float64(2*product*all)
		c.Row = 5*call + float64(factor*all)
		c.Changed = changed * float64(b.Hidden())
	} else if local {
		c.Energy = call + float64(product*n*n)
		c.Table = c.Energy
		if levels > 2 {
			c.Table += float64(entry * n * l)
		}
		c.Move, c.Changed = moved+float64(sweeping*n), changed*n
	} else {
		c.Energy = 30 + float64(3*n)
		c.Table = 3 * c.Energy
		if c.Row = opaque + float64(l*c.Energy); !tabled(m) {
			c.Table = c.Energy + float64(n*c.Row)
		}
	}
	if local {
		c.Row = visit
	} else {
		c.Move = 0
	}
	c.Field = c.Table
	if _, ok := energy.As[energy.Incremental](m); ok && levels == 2 {
		c.Field = call + float64(resting*n)
	} else {
		c.Changed = 0
	}
	return c
}

// Memo caches the costs of a model.
type Memo struct{ known *Model }

// Of returns what Of returned for the model of the first call.
func (p *Memo) Of(m energy.Model) Model {
	if p.known == nil {
		c := Of(m)
		p.known = &c
	}
	return *p.known
}

// graph counts a model of which the neighbours are known.
func (c *Model) graph(m energy.Model, g energy.Graphical, n, l float64) {
	_, adj := g.Graph()
	c.Degree = float64(len(adj)) / n
	c.Energy = n * (site + float64(neighbour*c.Degree))
	c.Table = n * (2*site + float64(gathered*c.Degree))
	if t, ok := energy.As[energy.Toroidal](m); ok {
		if _, _, ok := t.Torus(); ok {
			c.Energy, c.Table = stencil*n, site*n
		}
	}
	if _, ok := energy.As[energy.Matching](m); ok && c.Levels > 2 {
		c.Table = n * (10*site + float64(entry*l))
	} else if c.Levels > 2 {
		c.Table += float64(entry * n * l)
	}
	c.Move = moved + float64(c.Degree*(updated+float64(added*l)))
}

// tabled reports whether a model knows its differences.
func tabled(m energy.Model) bool {
	_, binary := energy.As[energy.Binary](m)
	_, gradient := energy.As[energy.Differentiable](m)
	_, window := energy.As[energy.Windowed](m)
	return binary || gradient || window
}
