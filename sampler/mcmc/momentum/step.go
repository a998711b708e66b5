package momentum

import (
	"math"

	"github.com/gibbsite-go/gibbsite/sampler"
)

// refreshed is the number of sites that draw their momentum between two questions whether
// to stop. It is even: normal numbers come in pairs.
const refreshed = 1 << 16

// The stages of a step. Before the last one only the momentum and the stream of a chain
// change.
const (
	refreshing = iota
	drawing
	loading
	judging
	moving
)

// longSites is the least number of sites for which a step can be stopped between chains.
// Results do not depend on it; tests set it lower.
var longSites = 1 << 16

// Step implements [sampler.Transition]. Of long chains it asks whether to stop after each.
func (k *kernel) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	stop := ctl.Stop
	switch {
	case k.sites < longSites:
		stop = nil
	case k.stopped():
		copy(r, k.after)
	case stop != nil:
		k.before, k.after = append(k.before[:0], r...), append(k.after[:0], r...)
		k.was, k.hadBegun = append(k.was[:0], k.u...), k.began
	}
	for k.stage < moving {
		if k.advance(k.chain, x, r); k.part > 0 {
			// the chain goes on with the stage
		} else if k.chain++; k.chain == len(info) {
			k.stage, k.chain = k.stage+1, 0
		}
		if stop != nil && stop() {
			copy(k.after, r)
			copy(r, k.before)
			return 0
		}
	}
	for s := range info {
		info[s] = k.move(s, x, r)
	}
	k.stage, k.chain = refreshing, 0
	return 1
}

// advance does a stage of the step of chain s.
func (k *kernel) advance(s int, x []int32, r []sampler.Stream) {
	from, to := s*k.sites, (s+1)*k.sites
	switch k.stage {
	case refreshing:
		last := min(k.part+refreshed, k.sites)
		k.refresh(k.u[from+k.part:from+last], &r[s])
		if k.part = last; last == k.sites {
			k.part = 0
		}
	case drawing:
		k.began = true
		k.propose(s, x[from:to])
		k.moved[s], k.logq[s] = k.draw(k.y[from:to], x[from:to], &r[s])
		if math.IsNaN(k.logq[s]) {
			copy(k.y[from:to], x[from:to])
		}
	case loading: // all chains together
		if s == 0 {
			k.load(k.f, k.y)
		}
	case judging:
		k.accepts[s], k.judged[s] = k.judge(s, k.y[from:to], x[from:to])
	}
}

// move moves chain s to its proposal, or reverses its momentum.
func (k *kernel) move(s int, x []int32, r []sampler.Stream) sampler.Info {
	from, to := s*k.sites, (s+1)*k.sites
	info := sampler.Info{Accept: k.accepts[s]}
	if !k.judged[s] {
		info.Invalid = 1
	}
	u := k.u[from:to]
	if r[s].Float64() < k.accepts[s] {
		copy(u, k.next[from:to])
		copy(x[from:to], k.y[from:to])
		k.conditional.accept(s)
		k.e[s], info.Moved = k.f[s], k.moved[s]
	} else {
		for i, v := range u {
			u[i] = -v
		}
	}
	info.Energy = k.e[s]
	return info
}
