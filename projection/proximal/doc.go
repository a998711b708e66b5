// Package proximal moves real-valued series to the nearest point within linear
// rows and smooth inequalities, in float64 and with a certificate.
//
// A [Projector] is the recipe, for a runner or, compiled to a [Solver],
// to use by hand.
//
// Products are written float64(a*b) + c: a compiler may fuse them otherwise, and
// fused bits differ between processors.
package proximal
