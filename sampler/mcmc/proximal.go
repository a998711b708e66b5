package mcmc

import (
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/cost"
	"github.com/gibbsite-go/gibbsite/internal/tune"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// proximal is the kernel of DUPS and of DMAPS. Its proposal, of balance 1, belongs to
// the noisy states y of the last step, or to the states of the Reset before it.
type proximal struct {
	model    energy.Model
	price    cost.Memo
	proposal proposal
	noise    *noise
	sites    int
	alpha    float64
	tune     *tune.Tuner // nil: the step size is fixed
	adjusted bool
	carries  bool // an evaluation of the proposal is cheaper from a state nearby

	e, f, next     []float64 // energies of the states, the noisy ones and the proposals
	y, noisy, z    []int32   // noisy: those of this step, before they are weighed
	forth          []float64
	blurred, moved []int // sites at which y differs from the state, and z from y
	at             cursor
	fixed          []bool // no weights are ever stale
}

var (
	_ sampler.Adaptive = (*proximal)(nil)
	_ sampler.Costed   = (*proximal)(nil)
	_ sampler.Tuned    = (*proximal)(nil)
	_ sampler.Warner   = (*proximal)(nil)
)

// wholeBalance is the balance of a proposal that takes a linear energy for what it is.
const wholeBalance = 1

func newProximal(m energy.Model, chains int, p proposal, alpha float64) *proximal {
	sites, _ := m.Shape()
	k := apart.New(proximal{
		model: m, proposal: p, noise: newNoise(m, alpha), sites: sites,
		e: apart.Make[float64](chains), f: apart.Make[float64](chains), next: apart.Make[float64](chains),
		y: apart.Make[int32](chains * sites), noisy: apart.Make[int32](chains * sites), z: apart.Make[int32](chains * sites),
		forth: apart.Make[float64](chains), blurred: apart.Make[int](chains), moved: apart.Make[int](chains),
		at: newCursor(chains), fixed: apart.Make[bool](chains),
	})
	if f, ok := p.(*flips); ok {
		k.carries = f.cached != nil
	}
	k.setStep(alpha)
	return k
}

func (k *proximal) setStep(alpha float64) {
	k.alpha = alpha
	k.proposal.tune(alpha, wholeBalance)
	k.noise.setStep(alpha)
}

func (k *proximal) StepSize() float64 { return k.alpha }

// Warning implements [sampler.Warner].
func (k *proximal) Warning() string { return k.tune.Warning(k.alpha) }

// Reset implements [sampler.Transition].
func (k *proximal) Reset(ctl sampler.Control, x []int32) error {
	return k.at.renew(ctl.Stop, 3, k.proposal.work(), func(stage, lo, hi int) (bool, error) {
		copy(k.y[lo*k.sites:hi*k.sites], x[lo*k.sites:])
		return resetProposal(k.proposal, stage, lo, hi, k.e, x, &k.at, k.fixed)
	})
}

// Step implements [sampler.Transition].
func (k *proximal) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	return k.at.step(ctl, k, info, x, r, 6, k.proposal.work())
}

