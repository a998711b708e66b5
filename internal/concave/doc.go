// Package concave maximises smooth concave functions of multipliers λ ≥ 0, such as dual
// functions. It also solves the small positive definite systems that arise on the way.
package concave
