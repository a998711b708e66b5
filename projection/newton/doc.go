// Package newton projects real-valued states onto the solutions of smooth equations h(z) = 0,
// linear or nonlinear. It uses the Gauss–Newton method in float64.
//
// A [Projector] is the recipe. Bind it to a runner, or compile it to a [Solver] for direct use.
// For inequalities, and for equations with a tolerance, use package proximal.
package newton
