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
	k := &metropolis{locals: newLocals(model, chains), updates: m.Updates, sites: sites, levels: levels}
	k.work = k.rowWork()
	return k, nil
}

type metropolis struct {
	*locals
	updates, sites, levels int
	work                   int // of an update
}

func (k *metropolis) Step(info []sampler.Info, x []int32, r []sampler.Stream) {
	k.StepUntil(nil, info, x, r)
}

// StepUntil is Step until stop says so.
func (k *metropolis) StepUntil(stop func() bool, info []sampler.Info, x []int32, r []sampler.Stream) (done bool) {
	return k.propose(stop, info, x, k.updates, k.work,
		func([]int32) bool { return k.levels > 1 },
		func(s int, x []int32) { k.update(s, x, &r[s]) })
}

// update makes one proposal for chain s at state x.
func (k *metropolis) update(s int, x []int32, r *sampler.Stream) {
	told := &k.at.told[s]
	i := r.IntN(k.sites)
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

func (k *metropolis) UnmarshalBinary(b []byte) error { return k.restore(b, k.updates) }
