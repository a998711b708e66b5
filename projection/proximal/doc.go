// Package proximal moves real-valued series to the nearest point that satisfies linear rows and
// smooth inequalities, in float64 and with a certificate.
//
// A [Projector] is the recipe. Bind it to a runner, or compile it to a [Solver] for
// direct use.
package proximal
