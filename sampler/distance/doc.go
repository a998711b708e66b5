// Package distance says how far samples are from data. For real-valued series: the
// [Frechet] distance between the Gaussians that have their means and covariances,
// dynamic time warping ([DTW]) between single series, the [EnergyScore] of samples
// against what happened, and the [Violation] of inequalities. For tokens: [MMD].
//
// Products are written float64(a*b) + c: a compiler may fuse a*b + c, and fused
// bits differ between processors.
package distance
