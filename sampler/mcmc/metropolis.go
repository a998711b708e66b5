package mcmc

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/check"
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
	if m.Scan == Systematic || m.Scan == Chromatic {
		if k := follow(ctx, m, model, chains, nil); k != nil {
			return k, nil
		}
	}
	if m.Updates == 0 {
		m.Updates = sites
	}
	var sweep []int32
	switch m.Scan {
	case Automatic, Random:
	case Systematic, Chromatic:
		if m.Updates != sites {
			return nil, fmt.Errorf("mcmc: Metropolis: Updates = %d, want 0 or %d, one per site, in a scan that is %v", m.Updates, sites, m.Scan)
		}
		if sweep, err = order("Metropolis", m.Scan, model); err != nil {
			return nil, err
		}
		m.Updates = len(sweep)
		if m.Scan == Chromatic {
			if k := newTorusMetropolis(model, chains); k != nil {
				return k, nil
			}
		}
		if k := newDenseGibbs(model, chains, sweep); k != nil {
			k.metropolise()
			return k, nil
		}
	default:
		return nil, fmt.Errorf("mcmc: Metropolis: Scan = %v, want Automatic, Systematic, Random or Chromatic", m.Scan)
	}
	k := apart.New(metropolis{sitewise: newSitewise(newLocals(model, chains)), updates: m.Updates, order: sweep})
	k.work = k.rowWork()
	return k, nil
}

type metropolis struct {
	sitewise
	updates int
	work    int     // of an update
	order   []int32 // nil: random
}

var (
	_ sampler.Costed    = (*metropolis)(nil)
	_ sampler.Exchanger = (*metropolis)(nil)
)

// Step implements [sampler.Transition].
func (k *metropolis) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	done = k.step(ctl, k, info, x, r, k.updates)
	meanAccept(info, done, k.updates)
	return done
}

// walk implements walker. Where there is nothing to propose all is accepted.
func (k *metropolis) walk(n, s int, x []int32, r []sampler.Stream) (made int) {
	if k.levels < 2 {
		k.at.told[s].Accept = float64(k.updates)
		return n
	}
	for made < n && !k.at.stopped {
		k.update(s, k.at.update+made, x, &r[s])
		made++
		k.at.done(k.work)
	}
	return made
}

// update makes proposal number at of a step for chain s at state x.
func (k *metropolis) update(s, at int, x []int32, r *sampler.Stream) {
	told := &k.at.told[s]
	i := 0
	if k.order != nil {
		i = int(k.order[at])
	} else {
		i = r.IntN(k.sites)
	}
	l := int32(r.IntN(k.levels - 1))
	if l >= x[i] {
		l++
	}
	row := k.row(s, i, x)
	a, ok := accept(row[x[i]]-row[l], 0, 0)
	if !ok {
		told.Invalid++
	}
	told.Accept += a
	if r.Float64() < a {
		k.move(s, i, l, x, row)
		told.Moved++
	}
}

// Cost implements [sampler.Costed].
func (k *metropolis) Cost(info []sampler.Info) float64 {
	return k.visits(info, k.updates, 1, proposalCost)
}

func (k *metropolis) UnmarshalBinary(b []byte) error { return k.restore(b, k.updates) }
