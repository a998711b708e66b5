// Package pdi moves multipliers inside one run of a diffusion, so that real-valued samples
// satisfy inequalities on average (primal–dual inference: Hadou, Uslu and Ribeiro 2026).
//
// A [Denoiser] predicts the clean samples at its multipliers λ and passes them to the diffusion
// for its next step. It then moves λ by the amount by which these predictions violate the
// inequalities. Its [Predictor] is exact for Gaussian mixtures under linear inequalities
// ([Mixture]), or works by Monte Carlo for any energy ([GibbsScore]):
//
//	p, err := pdi.NewMixture(base, 1, dual.AtMost(atLeast, 0))
//	d, err := pdi.New(ctx, p, pdi.Config{})
//
// Package network trains networks that replace either predictor. [Guided] and [Projected] are
// baselines for comparisons. [Box] and [Simplex] are domains for predictions.
package pdi
