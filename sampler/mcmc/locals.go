package mcmc

import (
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/cost"
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
	at            cursor
	price         cost.Memo
}

// updateWork is how many elementary operations a level of a site costs.
const updateWork = 64

// refreshEvery bounds how many steps of rounding errors, each near 1e−16 of a
// difference, gather in the caches before they are computed afresh.
const refreshEvery = 512

func newLocals(m energy.Model, chains int) *locals {
	sites, levels := m.Shape()
	c := apart.New(locals{model: m, sites: sites, levels: levels, e: apart.Make[float64](chains), at: newCursor(chains)})
	if l, ok := energy.As[energy.Local](m); ok {
		c.local = l
		prepare(m)
		c.d = make([]float64, chains*sites*levels)
		return c
	}
	c.conditional = energy.Conditionals(m)
	c.d = make([]float64, levels)
	return c
}

// newUncached is newLocals for kernels that need running energies only.
func newUncached(m energy.Model, chains int) *locals {
	sites, levels := m.Shape()
	return apart.New(locals{model: m, sites: sites, levels: levels, e: apart.Make[float64](chains), at: newCursor(chains)})
}

// Reset implements [sampler.Transition].
func (c *locals) Reset(ctl sampler.Control, x []int32) error {
	c.age = 0
	return c.at.renew(ctl.Stop, 1, c.sites*c.levels, func(_, lo, hi int) (bool, error) { return true, c.compute(lo, hi, x) })
}

// compute computes energies and caches of the chains lo … hi−1.
func (c *locals) compute(lo, hi int, x []int32) error {
	c.model.Energy(c.e[lo:hi], x[lo*c.sites:hi*c.sites])
	if err := checkStart(c.e, lo, hi); err != nil {
		return err
	}
	if c.local != nil {
		for s := lo; s < hi; s++ {
			c.local.Locals(c.chain(s), x[s*c.sites:(s+1)*c.sites])
		}
	}
	return nil
}

// walker kernels make a step by updates of one chain after the other.
type walker interface {
	// walk makes the next updates of chain s at state x, as many of n as it can until it is
	// stopped, and returns their number.
	walk(n, s int, x []int32, r []sampler.Stream) (made int)
}

// step makes a step of so many updates of every chain, and returns the number of whole
// steps. Caches that are due are computed afresh.
func (c *locals) step(ctl sampler.Control, k walker, info []sampler.Info, x []int32, r []sampler.Stream, updates int) (done int) {
	c.at.begin(ctl.Stop)
	for ; c.at.chain < len(info); c.at.next() {
		s := c.at.chain
		if c.at.update == 0 && c.age >= refreshEvery {
			_ = c.compute(s, s+1, x) // a state that lost its energy shows in this step
			c.at.work += c.sites * c.levels
		}
		for c.at.update < updates && c.at.told[s].Err == nil {
			c.at.update += k.walk(updates-c.at.update, s, x[s*c.sites:(s+1)*c.sites], r)
			if c.at.stopped {
				return 0
			}
		}
		c.at.told[s].Energy = c.e[s]
	}
	c.at.finish(info)
	if c.age >= refreshEvery {
		c.age = 0
	}
	c.age++
	return 1
}

// meanAccept turns the sums of the acceptance probabilities of so many proposals into means,
// if the step is done.
func meanAccept(info []sampler.Info, done, updates int) {
	if done == 0 {
		return
	}
	for s := range info {
		info[s].Accept /= float64(updates)
	}
}

// rowWork returns the elementary operations of row, and of a move.
func (c *locals) rowWork() int {
	if c.local == nil {
		return c.sites * c.levels // as much as energies, for all that is known
	}
	return updateWork * c.levels
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
	return c.at.append(b), nil
}

// restore reads what AppendBinary wrote of a kernel of so many updates a step.
func (c *locals) restore(b []byte, updates int) error {
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
	return c.at.restore(b, updates)
}

// visits returns the cost of so many visits of single sites per chain, each of which
// takes the rows of the table that it needs and so much beside, and of the changes
// made.
func (c *locals) visits(info []sampler.Info, updates, rows int, each float64) float64 {
	m := c.price.Of(c.model)
	visit := float64(float64(rows)*m.Row) + each
	return float64(float64(len(info))*(wholeCost+float64(float64(updates)*visit))) + float64(moves(info)*m.Move)
}
