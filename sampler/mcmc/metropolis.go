package mcmc

import (
	"cmp"
	"context"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Metropolis changes one site at a time. It proposes a uniformly drawn new level for one site and
// accepts it with probability min(1, e^{−ΔE}), where ΔE is the exact energy difference (Metropolis
// et al. 1953). The zero value draws the sites at random, which makes updates reversible.
//
// Metropolis usually mixes more slowly than [Gibbs]. The exception is a two-level model at low
// temperature. With two levels, Metropolis makes every flip with a higher probability than Gibbs
// does (Peskun 1973).
type Metropolis struct {
	// Updates is the number of proposals per step; 0 means one per site.
	Updates int

	// Scan is the order in which proposals visit the sites. Automatic means Random. Systematic and
	// Chromatic visit every site once per step. The step then leaves the target invariant but is
	// not reversible.
	//
	// Systematic and Chromatic are many times faster than Random on energy.Matching models of two
	// levels (Ising). Chromatic is a hundred times faster on an energy.Toroidal model with even
	// sides and at least 32 sites.
	//
	// In a fixed order, a change that costs no energy is always made. If most changes are of this
	// kind, as without couplings, the chains cycle instead of exploring the target.
	Scan Scan
}

// Name returns "metropolis"; it implements [sampler.Named].
func (Metropolis) Name() string { return "metropolis" }

// Kernel returns a new kernel that moves the given number of chains. It implements [sampler.Method].
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
