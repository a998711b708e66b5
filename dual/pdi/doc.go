// Package pdi enforces inequalities that must hold on average over real-valued samples. It needs
// only a single run of a diffusion, because it moves the multipliers during the run (primal–dual
// inference: Hadou, Uslu and Ribeiro 2026).
//
// A [Denoiser] predicts the clean samples at its multipliers λ and passes them to the diffusion for
// its next step. It then moves λ by the amount by which these predictions violate the inequalities.
// The predictions come from a [Predictor]. [Mixture] is exact, for Gaussian mixtures and linear
// inequalities. [GibbsScore] works by Monte Carlo, for any energy:
//
//	p, err := pdi.NewMixture(base, 1, dual.AtMost(atLeast, 0))
//	d, err := pdi.New(ctx, p, pdi.Config{})
//
// Package network trains networks that replace either predictor. [Guided] and [Projected] are
// baselines for comparisons. [Box] and [Simplex] are domains for predictions.
package pdi
