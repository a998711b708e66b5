package mcmc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/sampler"
)

var (
	_ sampler.Adaptive    = (*tempering)(nil)
	_ sampler.Costed      = (*tempering)(nil)
	_ sampler.Lazy[int32] = (*tempering)(nil)
	_ sampler.Starter     = (*tempering)(nil)
)

// phase is the next part of a step.
type phase int

const (
	starting  phase = iota // a step, from the states of the chains
	moving                 // rung after rung, by its kernel
	measuring              // the energies, state after state
	resetting              // rungs whose states were swapped
)

// states returns the states of a rung.
func (k *tempering) states(j int) []int32 {
	n := k.chains * k.sites
	return k.x[j*n : (j+1)*n]
}

// Start implements [sampler.Starter], for a Base that stays within a language.
func (k *tempering) Start(x []int32, r *sampler.Stream) error {
	if s, ok := sampler.As[sampler.Starter](k.kernels[0]); ok {
		return s.Start(x, r)
	}
	return nil
}

func (k *tempering) state(j, s int) []int32 { return k.states(j)[s*k.sites : (s+1)*k.sites] }

// Reset implements [sampler.Transition]. It sets the coldest replicas to x. The first time, the
// others become copies of x; later they keep their states, unless these now have probability zero.
// It checks for a stop between the energies of the chains, which come first, and in the kernels of
// the rungs.
func (k *tempering) Reset(ctl sampler.Control, x []int32) error {
	if ctl.Stop == nil || !k.renewing {
		k.show()
		k.stale = false
		k.at.Clear()
		k.phase, k.rung, k.behind, k.renewing = starting, 0, false, true
		clear(k.touched)
	}
	if k.rung == 0 {
		err := k.at.Renew(ctl.Stop, 1, sweep.Times(k.sites, len(k.betas)), func(_, lo, hi int) (bool, error) {
			return true, k.resetChains(lo, hi, x)
		})
		if err != nil {
			k.renewing = errors.Is(err, sampler.ErrStopped)
			return err
		}
		k.started = true
	}
	err := k.resetBases(sampler.Control{Stop: ctl.Stop, Workers: ctl.Workers})
	k.renewing = errors.Is(err, sampler.ErrStopped)
	return err
}

func (k *tempering) resetChains(lo, hi int, x []int32) error {
	n := k.sites
	copy(k.states(0)[lo*n:hi*n], x[lo*n:])
	for j := range k.betas {
		e := k.e[j*k.chains:]
		k.model.Energy(e[lo:hi], k.states(j)[lo*n:hi*n])
		for s := lo; s < hi && j > 0; s++ {
			if !k.started || math.IsInf(e[s], 0) || math.IsNaN(e[s]) {
				copy(k.state(j, s), k.state(0, s))
			}
		}
	}
	return sweep.CheckStart(k.e[:k.chains], lo, hi)
}

// resetBases resets the kernels from k.rung on, after making those of a new ladder.
func (k *tempering) resetBases(ctl sampler.Control) error {
	for ; k.rung < len(k.kernels); k.rung++ {
		if k.old[k.rung] {
			if k.fault = k.rebuild(k.rung, ctl.Stop); k.fault != nil {
				if !errors.Is(k.fault, sampler.ErrStopped) {
					k.rung = 0
					return k.fault
				}
				k.fault = nil
				return sampler.ErrStopped
			}
			if ctl.Stop != nil && ctl.Stop() {
				return sampler.ErrStopped
			}
		}
		if err := k.kernels[k.rung].Reset(ctl, k.states(k.rung)); err != nil {
			if !errors.Is(err, sampler.ErrStopped) {
				k.rung = 0
			}
			return err
		}
	}
	k.rung = 0
	if k.changed() {
		k.findExchangers()
	}
	return nil
}

// almostZero is the inverse temperature of the kernel on a rung of β = 0. Conditionals are
// exactly uniform, couplings keep the kinds by which engines sort sites, and multiplication by
// a power of two is exact.
const almostZero = 0x1p-512

// kernel makes the kernel of a rung.
func (k *tempering) kernel(ctx context.Context, beta float64) (sampler.Kernel, error) {
	m, err := energy.Scale(k.model, max(beta, almostZero))
	if err != nil {
		return nil, fmt.Errorf("mcmc: Tempering: %w", err)
	}
	return k.base.Kernel(ctx, m, k.chains)
}

