package mcmc

import (
	"context"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// DULA is the discrete unadjusted Langevin algorithm (Zhang, Liu and Liu 2022,
// Algorithm 1 without the acceptance step): every step moves to a draw from the
// discrete Langevin proposal.
//
// It does not sample π ∝ e^{−E}. On log-quadratic two-level targets its
// stationary law is
//
//	π_α(x) ∝ π(x) ∏_i (1 + e^{l_i(x)}),  l_i = −½Δ_i(x) − 1/(2α),
//
// where Δ_i is the energy difference of flipping site i; the error vanishes as
// α → 0. Use it where the bias is harmless or the energy can only be estimated,
// and [DMALA] otherwise.
//
// A draw that moves several sites at once can reach a state of probability
// zero, from which nothing leads on: the run then stops with [sampler.ErrZero].
type DULA struct {
	// StepSize is α, in units where flipping a two-level site has squared
	// length 1, changing a category 2, and moving between ordinal levels the
	// squared difference of their values. (For spins ±1 a paper's α is 4 times
	// this one.) 0 means 0.1, for which the bias on the paper's Ising model is
	// below 2.2 % in total absolute probability.
	StepSize float64

	// Preconditioner scales the step size of each site: δ²/(2α g_i), with
	// exponent 1 (Section 6; the g_i² of the paper's Appendix H contradicts its
	// own example). Nil means 1 everywhere.
	Preconditioner []float32

	// Window w > 0 proposes ordinal levels l with |l − x_i| ≤ w only, and asks
	// an energy.Windowed model for that part of the table.
	Window int

	// Minibatch takes the table from the model's unbiased estimate
	// (energy.Stochastic). Energies are then not known.
	Minibatch bool

	// Within confines the chain to a language; see [DMALA].
	Within constraint.Automaton
}

// defaultDULAStep is the step size of the first row of the table of known
// answers in the tests: bias 0.017 and 0.021 on the 4×4 and 5×5 torus.
const defaultDULAStep = 0.1

// Name implements [sampler.Named].
func (DULA) Name() string { return "dula" }

// Kernel implements [sampler.Method].
func (d DULA) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	if d.StepSize == 0 {
		d.StepSize = defaultDULAStep
	}
	l := langevin{alpha: d.StepSize, preconditioner: d.Preconditioner, window: d.Window, minibatch: d.Minibatch, within: d.Within}
	p, err := l.proposal("DULA", m, chains)
	if err != nil {
		return nil, err
	}
	sites, _ := m.Shape()
	return &dula{
		model: m, proposal: p, sites: sites, alpha: d.StepSize, minibatch: d.Minibatch,
		e: make([]float64, chains), y: make([]int32, chains*sites), moved: make([]int, chains),
	}, nil
}

type dula struct {
	model     energy.Model
	proposal  proposal
	sites     int
	alpha     float64
	minibatch bool
	e         []float64
	y         []int32
	moved     []int
}

func (k *dula) StepSize() float64 { return k.alpha }

// Start implements [sampler.Starter].
func (k *dula) Start(x []int32, r *sampler.Stream) error { return k.proposal.start(x, r) }

func (k *dula) Reset(x []int32) error {
	if err := k.proposal.check(x); err != nil {
		return err
	}
	if k.minibatch {
		k.model.Energy(k.e, x)
		return sampler.CheckStart(k.e)
	}
	k.proposal.load(k.e, x, nil)
	k.proposal.acceptAll()
	return sampler.CheckStart(k.e)
}

func (k *dula) Step(info []sampler.Info, x []int32, r []sampler.Stream) {
	if k.minibatch {
		k.proposal.estimate(x, r)
		k.proposal.acceptAll()
	}
	for s := range info {
		lo, hi := s*k.sites, (s+1)*k.sites
		moved, logq := k.proposal.draw(k.y[lo:hi], x[lo:hi], s, &r[s])
		info[s] = sampler.Info{Energy: math.NaN(), Accept: 1, Moved: moved}
		if math.IsNaN(logq) {
			copy(k.y[lo:hi], x[lo:hi])
			info[s].Moved, info[s].Err = 0, sampler.ErrNaN
		}
	}
	if k.minibatch {
		copy(x, k.y)
		return
	}
	k.proposal.load(k.e, k.y, x)
	k.proposal.acceptAll()
	for s := range info {
		lo, hi := s*k.sites, (s+1)*k.sites
		info[s].Energy = k.e[s]
		if info[s].Err == nil {
			info[s].Err = unadjusted(k.e[s])
		}
		if info[s].Err != nil {
			info[s].Moved = 0
			continue
		}
		copy(x[lo:hi], k.y[lo:hi])
	}
}

func (k *dula) AppendBinary(b []byte) ([]byte, error) {
	return k.proposal.appendBinary(wire.AppendFloat64s(b, k.e)), nil
}

func (k *dula) UnmarshalBinary(b []byte) error {
	b, err := wire.ReadFloat64s(b, k.e)
	if err != nil {
		return err
	}
	if b, err = k.proposal.unmarshalBinary(b, k.alpha); err != nil {
		return err
	}
	return wire.ReadEnd(b)
}
