// Package continuous provides probability densities on ℝⁿ. [Mixture] is a normalised Gaussian
// mixture. Tilting it, adding noise to it, and conditioning it on coordinates or on linear
// equations give Gaussian mixtures again. [Linear] and [Quadratic] are terms of larger energies.
//
// Each of the three is an [energy.Scored]: it computes the energy E, where p(x) ∝ exp(−E(x)), in
// nats, and the score −∇E. All are immutable and safe for concurrent use.
package continuous
