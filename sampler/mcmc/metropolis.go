package mcmc

import (
	"cmp"
	"context"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Metropolis proposes to change one site, drawn uniformly, to another level, drawn uniformly, and
// accepts with probability min(1, e^{−ΔE}) (Metropolis et al. 1953), using exact differences as
// [Gibbs] does.
//
// With Scan Random, as in the zero value, updates are reversible.
//
// It mixes more slowly than Gibbs, except on two-level models at low temperature,
// where it accepts every move that lowers the energy (Peskun 1973).
type Metropolis struct {
	// Updates is the number of proposals per step; 0 means one per site.
	Updates int

	// Scan is the order of the sites. Automatic is Random. Systematic and Chromatic propose a
	// change of every site once per step; the step then leaves π invariant and is not reversible.
	// On energy.Matching models of two levels (Ising) these two look up acceptance probabilities,
	// rounded to multiples of 2⁻⁶⁴, by the number of neighbours in state 1, and are many times
	// faster. On an energy.Toroidal model with even sides and 32 sites or more, Chromatic stores a
	// site as a bit and proposes hundreds of changes at once. It is a hundred times faster, and
	// uses several cores if there are fewer chains than cores.
	//
	// In a fixed order, a change that costs no energy is always made. A target on which most
	// changes cost no energy, such as one without couplings, is then not explored: its chains
	// cycle. Random does not have this problem.
	Scan Scan
}

// Name implements [sampler.Named].
func (Metropolis) Name() string { return "metropolis" }

// Kernel implements [sampler.Method].
func (m Metropolis) Kernel(ctx context.Context, model energy.Model, chains int) (sampler.Kernel, error) {
	sites, _, err := check.Shape("mcmc: Metropolis", model, chains, sampler.BlockSize)
	if m.Scan == Automatic {
		m.Scan = Random
	}
	if err = cmp.Or(err,
		check.If(m.Updates < 0, "mcmc: Metropolis: Updates = %d, want ≥ 0", m.Updates),
		m.Scan.check("Metropolis"),
		check.If(m.Scan != Random && m.Updates != 0 && m.Updates != sites, "mcmc: Metropolis: Updates = %d, want 0 or %d, one per site, in a scan that is %v", m.Updates, sites, m.Scan),
	); err != nil {
		return nil, err
	}
	return sweeping(sweep.Request{Method: "Metropolis", Proposes: true, Scan: sweep.Scan(m.Scan), Updates: m.Updates, Model: model, Chains: chains}, false)
}
