// Package tilt handles distributions on a finite list of states, tilted by multipliers,
//
//	p_λ(k) ∝ exp(−(f0[k] + λᵀg[k])/β):
//
// their dual function, its maximum, and normalisation in log-space.
package tilt