// rebuild makes the kernel of a rung of a new ladder, or returns [sampler.ErrStopped]. The new
// kernel takes over what the old one has tuned; its caches need a Reset.
func (k *tempering) rebuild(j int, stop func() bool) error {
	ctx := until{context.Background(), stop}
	kernel, err := k.kernel(ctx, k.betas[j])
	if err != nil {
		if ctx.Err() != nil {
			return sampler.ErrStopped
		}
		return err
	}
	b, err := k.kernels[j].AppendBinary(nil)
	if err != nil {
		return err
	}
	if err := kernel.UnmarshalBinary(b); err != nil {
		return err
	}
	k.kernels[j], k.old[j] = kernel, false
	return nil
}

// until is a context that ends once stop is true, for compiling within a step.
type until struct {
	context.Context
	stop func() bool // nil: never
}

// Err implements [context.Context].
func (u until) Err() error {
	if u.stop != nil && u.stop() {
		return context.Canceled
	}
	return nil
}

// Step implements [sampler.Transition].
func (k *tempering) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	unread := ctl.Unread
	ctl = sampler.Control{Stop: ctl.Stop, Workers: ctl.Workers} // of the kernels of the rungs
	k.at.Begin(ctl.Stop)
	if k.behind { // states with probability keep it at any β
		k.show()
		if errors.Is(k.resetBases(ctl), sampler.ErrStopped) {
			return 0
		}
		k.behind = false
	}
	if k.phase == starting {
		if k.changed() {
			k.show()
			k.findExchangers()
		}
		if k.packed[0] == nil {
			copy(k.states(0), x)
		}
		k.phase = moving
	}
	if k.phase == moving {
		for ; k.rung < len(k.kernels); k.rung++ {
			j := k.rung
			ctl.Unread = k.packed[j] != nil
			if k.at.Stopped || k.kernels[j].Step(ctl, k.info[j*k.chains:(j+1)*k.chains], k.states(j), r) == 0 {
				return 0
			}
			k.at.Done(sweep.Times(k.chains, k.sites))
		}
		k.phase, k.rung = measuring, 0
	}
	if k.phase == measuring {
		if k.rung == 0 && k.changed() { // new kernels were reset from x
			k.show()
			k.findExchangers()
		}
		if !k.measure() {
			return 0
		}
		if k.gather() {
			k.exchange(k.at.Info, r)
		}
		k.phase, k.rung = resetting, 0
	}
	if !k.resetTouched(ctl) {
		return 0
	}
	k.swaps.arrive()
	if ex := k.packed[0]; ex != nil {
		if k.stale = unread; !unread {
			ex.Show(x)
			k.cold = x
		}
	}
	for s := range k.at.Info {
		if pending := &k.at.Info[s]; pending.Err == nil {
			pending.Energy, pending.Rungs = k.e[s], &k.views[s]
			if k.packed[0] == nil {
				own := x[s*k.sites : (s+1)*k.sites]
				pending.Moved += sweep.Changed(own, k.state(0, s))
				copy(own, k.state(0, s))
			}
		}
	}
	k.at.Finish(info)
	k.phase, k.rung = starting, 0
	return 1
}

// Show implements [sampler.Lazy]. It also brings the states of the other rungs up to date.
func (k *tempering) Show(x []int32) {
	k.show()
	if k.stale {
		copy(x, k.states(0))
		k.stale = false
	}
}

// show stores in k.x the states that kernels hold.
func (k *tempering) show() {
	if k.cold != nil {
		k.cold = nil
		k.packed[0].Hold(k.states(0))
	}
	for j, ex := range k.packed {
		if ex != nil {
			ex.Show(k.states(j))
		}
	}
}

// measure finds the energies of all replicas, from number k.rung on, or returns false if it
// was stopped.
func (k *tempering) measure() bool {
	each := max(1, sweep.PollWork/k.sites)
	for k.rung < len(k.e) {
		lo, j := k.rung, k.rung/k.chains
		end := (j + 1) * k.chains
		if ex := k.packed[j]; ex != nil {
			ex.Hold(k.states(j))
			k.packed[0].Hold(k.states(0))
			k.packed[0].Energies(k.e[lo:end], ex)
			k.rung = end
			continue
		}
		if k.at.Stopped {
			return false
		}
		hi := min(k.rung+each, end)
		k.model.Energy(k.e[lo:hi], k.x[lo*k.sites:hi*k.sites])
		k.rung = hi
		k.at.Done(sweep.Times(hi-lo, k.sites))
	}
	return true
}

