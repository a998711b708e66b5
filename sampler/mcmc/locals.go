package mcmc

import (
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// locals serves kernels that change one site at a time: exact single-site
// energies of every chain, cached where the model can keep them up to date, and
// the running energy of every chain.
type locals struct {
	model         energy.Model
	local         energy.Local // nil if the model has no cheap updates
	conditional   energy.Conditional
	sites, levels int
	e             []float64 // running energies
	d             []float64 // cache: chains × sites × levels; or one row
	age           int       // steps since the cache was computed
}

// refreshEvery bounds how many steps of rounding errors, each near 1e−16 of a
// difference, gather in the caches before they are computed afresh.
const refreshEvery = 512

func newLocals(m energy.Model, chains int) *locals {
	sites, levels := m.Shape()
	c := &locals{model: m, sites: sites, levels: levels, e: make([]float64, chains)}
	if l, ok := energy.As[energy.Local](m); ok {
		c.local = l
		c.d = make([]float64, chains*sites*levels)
		return c
	}
	c.conditional = energy.Conditionals(m)
	c.d = make([]float64, levels)
	return c
}

// Reset computes energies and caches afresh.
func (c *locals) Reset(x []int32) error {
	c.age = 0
	c.model.Energy(c.e, x)
	if err := sampler.CheckStart(c.e); err != nil {
		return err
	}
	if c.local != nil {
		for s := range c.e {
			c.local.Locals(c.chain(s), x[s*c.sites:(s+1)*c.sites])
		}
	}
	return nil
}

// refresh is Reset when it is due.
func (c *locals) refresh(x []int32) {
	if c.age++; c.age >= refreshEvery {
		_ = c.Reset(x) // a state that lost its energy shows in the next step
	}
}

func (c *locals) chain(s int) []float64 {
	n := c.sites * c.levels
	return c.d[s*n : (s+1)*n]
}

// row returns the energies of the levels of one site of chain s at state x, up
// to a constant. The slice is valid until the next call.
func (c *locals) row(s, site int, x []int32) []float64 {
	if c.local != nil {
		at := (s*c.sites + site) * c.levels
		return c.d[at : at+c.levels]
	}
	c.conditional.Conditional(c.d, site, x)
	return c.d
}

// move sets x_site to the level to, given what row returned for that site.
func (c *locals) move(s, site int, to int32, x []int32, row []float64) {
	c.e[s] += row[to] - row[x[site]]
	if c.local != nil {
		c.local.Move(c.chain(s), site, to, x)
	}
	x[site] = to
}

func (c *locals) AppendBinary(b []byte) ([]byte, error) {
	b = wire.AppendInt32s(b, []int32{int32(c.age)})
	b = wire.AppendFloat64s(b, c.e)
	if c.local != nil {
		b = wire.AppendFloat64s(b, c.d)
	}
	return b, nil
}

func (c *locals) UnmarshalBinary(b []byte) error {
	age := make([]int32, 1)
	b, err := wire.ReadInt32s(b, age)
	if err != nil {
		return err
	}
	if b, err = wire.ReadFloat64s(b, c.e); err != nil {
		return err
	}
	if c.local != nil {
		if b, err = wire.ReadFloat64s(b, c.d); err != nil {
			return err
		}
	}
	c.age = int(age[0])
	return wire.ReadEnd(b)
}
