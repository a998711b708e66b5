package mcmc

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Metropolis proposes to change one site, drawn uniformly, to another level,
// drawn uniformly, and accepts with probability min(1, e^{−ΔE}) (Metropolis et
// al. 1953). Exact differences only, as for [Gibbs].
//
// Updates of a random scan, the zero value, are reversible.
//
// It mixes slower than Gibbs where both apply, except at low temperature on
// two-level models, where it never stays when it could move down (Peskun 1973).
type Metropolis struct {
	// Updates is the number of proposals per step; 0 means one per site.
	Updates int

	// Scan is the order of the sites. Automatic is Random. Systematic and Chromatic
	// propose a change of every site once a step; the step then leaves π invariant
	// and is not reversible. On energy.Matching models of two levels (Ising) they
	// look acceptance probabilities, rounded to multiples of 2⁻⁶⁴, up by an integer
	// count of neighbours, and are many times faster. On an energy.Toroidal model with even
	// sides and 32 sites or more Chromatic holds a site as a bit, proposes hundreds of changes at once, a
	// hundred times faster, and uses several cores if there are fewer chains than those.
	//
	// In a fixed order a change that costs nothing is always made, and a target on
	// which most do, such as one without couplings, is not explored: its chains go
	// round in circles. Random has no such trouble.
	Scan Scan
}

// Name implements [sampler.Named].
func (Metropolis) Name() string { return "metropolis" }

// Kernel implements [sampler.Method].
func (m Metropolis) Kernel(ctx context.Context, model energy.Model, chains int) (sampler.Kernel, error) {
	sites, _, err := check.Shape("mcmc: Metropolis", model, chains, sampler.BlockSize)
	if err != nil {
		return nil, err
	}
	if m.Updates < 0 {
		return nil, fmt.Errorf("mcmc: Metropolis: Updates = %d, want ≥ 0", m.Updates)
	}
	updates := m.Updates
	switch m.Scan {
	case Automatic, Random:
		m.Scan = Random
	case Systematic, Chromatic:
		if updates != 0 && updates != sites {
			return nil, fmt.Errorf("mcmc: Metropolis: Updates = %d, want 0 or %d, one per site, in a scan that is %v", updates, sites, m.Scan)
		}
	default:
		return nil, fmt.Errorf("mcmc: Metropolis: Scan = %v, want Automatic, Systematic, Random or Chromatic", m.Scan)
	}
	return sweeping(sweep.Request{Method: "Metropolis", Proposes: true, Scan: sweep.Scan(m.Scan), Updates: updates, Model: model, Chains: chains}, false)
}
