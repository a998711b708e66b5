// Package concave maximises smooth concave functions of Lagrange multipliers λ ≥ 0, such as the
// dual functions of constrained problems. It also solves the small positive definite systems that
// arise on the way.
package concave
