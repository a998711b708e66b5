package mcmc

import (
	"cmp"
	"context"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// DULA is the discrete unadjusted Langevin algorithm (Zhang, Liu and Liu 2022,
// Algorithm 1 without the acceptance step): every step moves to a draw from the
// discrete Langevin proposal.
//
// DULA does not sample π ∝ e^{−E}. On log-quadratic two-level targets its stationary distribution
// is
//
//	π_α(x) ∝ π(x) ∏_i (1 + e^{l_i(x)}),  l_i = −½Δ_i(x) − 1/(2α),
//
// where Δ_i is the energy difference of flipping site i. The error vanishes as α → 0. Use DULA
// where the bias is harmless or the energy can only be estimated. Otherwise use [DMALA].
//
// On other targets the error of the zero value does not vanish, because a first-order table is
// not exact; see Exact. Exact and Balance together give the adjusted scores of Gissler, Saremi
// and Bach (2026, arXiv 2602.15587). On spins ±1, Sqrt gives the proposal ∏ exp((½s_i + x_i/(4α))
// x'_i) with the score s_i = ½ log(p(+1|rest)/p(−1|rest)). Barker gives the proposal whose limit
// is heat-bath (Glauber) dynamics. These formulas are derived from public summaries, which name a
// Gibbs and a Glauber score but do not define them.
//
// Let ε = exp(−1/(2α)), the odds of a flip that does not change the energy. The total variation
// distance between the stationary distribution and π, computed from the transition matrix
// (TestZeroBias), is
//
//	ε = 2⁻⁸         6 independent  Ising 3×3  8 of Curie–Weiss  8 of a cubic energy
//	table, Sqrt         .0020        .0048         .0035              .0137
//	Exact, Sqrt         .0020        .0048         .0041              .0047
//	Exact, Barker       .0015        .0034         .0034              .0018
//
// and halves when ε does. The exception is the last number of the first line, where the table is
// the gradient. The bias is zero only in the limit, even for independent sites. For these the
// bias of [DUPS] is zero at every step size.
//
// A draw that moves several sites at once can reach a state of probability zero, from which no
// step is defined. The run then stops with [sampler.ErrZero].
type DULA struct {
	// StepSize is α; 0 means 0.1. Its unit is such that flipping a two-level site has squared
	// length 1, changing a category has squared length 2, and moving between ordinal levels has
	// the squared difference of their values. The step sizes of the paper's experiments and of
	// its code, which stores states as {0, 1}, are in these units. (A flip of a spin ±1 has
	// squared length 4: in formulas for spins, α is 4 times this value.) With 0.1, the bias on
	// the paper's Ising model is below 2.2 % in total absolute probability.
	StepSize float64

	// Preconditioner holds a factor g_i for the step size of each site, so that the exponent is
	// δ²/(2α g_i); nil means 1 everywhere. This follows Section 6 of the paper; the g_i² of its
	// Appendix H contradicts the example there.
	Preconditioner []float32

	// Window w > 0 proposes only ordinal levels l with |l − x_i| ≤ w; 0 means no limit. An
	// energy.Windowed model then computes only that part of the table.
	Window int

	// Minibatch uses the model's unbiased estimate of the table; the model must be
	// energy.Stochastic. The energies that the kernel reports are then NaN.
	Minibatch bool

	// Balance is the function g that weights levels:
	//
	//	q_i(l|x) ∝ g(t_l) exp(−δ²(l, x_i)/(2α)),  t_l = exp(E(x) − E(x with x_i=l)).
	//
	// The zero value, Sqrt, is the proposal of the paper.
	Balance Balance

	// Exact computes the differences from the model's single-site energies instead of its
	// first-order table; see [LocallyBalanced]. Only with Exact does the error vanish as α → 0
	// for every model and every Balance.
	Exact bool

	// Within, if not nil, confines the chain to a language of package constraint; see [DMALA].
	Within constraint.Automaton
}

// defaultDULAStep is the first step size in the tests' table of known answers. The bias is 0.017
// on the 4×4 torus and 0.021 on the 5×5 torus.
const defaultDULAStep = 0.1

// Name implements [sampler.Named]. It returns "dula".
func (DULA) Name() string { return "dula" }

// Kernel implements [sampler.Method].
func (d DULA) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	d.StepSize = cmp.Or(d.StepSize, defaultDULAStep)
	l := langevin{alpha: d.StepSize, preconditioner: d.Preconditioner, window: d.Window, minibatch: d.Minibatch, within: d.Within, balance: d.Balance, exact: d.Exact}
	p, err := l.proposal(ctx, "DULA", m, chains)
	if err != nil {
		return nil, err
	}
	k := newHastings(m, chains, p, d.StepSize, nil)
	if k.unadjusted = true; d.Minibatch {
		k.source, _ = energy.As[energy.Stochastic](m)
		k.generators = make([]rand.Source, chains)
	}
	return k, nil
}
