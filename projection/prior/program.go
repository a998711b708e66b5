package prior

import (
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/projection"
)

// program is a model and a language for a shape. It is immutable.
type program struct {
	name          string
	table         *automata.Table
	mask          *constraint.Mask
	sites, levels int
	h, k, q       int // hidden states, tokens, states

	start, trans, emit []float64 // trans[z,z'], emit[l,z]
	class              []int32   // of each token
	classes            int
}

// fill takes the tables of the model.
func (c *program) fill(m HMM) {
	c.start, c.trans = slices.Clone(m.Start), slices.Clone(m.Trans)
	c.emit = make([]float64, c.h*c.k)
	for z := range c.h {
		for l := range c.k {
			c.emit[l*c.h+z] = m.Emit[z*c.k+l]
		}
	}
	c.class, c.classes = c.table.Class, c.table.Width
}

// weight returns the log-weight of a token at a site.
func (c *program) weight(v []float32, i int, l int32) float64 {
	if c.mask != nil && !c.mask.Allows(i, l) {
		return math.Inf(-1)
	}
	return float64(v[i*c.levels+int(l)])
}

// infeasible says that nothing is left.
func (c *program) infeasible(site int) error {
	return &projection.InfeasibleError{Constraint: c.name, Site: site}
}

func exp(x float64) float64 { return simd.Exp(x) }

// log returns log x, −Inf for 0.
func log(x float64) float64 {
	if x == 0 {
		return math.Inf(-1)
	}
	return simd.Log(x)
}
