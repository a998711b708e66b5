package mcmc

import (
	"context"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/tune"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// DLMC is discrete Langevin Monte Carlo (Sun, Dai, Dai, Zhou and Schuurmans
// 2023). Every site follows, for a time τ and independently, the jump process that
// moves from x_i to l at rate g(t_l), t_l = exp(E(x) − E(x with x_i=l)), with the
// differences of the model's first-order table. The distribution of that process at
// time τ is approximated by
//
//	q_i(l|x) = ν_l (1 − exp(−τ g(t_l)/ν_l)),  l ≠ x_i,
//
// and the remaining probability to stay, where ν_l = t_l/Σ_k t_k is the limit of the
// process. That is right to first order for small τ, right in the limit of large τ,
// and exact on two levels. The change of all sites is accepted with the Hastings
// ratio, as in [DMALA], which leaves π invariant; a step costs one evaluation of the
// model.
//
// The proposal does not use a distance between levels; on ordinal models with many
// levels DMALA is the better choice. A step costs up to twice DMALA's where the model
// itself is cheap. Probabilities have a relative error of 2·10⁻⁶ against the formula, in
// float32; the Hastings ratio uses the rounded ones that were drawn from. Two-level tori
// are held as bits under the conditions of [DMALA].
type DLMC struct {
	// StepSize is the time τ, in units in which the rate of a jump to a level of
	// the same energy is g(1). 0 means: start at 0.2 and adapt during warm-up.
	StepSize float64

	// Target is the mean acceptance probability that adaptation aims at; 0
	// means 0.574, see [DMALA].
	Target float64

	Balance Balance // g; the zero value is Sqrt
}

const defaultDLMCStep = 0.2 // a few sites in ten jump: adaptation comes from below

// Name implements [sampler.Named].
func (DLMC) Name() string { return "dlmc" }

// Kernel implements [sampler.Method].
func (d DLMC) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	if _, _, err := check.Shape("mcmc: DLMC", m, chains, sampler.BlockSize); err != nil {
		return nil, err
	}
	if err := checkStep("DLMC", d.StepSize); err != nil {
		return nil, err
	}
	if err := d.Balance.check("DLMC"); err != nil {
		return nil, err
	}
	alpha, tuner := d.StepSize, (*tune.Tuner)(nil)
	if alpha == 0 {
		alpha = defaultDLMCStep
		var err error
		if tuner, err = tune.New("mcmc: DLMC", alpha, d.Target); err != nil {
			return nil, err
		}
	}
	if _, levels := m.Shape(); levels != 2 {
		p, err := newRows("DLMC", m, chains, langevin{alpha: alpha})
		if err != nil {
			return nil, err
		}
		p.jumps = newJumps(d.Balance, levels)
		return newHastings(m, chains, p, alpha, tuner), nil
	}
	l := langevin{alpha: alpha, balance: d.Balance, jumps: true}
	return onTorus(m, chains, l, tuner, func() (proposal, error) { return newFlips(m, chains, l), nil })
}
