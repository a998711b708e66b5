package mcmc

import (
	"context"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/tune"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// DMALA is the discrete Metropolis-adjusted Langevin algorithm (Zhang, Liu and
// Liu 2022, Algorithm 1): it proposes a change of every site at once from the
// discrete Langevin proposal q and accepts y with probability
//
//	min(1, exp( E(x) − E(y) + log q(x|y) − log q(y|x) )),
//
// which leaves π ∝ e^{−E} invariant whatever the table of differences is worth.
// Energy and weights of the current states are cached: a step costs one
// evaluation of the model.
//
// The zero value tunes its step size during warm-up and needs no settings.
type DMALA struct {
	// StepSize is α; see [DULA]. 0 means: start at 0.2 and adapt during
	// warm-up. A positive value is fixed.
	StepSize float64

	// Target is the mean acceptance probability that adaptation aims at; 0
	// means 0.574, the optimum for Langevin proposals in continuous spaces
	// (Roberts and Rosenthal 1998) and close to it in discrete ones (Sun, Dai
	// and Schuurmans 2022).
	Target float64

	// Preconditioner and Window: see [DULA].
	Preconditioner []float32
	Window         int

	// Within, if not nil, confines the chain to a language of package
	// constraint: proposals are drawn from q restricted to it, with the
	// normalisers of both directions in the acceptance ratio, so the chain
	// samples π restricted to the language exactly. Initial states, unless
	// given, are uniform draws from it. A step costs a pass of the trellis per
	// chain. Each kernel compiles the language for itself.
	Within constraint.Automaton
}

const defaultDMALAStep = 0.2 // the middle of the paper's range for the Ising model

// Name implements [sampler.Named].
func (DMALA) Name() string { return "dmala" }

// Kernel implements [sampler.Method].
func (d DMALA) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	alpha, tuner := d.StepSize, (*tune.Tuner)(nil)
	if alpha == 0 {
		alpha = defaultDMALAStep
		var err error
		if tuner, err = tune.New("mcmc: DMALA", alpha, d.Target); err != nil {
			return nil, err
		}
	}
	l := langevin{alpha: alpha, preconditioner: d.Preconditioner, window: d.Window, within: d.Within}
	p, err := l.proposal("DMALA", m, chains)
	if err != nil {
		return nil, err
	}
	return newDMALA(m, chains, p, alpha, tuner), nil
}

// newDMALA returns the kernel that proposes from p and accepts.
func newDMALA(m energy.Model, chains int, p proposal, alpha float64, tuner *tune.Tuner) *dmala {
	sites, _ := m.Shape()
	return &dmala{
		proposal: p, sites: sites, alpha: alpha, tune: tuner,
		e: make([]float64, chains), next: make([]float64, chains),
		logq: make([]float64, chains), moved: make([]int, chains),
		y: make([]int32, chains*sites),
	}
}

type dmala struct {
	proposal proposal
	sites    int
	alpha    float64
	tune     *tune.Tuner // nil: the step size is fixed
	e, next  []float64
	logq     []float64
	moved    []int
	x, y     []int32 // x: the states of the last Step, for Adapt
}

func (k *dmala) StepSize() float64 { return k.alpha }

// Start implements [sampler.Starter].
func (k *dmala) Start(x []int32, r *sampler.Stream) error { return k.proposal.start(x, r) }

func (k *dmala) Reset(x []int32) error {
	if err := k.proposal.check(x); err != nil {
		return err
	}
	k.proposal.load(k.e, x, nil)
	k.proposal.acceptAll()
	return sampler.CheckStart(k.e)
}

func (k *dmala) Step(info []sampler.Info, x []int32, r []sampler.Stream) {
	k.x = x
	for s := range info {
		lo, hi := s*k.sites, (s+1)*k.sites
		k.moved[s], k.logq[s] = k.proposal.draw(k.y[lo:hi], x[lo:hi], s, &r[s])
		if math.IsNaN(k.logq[s]) {
			copy(k.y[lo:hi], x[lo:hi])
		}
	}
	k.proposal.load(k.next, k.y, x)
	for s := range info {
		lo, hi := s*k.sites, (s+1)*k.sites
		back := k.proposal.logProb(x[lo:hi], k.y[lo:hi], s)
		a, ok := accept(k.e[s]-k.next[s], k.logq[s], back)
		info[s] = sampler.Info{Energy: k.e[s], Accept: a}
		if !ok {
			info[s].Invalid = 1
		}
		if r[s].Float64() >= a {
			continue
		}
		info[s].Moved = k.moved[s]
		if k.moved[s] == 0 {
			continue
		}
		copy(x[lo:hi], k.y[lo:hi])
		k.e[s] = k.next[s]
		k.proposal.accept(s)
		info[s].Energy = k.e[s]
	}
}

func (k *dmala) Adapt(info []sampler.Info, step, of int) {
	if k.tune == nil {
		return
	}
	k.alpha = k.tune.Adapt(meanAccept(info), step, of)
	k.proposal.setStep(k.alpha, half, k.x)
}

func (k *dmala) AppendBinary(b []byte) ([]byte, error) {
	b = wire.AppendFloat64s(b, k.e)
	b = wire.AppendFloat64s(b, []float64{k.alpha})
	if k.tune != nil {
		b = k.tune.Append(b)
	}
	return k.proposal.appendBinary(b), nil
}

func (k *dmala) UnmarshalBinary(b []byte) error {
	alpha := make([]float64, 1)
	b, err := wire.ReadFloat64s(b, k.e)
	if err != nil {
		return err
	}
	if b, err = wire.ReadFloat64s(b, alpha); err != nil {
		return err
	}
	if err := checkStep("DMALA", alpha[0]); err != nil {
		return err
	}
	if k.tune != nil {
		if b, err = k.tune.Restore(b); err != nil {
			return err
		}
	}
	if b, err = k.proposal.unmarshalBinary(b, alpha[0]); err != nil {
		return err
	}
	k.alpha = alpha[0]
	return wire.ReadEnd(b)
}
