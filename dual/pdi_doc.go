// Package pdi moves multipliers inside one run of a diffusion (primal–dual
// inference: Hadou, Uslu and Ribeiro 2026), so that samples of real numbers meet
// inequalities on average.
//
// A [PDI] predicts the clean samples at its multipliers λ, lets the diffusion
// take its step with them, and moves λ by how much they violate the
// inequalities. It predicts through a [Predictor], exact for Gaussian mixtures
// under linear inequalities ([MixturePredictor]) or by Monte Carlo for any
// energy ([GibbsScore]):
//
//	p, err := dual.NewMixturePredictor(base, 1, atLeast)
//	d, err := dual.NewPDI(p, dual.PDIConfig{})
//
// [Guided] and [Projected] are baselines to compare with, [Box] and [Simplex]
// the domains of its problems.
//
// Products are written float64(a*b) + c: a compiler may fuse a*b + c, and fused
// bits differ between processors.
package dual
