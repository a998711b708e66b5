package mcmc

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/tune"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// DMALA is the discrete Metropolis-adjusted Langevin algorithm (Zhang, Liu and Liu 2022, Algorithm
// 1). It proposes a change of every site at once, from the distribution q of [DULA], and accepts
// the proposed state y with probability
//
//	min(1, exp( E(x) − E(y) + log q(x|y) − log q(y|x) )).
//
// The proposal uses the model's table of energy differences E(x with x_i=l) − E(x) for all sites i
// and levels l. These are often correct only to first order (see energy.Differentiable), which
// lowers the acceptance probability. In any case π ∝ e^{−E} stays invariant. A step costs one
// evaluation of the model. If the model is [Proposing], its cheaper approximate differences replace
// the table.
//
// The zero value tunes its step size during warm-up.
//
// DMALA has faster kernels for two kinds of models if Preconditioner, Window and Within are not
// set:
//
//   - An energy.Toroidal model of at least 144 sites, with sides of at least 3. A site takes less
//     than a nanosecond. States of more than 32,768 sites are divided among Config.Workers.
//   - An energy.Matching model with few levels and neighbours, such as a Potts model on a lattice.
type DMALA struct {
	// StepSize is the step size α; see [DULA] for its unit. If it is 0, the step size starts at 0.2
	// and is tuned during warm-up. A positive value stays fixed.
	StepSize float64

	// Target is the mean acceptance probability to which warm-up tunes the step size; 0 means
	// 0.574. This value is optimal for Langevin proposals in continuous spaces (Roberts and
	// Rosenthal 1998) and nearly so in discrete ones (Sun, Dai and Schuurmans 2022). Proposals that
	// change nothing are always accepted. If their share exceeds Target, the mean leaves them out.
	Target float64

	// Preconditioner holds a factor for the step size of each site. Window limits proposals to
	// nearby levels. Both work as the fields of [DULA] with the same names.
	Preconditioner []float32
	Window         int

	// Balance is the function that weights the levels in a proposal. Exact, if true, replaces the
	// model's table of energy differences by exact ones. Both work as the fields of [DULA] with the
	// same names. Every choice leaves the model's distribution π invariant.
	Balance Balance
	Exact   bool

	// Within, if not nil, confines the chain to a set of allowed states, called a language (see
	// package constraint). The chain samples exactly π restricted to the language. Proposals are
	// drawn from q restricted to the language. The normalisers of the restricted q enter the
	// acceptance probability.
	//
	// Initial states that the caller does not give are drawn uniformly from the language. Every
	// step also runs a dynamic program for each chain, over sites and states of the automaton.
	Within constraint.Automaton
}

const defaultDMALAStep = 0.2 // initial step size, the middle of the paper's range for the Ising model

// Name returns "dmala"; it implements [sampler.Named].
func (DMALA) Name() string { return "dmala" }

// Kernel returns a new kernel that moves the given number of chains. It implements [sampler.Method].
func (d DMALA) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	alpha, tuner, err := tune.Start("mcmc: DMALA", d.StepSize, defaultDMALAStep, d.Target)
	l := langevin{alpha: alpha, preconditioner: d.Preconditioner, window: d.Window, within: d.Within, balance: d.Balance, exact: d.Exact, judged: true}
	if err = cmp.Or(err, l.check("DMALA", m, chains)); err != nil {
		return nil, err
	}
	return onTorus(m, chains, l, tuner, func() (proposal, error) { return l.fit(ctx, "DMALA", m, chains) })
}

// check returns an error if the settings contradict each other or do not fit the model or the
// number of chains.
func (l langevin) check(method string, m energy.Model, chains int) error {
	sites, _, err := check.Shape("mcmc: "+method, m, chains, sampler.BlockSize)
	n := len(l.preconditioner)
	if err = cmp.Or(err, checkStep(method, l.alpha),
		check.If(n != 0 && n != sites, "mcmc: %s: len(Preconditioner) = %d, want %d (one per site)", method, n, sites),
	); err != nil {
		return err
	}
	for i, g := range l.preconditioner {
		if !(g > 0) || math.IsInf(float64(g), 1) {
			return fmt.Errorf("mcmc: %s: Preconditioner[%d] = %v, want positive and finite", method, i, g)
		}
	}
	_, estimates := energy.As[energy.Stochastic](m)
	return cmp.Or(
		check.If(l.window < 0, "mcmc: %s: Window = %d, want ≥ 0", method, l.window),
		l.balance.check(method),
		check.If(l.exact && l.window > 0, "mcmc: %s: Exact with Window = %d: windows are of first order", method, l.window),
		check.If(l.exact && l.minibatch, "mcmc: %s: Exact with Minibatch: estimates are not exact", method),
		check.If(l.minibatch && !estimates, "mcmc: %s: model = %T with Minibatch, want an energy.Stochastic one: set Minibatch = false", method, m),
	)
}

// proposal checks the settings and returns the proposal type that fits the model.
func (l langevin) proposal(ctx context.Context, method string, m energy.Model, chains int) (proposal, error) {
	if err := l.check(method, m, chains); err != nil {
		return nil, err
	}
	return l.fit(ctx, method, m, chains)
}

// fit returns the proposal type that fits the model, for settings that have been checked.
func (l langevin) fit(ctx context.Context, method string, m energy.Model, chains int) (proposal, error) {
	if l.within != nil {
		return newConfined(ctx, method, m, chains, l)
	}
	if _, levels := m.Shape(); levels == 2 {
		return newFlips(m, chains, l), nil
	}
	if p := newMatches(m, chains, l); p != nil {
		return p, nil
	}
	return newRows(method, m, chains, l)
}

// Proposing is a two-level model that can compute approximate energy differences of all flips.
// These differences cost less than those of [energy.Incremental] and are accurate enough for
// proposals. [DMALA] proposes with them and accepts with the exact energy, so the target stays
// invariant. model.RBM is Proposing, and so is an energy.Affine of an RBM.
type Proposing = interface {
	energy.Incremental

	// ProposalFrom has the arguments of FieldFrom of [energy.Incremental]. It stores in e the
	// energies of the states y. It stores in h the energy differences of flipping each site of y.
	// These differences may be less accurate than those of FieldFrom. They must depend only on y,
	// not on the earlier states x, because the reverse move must find the same differences.
	ProposalFrom(e []float64, h []float32, newCache []float64, y []int32, cache []float64, x []int32)
}

// langevin holds the settings that DULA and DMALA share.
type langevin struct {
	alpha          float64
	preconditioner []float32
	window         int
	minibatch      bool
	within         constraint.Automaton
	balance        Balance
	exact          bool
	// levels are weighted by the jump process of DLMC; two levels only; alpha is then the jump
	// time
	jumps  bool
	judged bool // proposals are accepted or rejected by the exact energy
}
