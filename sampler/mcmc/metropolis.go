package mcmc

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Metropolis proposes to change one site, drawn uniformly, to another level,
// drawn uniformly, and accepts with probability min(1, e^{−ΔE}) (Metropolis et
// al. 1953). Exact differences only, as for [Gibbs]. Each update is reversible.
//
// It mixes slower than Gibbs where both apply, except at low temperature on
// two-level models, where it never stays when it could move down (Peskun 1973).
type Metropolis struct {
	// Updates is the number of proposals per step; 0 means one per site.
	Updates int
}

// Name implements [sampler.Named].
func (Metropolis) Name() string { return "metropolis" }

// Kernel implements [sampler.Method].
func (m Metropolis) Kernel(ctx context.Context, model energy.Model, chains int) (sampler.Kernel, error) {
	sites, levels, err := check.Shape("mcmc: Metropolis", model, chains, sampler.BlockSize)
	if err != nil {
		return nil, err
	}
	if m.Updates < 0 {
		return nil, fmt.Errorf("mcmc: Metropolis: Updates = %d, want ≥ 0", m.Updates)
	}
	if m.Updates == 0 {
		m.Updates = sites
	}
	return &metropolis{locals: newLocals(model, chains), updates: m.Updates, sites: sites, levels: levels}, nil
}

type metropolis struct {
	*locals
	updates, sites, levels int
}

func (k *metropolis) Step(info []sampler.Info, x []int32, r []sampler.Stream) {
	for s := range info {
		k.walk(&info[s], s, x[s*k.sites:(s+1)*k.sites], &r[s])
	}
	k.refresh(x)
}

func (k *metropolis) walk(info *sampler.Info, s int, x []int32, r *sampler.Stream) {
	*info = sampler.Info{Energy: k.e[s], Accept: 1}
	if k.levels == 1 {
		return
	}
	total := 0.0
	for range k.updates {
		i := r.IntN(k.sites)
		l := int32(r.IntN(k.levels - 1))
		if l >= x[i] {
			l++
		}
		row := k.row(s, i, x)
		a, ok := accept(row[x[i]]-row[l], 0, 0)
		if !ok {
			info.Invalid++
		}
		total += a
		if r.Float64() < a {
			k.move(s, i, l, x, row)
			info.Moved++
		}
	}
	info.Energy = k.e[s]
	info.Accept = total / float64(k.updates)
}
