package mcmc

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// newSites returns the kernel that visits one site after the other, whatever the model is.
func newSites(r *request) (sampler.Kernel, error) {
	sweep, err := r.order(r.Scan)
	updates := r.Updates
	switch {
	case sweep != nil:
		updates = len(sweep)
	case updates == 0:
		updates = r.sites
	}
	all := newSitewise(newLocals(r.Model, r.Chains))
	if r.Proposes {
		return apart.New(metropolis{sitewise: all, updates: updates, order: sweep, work: all.rowWork()}), err
	}
	return apart.New(gibbs{sitewise: all, updates: updates, order: sweep, w: apart.Make[float64](r.levels), unpolled: max(1, pollWork/all.rowWork())}), err
}

type gibbs struct {
	sitewise
	updates  int
	order    []int32 // nil: random scan
	w        []float64
	unpolled int // updates between two questions whether to stop
}

var (
	_ sampler.Costed    = (*gibbs)(nil)
	_ sampler.Exchanger = (*gibbs)(nil)
)

// Step implements [sampler.Transition]. It asks whether to stop every few thousand sites.
func (k *gibbs) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	return k.step(ctl, k, info, x, r, k.updates)
}

// walk implements walker.
func (k *gibbs) walk(n, s int, x []int32, r []sampler.Stream) (made int) {
	for made < n && k.at.told[s].Err == nil && !k.at.stopped {
		m := min(n-made, k.unpolled)
		k.sweep(k.at.update+made, m, s, x, &r[s])
		made += m
		k.at.done(pollWork)
	}
	return made
}

// sweep makes updates first … first+n−1 of chain s at state x.
func (k *gibbs) sweep(first, n, s int, x []int32, r *sampler.Stream) {
	told := &k.at.told[s]
	told.Accept = 1
	for at := first; at < first+n; at++ {
		i := 0
		if k.order != nil {
			i = int(k.order[at])
		} else {
			i = r.IntN(k.sites)
		}
		row := k.row(s, i, x)
		l := heatBath(k.w, row, r.Float64())
		if l < 0 {
			told.Err = fmt.Errorf("site %d: %w", i, sampler.ErrNaN)
			return
		}
		if int32(l) != x[i] {
			k.move(s, i, int32(l), x, row)
			told.Moved++
		}
	}
}

func (k *gibbs) UnmarshalBinary(b []byte) error { return k.restore(b, k.updates) }

// Cost implements [sampler.Costed].
func (k *gibbs) Cost(info []sampler.Info) float64 {
	return k.visits(info, k.sites, 1, sweepCost+float64(levelCost*float64(k.levels)))
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