// move implements staged.
func (k *proximal) move(stage, lo, hi int, x []int32, r []sampler.Stream) bool {
	from, to := lo*k.sites, hi*k.sites
	switch stage {
	case 0:
		for s := lo; s < hi; s++ {
			at, end := s*k.sites, (s+1)*k.sites
			k.blurred[s] = k.noise.draw(k.noisy[at:end], x[at:end], &r[s])
		}
	case 1:
		return k.proposal.evaluate(lo, hi, k.f, k.noisy, k.y, &k.at)
	case 2:
		if !k.proposal.weigh(lo, hi, k.noisy, &k.at) {
			return false
		}
		acceptSome(k.proposal, lo, hi, len(k.e))
		copy(k.y[from:to], k.noisy[from:to])
	case 3:
		for s := lo; s < hi; s++ {
			at, end := s*k.sites, (s+1)*k.sites
			k.moved[s], k.forth[s] = k.proposal.draw(k.z[at:end], k.y[at:end], s, &r[s])
			if !usable(k.f[s], k.forth[s]) {
				copy(k.z[at:end], x[at:end])
			}
		}
	case 4:
		switch {
		case !k.adjusted:
		case k.carries:
			return k.proposal.evaluate(lo, hi, k.next, k.z, k.y, &k.at)
		default:
			k.model.Energy(k.next[lo:hi], k.z[from:to])
		}
	case 5:
		for s := lo; s < hi; s++ {
			at, end := s*k.sites, (s+1)*k.sites
			if k.adjusted {
				k.judge(s, x[at:end], k.y[at:end], k.z[at:end], &r[s])
			} else {
				k.settle(s, x[at:end], k.z[at:end])
			}
		}
	}
	return true
}

// accepts returns the probability with which chain s at x moves to the proposal z that
// it has drawn over y; false if that cannot be judged.
func (k *proximal) accepts(s int, x, y, z []int32) (a float64, ok bool) {
	switch {
	case math.IsInf(k.f[s], 1):
		return 0, true // a noisy state without probability; its differences mean nothing
	case !usable(k.f[s], k.forth[s]):
		return 0, false
	}
	back := k.proposal.current(x, y, s) + k.noise.ratio(y, z, x, k.moved[s], k.blurred[s])
	return accept(k.e[s]-k.next[s], k.forth[s], back)
}

// judge accepts the proposal z of chain s, at state x, or not.
func (k *proximal) judge(s int, x, y, z []int32, r *sampler.Stream) {
	a, ok := k.accepts(s, x, y, z)
	told := &k.at.told[s]
	*told = sampler.Info{Energy: k.e[s], Accept: a}
	if !ok {
		told.Invalid = 1
	}
	if r.Float64() >= a {
		return
	}
	told.Moved = changed(x, z)
	copy(x, z)
	k.e[s], told.Energy = k.next[s], k.next[s]
}

// settle moves chain s to z, unless that is an error.
func (k *proximal) settle(s int, x, z []int32) {
	told := &k.at.told[s]
	*told = sampler.Info{Energy: math.NaN(), Accept: 1, Err: unadjusted(k.f[s])}
	if told.Err == nil && math.IsNaN(k.forth[s]) {
		told.Err = sampler.ErrNaN
	}
	if told.Err != nil {
		return
	}
	told.Moved = changed(x, z)
	copy(x, z)
}

func (k *proximal) Adapt(info []sampler.Info, step, of int) {
	if k.tune != nil {
		k.setStep(k.tune.AdaptTo(proposals(info), step, of))
	}
}

func (k *proximal) AppendBinary(b []byte) ([]byte, error) {
	b = wire.AppendFloat64s(b, k.e)
	b = wire.AppendFloat64s(b, []float64{k.alpha})
	if k.tune != nil {
		b = k.tune.Append(b)
	}
	b = wire.AppendInt32s(b, k.y)
	return k.at.append(k.proposal.appendBinary(b)), nil
}

func (k *proximal) UnmarshalBinary(b []byte) error {
	alpha := make([]float64, 1)
	b, err := wire.ReadFloat64s(b, k.e)
	if err != nil {
		return err
	}
	if b, err = wire.ReadFloat64s(b, alpha); err != nil {
		return err
	}
	if err := checkStep("DMAPS", alpha[0]); err != nil {
		return err
	}
	if k.tune != nil {
		if b, err = k.tune.Restore(b); err != nil {
			return err
		}
	}
	if b, err = wire.ReadInt32s(b, k.y); err != nil {
		return err
	}
	if b, err = k.proposal.unmarshalBinary(b, alpha[0]); err != nil {
		return err
	}
	k.setStep(alpha[0])
	return k.at.restore(b, 0)
}
