// Package tilt computes with distributions on a finite list of states k, tilted by multipliers λ:
//
//	p_λ(k) ∝ exp(−(f0[k] + λᵀg[k])/β)
//
// It evaluates and maximises their dual function −β log Z(λ), and normalises weights in
// log-space.
package tilt
