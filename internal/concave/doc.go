// Package concave maximises smooth concave functions of multipliers λ ≥ 0, such
// as dual functions, and solves the small positive definite systems on the way.
package concave
