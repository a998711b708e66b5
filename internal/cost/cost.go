// Package cost estimates the time to evaluate a model, roughly in nanoseconds on one core. It
// counts the entries visited and the bytes touched, and multiplies both counts by fixed unit costs.
// It does not measure time, so the estimate is the same on every machine.
package cost

import "github.com/gibbsite-go/gibbsite/energy"

// Model holds the estimated costs of evaluating one state of a model, in nanoseconds.
type Model struct {
	Sites, Levels int
	// average number of neighbours of a site; if the neighbours are not known, the number of
	// other sites
	Degree float64

	Energy float64 // cost of E(x)
	Table  float64 // cost of E(x) and of the table of energy differences to all levels of all sites
	Row    float64 // cost of the exact energy differences to all levels of one site
	Move   float64 // cost of updating the table after changing one site, without an approximation

	// Field is the cost of updating a field after sites have changed (see [energy.Incremental]),
	// and Changed is the additional cost per changed site. If the model does not implement
	// energy.Incremental, Field is Table and Changed is 0.
	Field, Changed float64
}

// Unit costs in nanoseconds, determined by the test of unit costs in package auto for many
// sizes.
const (
	call      = 200  // minimum cost of an evaluation
	site      = 1.0  // cost per site visited
	stencil   = 0.5  // cost per site of a model on a torus
	neighbour = 0.9  // cost per neighbour of an energy
	gathered  = 6.0  // cost per neighbour of a table
	entry     = 3.0  // cost per entry of a table with more than two levels
	product   = 0.12 // cost per entry of a matrix product, vectorised
	factor    = 0.39 // cost per entry of a matrix product, row by row
	changed   = 0.06 // cost per entry of an added row
	resting   = 5.0  // cost per site that may have changed
	opaque    = 50.0 // cost of calling a function for one site
	visit     = 4.0  // cost of a call for one site of a model with a table
	moved     = 20.0 // cost of changing a float64 table at one site
	updated   = 10.0 // cost per row updated in such a change
	added     = 5.0  // cost per entry of such a row
	sweeping  = 1.5  // cost per row of many consecutive rows
)

// teller is a model that provides its costs.
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

// Of returns the costs of m. The first call computes them and later calls return the cached result,
// so all calls must pass the same model.
func (p *Memo) Of(m energy.Model) Model {
	if p.known == nil {
		c := Of(m)
		p.known = &c
	}
	return *p.known
}

// graph sets the costs of a model with known neighbours.
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

// tabled reports whether a model provides tables of energy differences.
func tabled(m energy.Model) bool {
	_, binary := energy.As[energy.Binary](m)
	_, gradient := energy.As[energy.Differentiable](m)
	_, window := energy.As[energy.Windowed](m)
	return binary || gradient || window
}
