// Package distance says how far samples of real-valued series are from data: the
// [Frechet] distance between the Gaussians that have their means and covariances,
// and dynamic time warping ([DTW]) between single series.
//
// Products are written float64(a*b) + c: a compiler may fuse a*b + c, and fused
// bits differ between processors.
package distance
