package mcmc

import (
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/tune"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// proximal is the kernel of DUPS and of DMAPS. Its proposal uses balance 1. The proposal's
// weights are those at the noisy states of the last step or, after a Reset, those at the states
// of that Reset.
type proximal struct {
	*hastings
	noise    *noise
	adjusted bool
	carries  bool // the proposal evaluates a state faster from a state nearby

	f []float64 // energies of the noisy states, one per chain
	// from: states at which the weights were computed; noisy: noisy states of this step, not yet
	// weighed
	from, noisy []int32
	blurred     []int // per chain: the number of sites that the noise has changed
}

// wholeBalance is the balance β with which a proposal is exact for a linear energy.
const wholeBalance = 1

func newProximal(m energy.Model, chains int, p proposal, alpha float64, t *tune.Tuner) *proximal {
	sites, _ := m.Shape()
	k := padded.New(proximal{
		hastings: newHastings(m, chains, p, alpha, t), noise: newNoise(m, alpha), f: padded.Make[float64](chains),
		from: padded.Make[int32](chains * sites), noisy: padded.Make[int32](chains * sites), blurred: padded.Make[int](chains),
	})
	if f, ok := p.(*flips); ok {
		k.carries = f.cached != nil
	}
	k.stride(alpha)
	return k
}

// stride sets the step size. It does not recompute the weights of the last step.
func (k *proximal) stride(alpha float64) {
	k.alpha = alpha
	k.proposal.tune(alpha, wholeBalance)
	k.noise.setStep(alpha)
}

// Reset computes energies and weights at the states x; it implements [sampler.Transition].
func (k *proximal) Reset(ctl sampler.Control, x []int32) error {
	return k.at.Renew(ctl.Stop, 3, k.proposal.work(), func(stage, lo, hi int) (bool, error) {
		copy(k.from[lo*k.sites:hi*k.sites], x[lo*k.sites:])
		return resetProposal(k.proposal, stage, lo, hi, k.e, x, &k.at, k.stale)
	})
}

// Step makes one step, in the stages of [proximal.Stage], and calls ctl.Stop between stages. It
// implements [sampler.Transition].
func (k *proximal) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	return sweep.Step(&k.at, ctl, k, info, x, r, 6, k.proposal.work())
}

// Stage makes one of the six stages of a step for the chains lo … hi−1. The stages add noise,
// evaluate the noisy states, compute their weights, draw the proposals, evaluate these, and accept
// or reject. It implements [sweep.Staged].
func (k *proximal) Stage(stage, lo, hi int, x []int32, r []sampler.Stream) bool {
	switch stage {
	case 0:
		for s := lo; s < hi; s++ {
			at, end := s*k.sites, (s+1)*k.sites
			k.blurred[s] = k.noise.draw(k.noisy[at:end], x[at:end], &r[s])
		}
	case 1:
		return k.proposal.evaluate(lo, hi, k.f, k.noisy, k.from, &k.at)
	case 2:
		if !k.proposal.weigh(lo, hi, k.noisy, &k.at) {
			return false
		}
		k.proposal.accept(lo, hi)
		copy(k.from[lo*k.sites:hi*k.sites], k.noisy[lo*k.sites:])
	case 3:
		for s := lo; s < hi; s++ {
			at, end := s*k.sites, (s+1)*k.sites
			k.moved[s], k.logq[s] = k.proposal.draw(k.y[at:end], k.from[at:end], s, &r[s])
			if !usable(k.f[s], k.logq[s]) {
				copy(k.y[at:end], x[at:end])
			}
		}
	case 4:
		switch {
		case !k.adjusted:
		case k.carries:
			return k.proposal.evaluate(lo, hi, k.next, k.y, k.from, &k.at)
		default:
			k.model.Energy(k.next[lo:hi], k.y[lo*k.sites:hi*k.sites])
		}
	case 5:
		for s := lo; s < hi; s++ {
			at, end := s*k.sites, (s+1)*k.sites
			if !k.adjusted {
				k.settle(s, x[at:end], k.y[at:end], sweep.Changed(x[at:end], k.y[at:end]), math.NaN(), k.f[s])
				continue
			}
			a, ok := k.accepts(s, x[at:end], k.from[at:end], k.y[at:end])
			k.decide(s, x[at:end], k.y[at:end], sweep.Changed(x[at:end], k.y[at:end]), a, ok, &r[s])
		}
	}
	return true
}

// accepts returns the probability of accepting the proposal z for chain s at x, drawn via the noisy
// state y. It returns ok = false if the probability is not defined.
func (k *proximal) accepts(s int, x, y, z []int32) (a float64, ok bool) {
	switch {
	case math.IsInf(k.f[s], 1):
		return 0, true // the noisy state has probability zero, so its differences are meaningless
	case !usable(k.f[s], k.logq[s]):
		return 0, false
	}
	back := k.proposal.current(x, y, s) + k.noise.ratio(y, z, x, k.moved[s], k.blurred[s])
	return sweep.Accept(k.e[s]-k.next[s], k.logq[s], back)
}

func (k *proximal) Adapt(info []sampler.Info, step, of int) {
	if k.tune != nil {
		k.stride(k.tune.AdaptTo(sweep.Proposals(info), step, of))
	}
}

func (k *proximal) AppendBinary(b []byte) ([]byte, error) { return wire.AppendFields(b, k.fields) }

func (k *proximal) UnmarshalBinary(b []byte) error {
	err := wire.ReadFields(b, k.fields)
	if err == nil {
		k.stride(k.alpha)
	}
	return err
}

func (k *proximal) fields(f *wire.Fields) {
	f.Int32s(k.from)
	f.Binary(k.hastings, -1)
}

func (k *proximal) Cost(info []sampler.Info) float64 {
	m := k.price.Of(k.model)
	each := float64(k.sites) * flipCost // the noise
	if m.Levels > 2 {
		each = float64(k.sites) * rowCost
	}
	if k.adjusted {
		each += m.Energy
	}
	return proposed(k.proposal, m, info) + float64(float64(len(info))*each)
}
