package momentum

import (
	"context"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/tune"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// DHAMS is the discrete Hamiltonian-assisted Metropolis sampler (Zhou and Tan 2025, arXiv
// 2507.09807). Every site has a Gaussian momentum u_i, which carries its direction of motion from
// step to step. The coordinate v(l) of a level l is l itself, or the value of the level in an
// energy.Ordinal model of more than two levels. The parameters δ, ρ and φ are the fields StepSize,
// Persistence and Correction.
//
// A step from (x, u) to (x*, u*) has four parts. It refreshes the momentum, with ξ standard normal:
//
//	u ← ρu + √(1−ρ²)·ξ.
//
// It draws the new level l of every site i from
//
//	q_i(l|x, u) ∝ exp( −Δ_i(l) + u_i·d/δ − d²/(2δ²) ),  d = v(l) − v(x_i),
//
// where Δ_i(l) is the energy difference E(x with x_i=l) − E(x) in the model's table. It changes the
// momentum to
//
//	u* = −u + (v* − v)/δ + φ·(G(x*) − G(x)),
//
// where v* and v are the coordinates of x* and x, and G_i is the slope of −E along site i. Finally
// it accepts (x*, u*) with probability
//
//	min(1, exp( E(x) − E(x*) + ½|u|² − ½|u*|² + log q(x|x*, −u*) − log q(x*|x, u) ))
//
// and otherwise continues from (x, −u).
//
// The distribution π(x, u) ∝ exp(−E(x) − ½|u|²) is invariant for any table. If E is linear, every
// proposal is accepted. A step costs one evaluation of the model.
//
// The refresh, the correction and the acceptance probability are derived here, and may differ from
// the published algorithm.
//
// On Ising models DHAMS mixes about as fast as mcmc.DMALA, whatever its settings. [PDHAMS] is
// faster if the energy is nearly quadratic.
type DHAMS struct {
	// StepSize is the step size δ of the proposal (see [DHAMS]). If it is 0, δ starts at 0.5 and is
	// tuned during warm-up. A positive value stays fixed. If Persistence and Relaxation are 0, δ²
	// has the same effect as the α of mcmc.DMALA.
	StepSize float64

	// Target is the mean acceptance probability to which warm-up tunes the step size; 0 means
	// 0.574, which is also the default of mcmc.DMALA.
	Target float64

	// Persistence is ρ in [0, 1): a site keeps this fraction of its momentum in a step.
	Persistence float64

	// Correction is the factor φ of the gradient term in the formula for the new momentum (see
	// [DHAMS]). It must be finite; 0 omits the gradient. Use 0 for models with states of
	// probability zero. With any other value, a chain gets stuck next to such a state, because the
	// energy difference there is infinite.
	Correction float64

	// Relaxation, in [0, 1], is the probability that a site moves by reflection instead of an
	// independent draw. Reflection divides [0, 1] into one interval per level. The interval of
	// level l has length q_i(l). Reflection draws a uniform point w in the interval of the present
	// level and moves to the level whose interval contains 1−w. This leaves q_i invariant (Neal
	// 1998, ordered over-relaxation in the limit of many draws).
	//
	// It is not the over-relaxation of the paper.
	Relaxation float64
}

// defaultStep is the step size at which adaptation starts; few sites move with it.
const defaultStep = 0.5

// Name returns "dhams"; it implements [sampler.Named].
func (DHAMS) Name() string { return "dhams" }

// Kernel returns a new kernel for the given number of chains. The model must have two levels or be
// energy.Ordinal. It implements [sampler.Method].
func (d DHAMS) Kernel(_ context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	s := settings{who: "DHAMS", persistence: d.Persistence, correction: d.Correction, relaxation: d.Relaxation}
	if err := checkStep(s.who, d.StepSize); err != nil {
		return nil, err
	}
	step, tuner, err := tune.Start("momentum: DHAMS", d.StepSize, defaultStep, d.Target)
	if err != nil {
		return nil, err
	}
	k, err := newKernel(m, chains, s)
	if err != nil {
		return nil, err
	}
	k.frame, k.tune = &scaled{sites: k.sites}, tuner
	k.setStep(step)
	return k, nil
}
