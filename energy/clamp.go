package energy

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Clamp returns m with the given sites fixed: the distribution of m given
// that x_i = fixed[i] for every i in fixed. Its shape is that of m; the energy
// of every other state is +Inf. In tables the row of a fixed site is +Inf but for the
// current level, and its entry in a field is ±Inf.
//
// The result is [Supported]: Repair sets the fixed sites, after the Repair of
// m if it has one, and may thereby undo what that did. Of the other optional
// interfaces it supports what m supports. It keeps no reference to fixed and is
// safe for concurrent use.
//
// Clamp returns an error if m is nil or a site or level is out of range.
func Clamp(m Model, fixed map[int]int32) (Model, error) {
	sites, levels, err := check.Model("energy", "Clamp", "m", m)
	if err != nil {
		return nil, err
	}
	c := &clamped{m: m, sites: sites, levels: levels, fixed: make([]int32, sites)}
	for i := range c.fixed {
		c.fixed[i] = free
	}
	for _, i := range slices.Sorted(maps.Keys(fixed)) {
		l := fixed[i]
		if i < 0 || i >= sites {
			return nil, fmt.Errorf("energy: Clamp: site %d is fixed, want 0 … %d", i, sites-1)
		}
		if l < 0 || int(l) >= levels {
			return nil, fmt.Errorf("energy: Clamp: fixed[%d] = %d, want 0 … %d", i, l, levels-1)
		}
		c.fixed[i] = l
		c.which = append(c.which, i)
	}
	return c, nil
}

// free marks a site that is not fixed.
const free = -1

// clamped is what [Clamp] returns. Every optional interface but Supported has a
// type of its own around it.
type clamped struct {
	m             Model
	sites, levels int
	fixed         []int32 // level of each site, or free
	which         []int   // the fixed sites, ascending
}

// Shape returns the shape of the model inside.
func (c *clamped) Shape() (sites, levels int) { return c.sites, c.levels }

// Energy implements [Model].
func (c *clamped) Energy(e []float64, x []int32) {
	c.m.Energy(e, x)
	c.energies(e, x)
}

// Repair implements [Supported].
func (c *clamped) Repair(x []int32) {
	check.Rows("energy", "x", len(x), c.sites)
	if r, ok := As[Supported](c.m); ok {
		r.Repair(x)
	}
	for ; len(x) > 0; x = x[c.sites:] {
		for _, i := range c.which {
			x[i] = c.fixed[i]
		}
	}
}

// energies makes the energy of states outside the support +Inf.
func (c *clamped) energies(e []float64, x []int32) {
	for s := range e {
		for _, i := range c.which {
			if x[s*c.sites+i] != c.fixed[i] {
				e[s] = math.Inf(1)
				break
			}
		}
	}
}
