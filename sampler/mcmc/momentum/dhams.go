package momentum

import (
	"context"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/tune"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// DHAMS is the discrete Hamiltonian-assisted Metropolis sampler (Zhou and Tan 2025,
// arXiv 2507.09807). Site i at level x_i has the coordinate v_i = v(x_i): the level
// itself where there are two, the value of the level in an energy.Ordinal model.
// A step refreshes the momentum, u ← ρu + √(1−ρ²)·ξ with ξ standard normal, draws
// every site from
//
//	q_i(l|x, u) ∝ exp( −Δ_i(l) + u_i·d/δ − d²/(2δ²) ),  d = v(l) − v_i,
//
// where Δ_i(l) = E(x with x_i=l) − E(x) by the model's table, and turns the momentum
// to
//
//	u* = −u + (v* − v)/δ + φ·(G(x*) − G(x)),
//
// G_i being the slope of −E along site i. It accepts (x*, u*) with probability
//
//	min(1, exp( E(x) − E(x*) + ½|u|² − ½|u*|² + log q(x|x*, −u*) − log q(x*|x, u) ))
//
// and otherwise goes on from (x, −u): generalised detailed balance, under which
// π(x, u) is invariant for any table, since what accepts is the energy. q is the
// conditional distribution of x given the auxiliary number v + δu if E is linear,
// and then every proposal is accepted. A step costs one evaluation of the model.
//
// What is accepted has the momentum turned, so that v + δu, about which the next
// proposal is centred, lies on the other side of v*: with a persistence ρ near 1
// this is Adler's over-relaxation. Relaxation does the like for the sites.
//
// Refresh, correction and acceptance are derived here from the construction that the
// paper describes; details of its own algorithm may differ.
//
// On Ising models it mixes about as fast as mcmc.DMALA, whichever the settings;
// [PDHAMS] is faster where the energy is near to quadratic.
type DHAMS struct {
	// StepSize is δ. 0 means: start at 0.5 and adapt during warm-up. A positive
	// value is fixed. With ρ = 0 and no relaxation δ² acts as the α of mcmc.DMALA.
	StepSize float64

	// Target is the mean acceptance probability that adaptation aims at; 0 means
	// 0.574, as in mcmc.DMALA.
	Target float64

	// Persistence is ρ, within [0, 1): how much of its momentum a site keeps.
	Persistence float64

	// Correction is φ, finite; 0 leaves out the gradient's part of the momentum. With
	// another value a state that has a neighbour of probability zero is never left: the
	// difference there is infinite. Use 0 for models with such states.
	Correction float64

	// Relaxation, within [0, 1], is the probability with which a site draws by
	// reflection instead of independently: from a uniform point w of the interval
	// that its level has in the cumulated q_i, to the level that 1−w is in. That
	// is the limit of many draws of Neal's ordered over-relaxation (1998), leaves
	// q_i invariant, and of two levels moves to the other with probability
	// min(1, q_i/(1−q_i)). The over-relaxation of the paper is another one, which
	// this package does not have.
	Relaxation float64
}

// The step size that adaptation starts at: a few sites in ten move.
const defaultStep = 0.5

// Name implements [sampler.Named].
func (DHAMS) Name() string { return "dhams" }

// Kernel implements [sampler.Method]. The model has two levels or is an
// energy.Ordinal one.
func (d DHAMS) Kernel(_ context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	s := settings{who: "DHAMS", persistence: d.Persistence, correction: d.Correction, relaxation: d.Relaxation}
	if err := checkStep(s.who, d.StepSize); err != nil {
		return nil, err
	}
	step, tuner := d.StepSize, (*tune.Tuner)(nil)
	if step == 0 {
		step = defaultStep
		var err error
		if tuner, err = tune.New("momentum: DHAMS", step, d.Target); err != nil {
			return nil, err
		}
	}
	k, err := newKernel(m, chains, s)
	if err != nil {
		return nil, err
	}
	k.frame, k.tune = &scaled{sites: k.sites}, tuner
	k.setStep(step)
	return k, nil
}
