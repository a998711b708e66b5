// Package continuous holds densities on ℝⁿ with scores: [Mixture], which
// is normalised and closed under tilts, noise, knowing some coordinates and linear
// equations, and the terms [Linear] and [Quadratic] of larger energies.
//
// Each is an [energy.Scored]: energies E in nats, p(x) ∝ exp(−E(x)), and the
// score −∇E. All are immutable and safe for concurrent use.
//
// A product that enters a sum is written float64(a*b) + c, because a compiler
// may fuse the two otherwise, and fused bits differ between processors.
package continuous
