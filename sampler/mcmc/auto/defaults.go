package auto

import (
	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/cluster"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/momentum"
)

// mostFactored is the number of sites up to which PDHAMS is tried: its Cholesky
// factor takes sites³ operations.
const mostFactored = 512

// free returns the candidates on all states.
func free(m energy.Model) []candidate {
	wolff, factored := candidate{method: cluster.Wolff{}}, candidate{method: momentum.PDHAMS{}}
	if g, ok := energy.As[energy.Matching](m); ok {
		if _, field, ok := g.Matching(); ok && !flat(field) {
			wolff.reason = "a field rejects its clusters; SwendsenWang draws them by it"
		}
	}
	if sites, _ := m.Shape(); sites > mostFactored {
		factored.reason = "the factor of its curvature takes sites³ operations; want at most 512 sites"
	}
	return []candidate{
		{method: mcmc.Gibbs{}},
		{method: mcmc.DMALA{}},
		{method: mcmc.BlockGibbs{}},
		{method: cluster.SwendsenWang{}},
		wolff,
		{method: mcmc.LocallyBalanced{}},
		{method: mcmc.Paths{}},
		{method: mcmc.DLMC{}},
		{method: momentum.DHAMS{}},
		factored,
		{method: mcmc.Metropolis{}},
	}
}

func flat(field []float64) bool {
	for _, h := range field {
		if h != field[0] {
			return false
		}
	}
	return true
}

// confined returns the candidates within a language.
func confined(a constraint.Automaton, levels int) []candidate {
	list := []candidate{
		{method: mcmc.DMALA{Within: a}},
		{method: mcmc.PairGibbs{Within: a}},
		{method: mcmc.Swap{Within: a}},
	}
	rest, mask := constraint.Split(a)
	c, ok := rest.(constraint.Counting)
	if !ok {
		list[1].reason = "changes of two sites may not lead everywhere in a language that is no count"
		list[2].reason = "exchanges may not lead everywhere in a language that is no count"
		return list
	}
	if _, least, most := c.Counts(); levels != 2 || least != most || mask != nil {
		list[2].reason = "exchanges keep how often each level occurs, which the language leaves open, or a mask forbids some"
	}
	return list
}
