// Package proximal projects real-valued series onto the solutions of linear and smooth
// inequalities. It finds the nearest point that satisfies them, in float64, and returns a
// certificate of the accuracy.
//
// A [Projector] is the recipe. Bind it to a runner, or compile it to a [Solver] for direct use.
package proximal
