// Package pdi moves multipliers inside one run of a diffusion (primal–dual
// inference: Hadou, Uslu and Ribeiro 2026), so that samples of real numbers meet
// inequalities on average.
//
// A [Denoiser] predicts the clean samples at its multipliers λ, lets the diffusion
// take its step with them, and moves λ by how much they violate the
// inequalities. It predicts through a [Predictor], exact for Gaussian mixtures
// under linear inequalities ([Mixture]) or by Monte Carlo for any
// energy ([GibbsScore]):
//
//	p, err := pdi.NewMixture(base, 1, atLeast)
//	d, err := pdi.New(ctx, p, pdi.Config{})
//
// Package network trains networks that take the place of either. [Guided] and
// [Projected] are baselines to compare with, [Box] and [Simplex]
// the domains of its problems.
//
// Products are written float64(a*b) + c: a compiler may fuse a*b + c, and fused
// bits differ between processors.
package pdi
