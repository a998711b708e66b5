package mcmc

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/cost"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/tune"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// hastings is the kernel of methods that propose a state, evaluate it and accept it with the
// Hastings ratio. DMALA, DLMC, GWG, LocallyBalanced and Paths use it with different [proposal]
// types. DULA uses it without the acceptance step. Cyclical and DMAPS wrap it.
type hastings struct {
	model    energy.Model
	price    cost.Memo
	proposal proposal
	sites    int
	alpha    float64     // step size; 0 if the proposal has none
	most     float64     // if not 0, step sizes are limited to 1 … most
	tune     *tune.Tuner // tunes the step size; nil if it is fixed
	e, next  []float64
	logq     []float64
	moved    []int
	x, y     []int32 // x holds the states of the last Step, y the proposed states
	at       sweep.Cursor
	stale    []bool // per chain: its weights were computed with an earlier step size

	unadjusted bool // moves to every proposal, without an acceptance test
	// estimates the energy differences at the beginning of each step; nil if the model computes
	// them
	source     energy.Stochastic
	generators []rand.Source // scratch for calls of source
}

// newHastings returns the kernel of a proposal. The argument alpha is the step size of the
// proposal, or 0 if the proposal has none.
func newHastings(m energy.Model, chains int, p proposal, alpha float64, tuner *tune.Tuner) *hastings {
	sites, _ := m.Shape()
	return padded.New(hastings{
		model: m, proposal: p, sites: sites, alpha: alpha, tune: tuner,
		e: padded.Make[float64](chains), next: padded.Make[float64](chains),
		logq: padded.Make[float64](chains), moved: padded.Make[int](chains),
		y: padded.Make[int32](chains * sites), at: sweep.NewCursor(chains), stale: padded.Make[bool](chains),
	})
}

var (
	_ sampler.Adaptive = (*hastings)(nil)
	_ sampler.Costed   = (*hastings)(nil)
	_ sampler.Starter  = (*hastings)(nil)
	_ sampler.Confined = (*hastings)(nil)
	_ sampler.Tuned    = (*hastings)(nil)
	_ sampler.Warner   = (*hastings)(nil)
)

func (k *hastings) StepSize() float64 { return k.alpha }

// Warning returns a sentence if tuning moved the step size to its bound, and "" otherwise. It
// implements [sampler.Warner].
func (k *hastings) Warning() string {
	if k.most > 0 {
		return ""
	}
	return k.tune.Warning(k.alpha)
}

// Start replaces x by a state drawn from the set of allowed states, if the proposal is restricted
// to such a set. Otherwise it leaves x unchanged. It implements [sampler.Starter].
func (k *hastings) Start(x []int32, r *sampler.Stream) error { return k.proposal.start(x, r) }

// Allows reports whether x is in the set of allowed states to which the proposal is restricted. It
// implements [sampler.Confined].
func (k *hastings) Allows(x []int32) bool { return k.proposal.check(0, 1, x) == nil }

// Reset computes the energies, differences and weights at the states x. It implements
// [sampler.Transition].
func (k *hastings) Reset(ctl sampler.Control, x []int32) error {
	k.x = x
	return k.at.Renew(ctl.Stop, 3, k.proposal.work(), func(stage, lo, hi int) (bool, error) {
		if k.source == nil || stage == 0 {
			return resetProposal(k.proposal, stage, lo, hi, k.e, x, &k.at, k.stale)
		}
		if stage == 1 {
			k.model.Energy(k.e[lo:hi], x[lo*k.sites:hi*k.sites])
		}
		return true, sweep.CheckStart(k.e, lo, hi)
	})
}

// Step makes one step, in the stages of [hastings.Stage], and calls ctl.Stop between stages. It
// implements [sampler.Transition].
func (k *hastings) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	k.x = x
	return sweep.Step(&k.at, ctl, k, info, x, r, 5, k.proposal.work())
}

// Stage makes one of the five stages of a step for the chains lo … hi−1. The stages update the
// weights, propose, evaluate the model, compute the weights at the proposals, and accept or reject.
// It implements [sweep.Staged].
func (k *hastings) Stage(stage, lo, hi int, x []int32, r []sampler.Stream) bool {
	switch {
	case stage == 0 && k.source != nil:
		return k.estimate(lo, hi, x, r)
	case stage == 0:
		return k.rebuild(lo, hi, x)
	case stage == 1:
		k.propose(lo, hi, x, r)
		return true
	case stage < 4 && k.source != nil:
		return true
	case stage == 2:
		return k.proposal.evaluate(lo, hi, k.next, k.y, x, &k.at)
	case stage == 3:
		return k.proposal.weigh(lo, hi, k.y, &k.at)
	}
	for s := lo; s < hi; s++ {
		k.judge(s, x[s*k.sites:(s+1)*k.sites], k.y[s*k.sites:(s+1)*k.sites], &r[s])
	}
	return true
}

// rebuild recomputes the stale weights of the chains lo … hi−1. It returns false if it was
// stopped.
func (k *hastings) rebuild(lo, hi int, x []int32) bool {
	for s := lo; s < hi; s++ {
		from := s
		for s < hi && k.stale[s] {
			s++
		}
		if from < s && !k.proposal.rebuild(from, s, x, &k.at) {
			return false
		}
		clear(k.stale[from:s])
	}
	return true
}