// gather sums up what the kernels of the rungs reported, and reports whether all chains can go
// on: a kernel without an acceptance step may have moved to a state of probability zero.
func (k *tempering) gather() (ok bool) {
	ok = true
	for s := range k.at.Info {
		pending := &k.at.Info[s]
		*pending = sampler.Info{Accept: k.info[s].Accept, Err: k.fault}
		if k.packed[0] != nil {
			pending.Moved = k.info[s].Moved
		}
		for j := range k.kernels {
			of := &k.info[j*k.chains+s]
			pending.Invalid += of.Invalid
			if err := cmp.Or(of.Err, unadjusted(k.e[j*k.chains+s])); err != nil && pending.Err == nil {
				pending.Err = fmt.Errorf("rung %d, β = %v: %w", j, k.betas[j], err)
			}
		}
		ok = ok && pending.Err == nil
	}
	return ok
}

// exchange offers the swaps of this step.
func (k *tempering) exchange(info []sampler.Info, r []sampler.Stream) {
	for j := k.odd; j+1 < len(k.betas); j += 2 {
		e, f := k.e[j*k.chains:][:k.chains], k.e[(j+1)*k.chains:][:k.chains]
		n := 0
		for s := range info {
			a, ok := k.swapProb(j, e[s], f[s])
			if !ok {
				info[s].Invalid++
			}
			k.swaps.offer(j, a)
			k.swapped[n] = s
			if r[s].Float64() < a {
				n++
			}
		}
		for _, s := range k.swapped[:n] {
			e[s], f[s] = f[s], e[s]
			k.swaps.exchange(j, s)
		}
		k.swap(j, k.swapped[:n])
	}
	for s := range info {
		info[s].Moved += k.moved[s]
	}
	clear(k.moved)
	k.odd = 1 - k.odd
}

// swap swaps the states of some chains on rungs j and j+1: inside the kernels if both hold
// states, and otherwise in x, after which the kernels need a Reset.
func (k *tempering) swap(j int, chains []int) {
	if len(chains) == 0 {
		return
	}
	a, b := k.packed[j], k.packed[j+1]
	if a != nil && b != nil {
		var moved []int
		if j == 0 {
			moved = k.moved
		}
		a.Exchange(b, chains, moved)
		return
	}
	for _, i := range [2]int{j, j + 1} {
		if ex := k.packed[i]; ex != nil {
			ex.Show(k.states(i))
		}
	}
	for _, s := range chains {
		a, b := k.state(j, s), k.state(j+1, s)
		if j == 0 && k.packed[0] != nil {
			k.moved[s] += sweep.Changed(a, b)
		}
		sweep.Exchange(a, b)
	}
	k.touched[j], k.touched[j+1] = true, true
}

// resetTouched refreshes the caches of the rungs whose states were swapped, from
// k.rung on, or returns false if it was stopped.
func (k *tempering) resetTouched(ctl sampler.Control) bool {
	for ; k.rung < len(k.touched); k.rung++ {
		j := k.rung
		if !k.touched[j] {
			continue
		}
		err := k.kernels[j].Reset(ctl, k.states(j))
		if errors.Is(err, sampler.ErrStopped) {
			return false
		}
		k.touched[j] = false
		if ex := k.packed[j]; ex != nil && err == nil {
			ex.Hold(k.states(j)) // so that Show has them for the states of the chains as well
		}
		if err != nil {
			for s := range k.at.Info { // whose chain it is does not matter: the block stops
				k.at.Info[s].Err = fmt.Errorf("rung %d, β = %v: %w", j, k.betas[j], err)
			}
		}
	}
	return true
}

// rungs is the view of the replicas of one chain.
type rungs struct {
	k     *tempering
	chain int
}

// Len returns the number of rungs.
func (r *rungs) Len() int { return len(r.k.betas) }

// Rung returns the inverse temperature, energy and state of rung j.
func (r *rungs) Rung(j int) (beta, energy float64, x []int32) {
	k, s := r.k, r.chain
	x = k.state(j, s)
	switch ex := k.packed[j]; {
	case j == 0 && k.cold != nil:
		x = k.cold[s*k.sites : (s+1)*k.sites]
	case ex != nil:
		ex.Show(k.states(j))
	}
	return k.betas[j], k.e[j*k.chains+s], x
}

// swapProb returns the probability of swapping rungs j and j+1 at energies e
// and f; ok is false if that is not defined.
func (k *tempering) swapProb(j int, e, f float64) (float64, bool) {
	l := (k.betas[j] - k.betas[j+1]) * (e - f)
	if l > math.Inf(-1) && l < math.Inf(1) { // no branch on its sign, which would be mispredicted
		return simd.Exp(min(l, 0)), true
	}
	return sweep.Accept(l, 0, 0)
}
