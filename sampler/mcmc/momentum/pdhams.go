package momentum

import (
	"cmp"
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// PDHAMS is preconditioned [DHAMS] (Zhou and Tan 2025, arXiv 2507.21982). The proposal from x to x*
// uses the gradient ∇ of −E and its curvature W. In terms of the coordinates v and v* of x and x*
// (see DHAMS),
//
//	−E(x*) ≈ −E(x) + ∇ᵀ(v* − v) + ½(v* − v)ᵀW(v* − v).
//
// Let D be a diagonal matrix for which W + D = LLᵀ is positive definite. Let u be the momenta.
// Given the auxiliary vector Lᵀv + u, sites are independent,
//
//	q_i(l|x, u) ∝ exp( −Δ_i(l) + (Lu)_i·d − ½(W + D)_ii·d² ),  d = v(l) − v_i,
//	u* = −u + Lᵀ(v* − v) + φ·(G(x*) − G(x)).
//
// Here Δ, G, φ and the acceptance probability are the same as for DHAMS, and d is the change of
// coordinate from x_i to level l. DHAMS is the case W = 0, D = 1/δ². If E is quadratic, every
// proposal is accepted, up to rounding. Any W leaves the target invariant.
//
// Every diagonal entry of D is c + 1/δ², where δ is StepSize. The number c is the smallest for
// which W + c·I is positive semidefinite, to within a thousandth. Kernel takes a small multiple of
// sites³ operations. A step takes sites² operations and one evaluation of the model. The number of
// sites is at most 2048.
type PDHAMS struct {
	// Curvature is the matrix W in [PDHAMS], the curvature of −E. It is sites × sites, row-major,
	// symmetric and finite. If it is nil, W is computed from the model's energy differences at the
	// state x = 0 and at its neighbours. This is exact if E is quadratic.
	Curvature []float64

	// StepSize is the step size δ of the proposal (see [PDHAMS]), which warm-up does not tune; 0
	// means 5. Moves get longer as δ grows, up to the point where the matrix W + D is nearly
	// singular.
	StepSize float64

	// Persistence is ρ: a site keeps this fraction of its momentum in a step; 0 means 0.7.
	// Relaxation is the probability that a site moves by reflection; 0 means 1. For both, −1 means
	// 0. See [DHAMS].
	Persistence, Relaxation float64

	// Correction is the factor φ of the gradient term in the formula for the new momentum; see
	// [DHAMS].
	Correction float64
}

// The defaults of PDHAMS were found on an Ising torus and a spin glass of 12 sites. Without
// rejections, the settings that move farthest are best.
const (
	defaultWide        = 5    // default step size δ of PDHAMS
	defaultPersistence = 0.7  // default persistence ρ of PDHAMS
	defaultRelaxation  = 1    // default probability of reflection of PDHAMS
	mostSites          = 2048 // maximum number of sites of PDHAMS
)

// or returns the setting v. If v is 0, it returns the default, zero; if v is −1, it returns 0.
func or(v, zero float64) float64 {
	switch v {
	case 0:
		return zero
	case -1:
		return 0
	}
	return v
}

// Name returns "pdhams"; it implements [sampler.Named].
func (PDHAMS) Name() string { return "pdhams" }

// Kernel returns a new kernel for the given number of chains. The model must have two levels or be
// energy.Ordinal. It implements [sampler.Method].
func (p PDHAMS) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	s := settings{who: "PDHAMS", persistence: or(p.Persistence, defaultPersistence), correction: p.Correction, relaxation: or(p.Relaxation, defaultRelaxation)}
	if err := checkStep(s.who, p.StepSize); err != nil {
		return nil, err
	}
	k, err := newKernel(m, chains, s)
	if err != nil {
		return nil, err
	}
	if k.sites > mostSites {
		return nil, fmt.Errorf("momentum: PDHAMS: %d sites, want at most %d: a step takes sites² operations", k.sites, mostSites)
	}
	w := p.Curvature
	if w == nil {
		if w, err = curvature(m); err != nil {
			return nil, err
		}
	}
	if err := checkCurvature(w, k.sites); err != nil {
		return nil, err
	}
	k.step = cmp.Or(p.StepSize, defaultWide)
	if k.frame, err = factor(ctx, w, k.sites, 1/float64(k.step*k.step)); err != nil {
		return nil, err
	}
	k.costs(k.frame)
	return k, nil
}
