// Package continuous provides probability densities on ℝⁿ. [Mixture] is a normalised Gaussian
// mixture. If you tilt a mixture, add noise to it, or condition it on coordinates or linear
// equations, the result is again a Gaussian mixture. [Linear] and [Quadratic] are terms of larger
// energies.
//
// Each of the three is an [energy.Scored]: it computes the energy E in nats and the score −∇E,
// where p(x) ∝ exp(−E(x)). All are immutable and safe for concurrent use.
package continuous
