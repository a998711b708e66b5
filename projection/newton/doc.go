// Package newton moves real-valued states onto smooth equations h(z) = 0, linear or not,
// by the method of Gauss and Newton, in float64.
//
// A [Projector] is the recipe, for a runner or, compiled to a [Solver], to use by hand.
// Package proximal is for inequalities, and for bands around values.
//
// Products are written float64(a*b) + c: a compiler may fuse them otherwise, and fused
// bits differ between processors.
package newton
