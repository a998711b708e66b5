// Package continuous provides densities on ℝⁿ with scores. [Mixture] is a normalised Gaussian
// mixture. Tilting it, adding noise to it, and conditioning it on coordinates or on linear
// equations give Gaussian mixtures again. [Linear] and [Quadratic] are terms of larger energies.
//
// Each is an [energy.Scored]: it has the energy E in nats, p(x) ∝ exp(−E(x)), and the score −∇E.
// All are immutable and safe for concurrent use.
package continuous
