// Package concave maximises smooth concave functions of multipliers λ ≥ 0, such
// as dual functions, and solves the small positive definite systems on the way.
//
// Products are written float64(a*b) + c: a compiler may fuse a*b + c, and fused
// bits differ between processors.
package concave
