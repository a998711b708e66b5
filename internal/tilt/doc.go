// Package tilt owns distributions on a finite list of states, tilted by
// multipliers,
//
//	p_λ(k) ∝ exp(−(f0[k] + λᵀg[k])/β):
//
// their dual function, its maximum, and normalisation in log-space.
//
// Products are written float64(a*b) + c, and exp and log come from package simd:
// a compiler may fuse a*b + c, and fused bits differ between processors.
package tilt
