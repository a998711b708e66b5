// Package newton projects real-valued states onto the solutions of smooth equations h(z) = 0,
// linear or nonlinear. It uses the Gauss–Newton method in float64.
//
// A [Projector] describes the equations. A runner such as package sampler/diffusion binds it; for
// direct use, compile it to a [Solver]. For inequalities, and for equations with a tolerance, use
// package proximal.
package newton
