// Package tilt computes with exponentially tilted distributions on a finite list of states k,
//
//	p_λ(k) ∝ exp(−(f0[k] + λᵀg[k])/β),
//
// where f0 and the vector g are functions of the state, λ holds one multiplier per entry of g, and
// β is a temperature. The package evaluates and maximises the dual function −β log Z(λ), where Z is
// the sum of the weights. It normalises weights in log-space.
package tilt