// estimate replaces the differences and weights of the chains lo … hi−1 by estimates at the
// states x. It returns false if it was stopped.
func (k *hastings) estimate(lo, hi int, x []int32, r []sampler.Stream) bool {
	if k.at.Part == 0 {
		for s := lo; s < hi; s++ {
			k.generators[s] = &r[s]
		}
		p, _ := k.proposal.(estimated) // every method with a source uses an estimated proposal
		k.source.Estimate(p.loaded(lo, hi), x[lo*k.sites:hi*k.sites], k.generators[lo:hi])
	}
	if !k.proposal.weigh(lo, hi, x, &k.at) {
		return false
	}
	k.proposal.accept(lo, hi)
	return true
}

// propose draws proposals y for the chains lo … hi−1 at the states x. If a proposal is not
// defined, y is the current state.
func (k *hastings) propose(lo, hi int, x []int32, r []sampler.Stream) {
	for s := lo; s < hi; s++ {
		from, to := s*k.sites, (s+1)*k.sites
		k.moved[s], k.logq[s] = k.proposal.draw(k.y[from:to], x[from:to], s, &r[s])
		if math.IsNaN(k.logq[s]) {
			copy(k.y[from:to], x[from:to])
		}
	}
}

// judge accepts or rejects the proposal y of chain s at state x.
func (k *hastings) judge(s int, x, y []int32, r *sampler.Stream) {
	if k.unadjusted {
		e := math.NaN()
		if k.source == nil {
			e, k.e[s] = k.next[s], k.next[s]
			k.proposal.accept(s, s+1)
		}
		k.settle(s, x, y, k.moved[s], e, k.e[s])
		return
	}
	a, ok := sweep.Accept(k.e[s]-k.next[s], k.logq[s], k.proposal.logProb(x, y, s))
	if k.decide(s, x, y, k.moved[s], a, ok, r) {
		k.proposal.accept(s, s+1)
	}
}

// decide moves chain s from x to y with the acceptance probability a and reports whether the state
// changed. The argument moved is the number of sites at which x and y differ. If ok is false, the
// proposal counts as invalid.
func (k *hastings) decide(s int, x, y []int32, moved int, a float64, ok bool, r *sampler.Stream) bool {
	pending := &k.at.Info[s]
	*pending = sampler.Info{Energy: k.e[s], Accept: a}
	if !ok {
		pending.Invalid = 1
	}
	if r.Float64() >= a || moved == 0 {
		return false
	}
	copy(x, y)
	k.e[s] = k.next[s]
	pending.Energy, pending.Moved = k.e[s], moved
	return true
}

// settle moves chain s from x to y without an acceptance test and reports the energy e. The
// argument moved is the number of sites at which x and y differ. If the argument met, the energy of
// the evaluated state, is not finite, settle reports an error and leaves x unchanged.
func (k *hastings) settle(s int, x, y []int32, moved int, e, met float64) {
	pending := &k.at.Info[s]
	*pending = sampler.Info{Energy: e, Accept: 1, Err: unadjusted(met)}
	if math.IsNaN(k.logq[s]) && pending.Err == nil {
		pending.Err = errDifference
	}
	if pending.Err == nil {
		pending.Moved = moved
		copy(x, y)
	}
}

func (k *hastings) Adapt(info []sampler.Info, step, of int) {
	if k.tune == nil {
		return
	}
	k.alpha = k.tune.AdaptTo(sweep.Proposals(info), step, of)
	if k.most > 0 { // the tuner does not apply this bound
		k.alpha = min(max(k.alpha, 1), k.most)
		k.tune.Set(k.alpha)
	}
	k.setStep(k.alpha, half)
}

// setStep sets the step size and the balance from the next step on.
func (k *hastings) setStep(alpha, beta float64) {
	k.proposal.tune(alpha, beta)
	for s := range k.stale {
		k.stale[s] = true
	}
}

func (k *hastings) AppendBinary(b []byte) ([]byte, error) {
	k.at.Begin(nil)
	k.rebuild(0, len(k.e), k.x)
	return wire.AppendFields(b, k.fields)
}

func (k *hastings) UnmarshalBinary(b []byte) error {
	clear(k.stale)
	return wire.ReadFields(b, k.fields)
}

func (k *hastings) fields(f *wire.Fields) {
	if f.Float64s(k.e); k.alpha > 0 {
		sweep.TuningFields(f, &k.alpha, k.tune)
	}
	if f.Reading() {
		k.proposal.tune(k.alpha, half)
	}
	k.proposal.fields(f)
	k.at.Fields(f, 0)
}

// errDifference is the error of a proposal that computed a NaN although the energy is not NaN.
var errDifference = fmt.Errorf("the model's gradient, field or conditional energies: %w", sampler.ErrNaN)

// errUnadjusted is the error of a kernel without an acceptance step in a state of probability zero.
var errUnadjusted = fmt.Errorf("%w, and a kernel without an acceptance step cannot refuse it: use one with such a step, such as DMALA", sampler.ErrZero)

// unadjusted returns the error of a kernel without an acceptance step that has moved to a state
// of energy e, or nil if e is finite.
func unadjusted(e float64) error {
	switch {
	case math.IsInf(e, 1):
		return errUnadjusted
	case math.IsNaN(e) || math.IsInf(e, -1):
		return sampler.ErrNaN
	}
	return nil
}

func (k *hastings) Cost(info []sampler.Info) float64 {
	return proposed(k.proposal, k.price.Of(k.model), info)
}
