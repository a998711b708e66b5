// Package proximal projects real-valued series onto the solutions of linear and smooth
// inequalities. It finds the nearest point to a given point that satisfies them, in float64, and
// returns a certificate of the accuracy.
//
// A [Projector] describes the inequalities. A runner such as package sampler/diffusion binds it;
// for direct use, compile it to a [Solver].
package proximal
