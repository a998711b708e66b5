// Package lagrange projects onto scores that are no language: an augmented
// Lagrangian, guided by derivatives, looks for a sequence that satisfies them, and
// the nearest rows follow from it.
//
// A [Projector] is the recipe. Where a constraint is a language, package
// projection is exact and faster. Under masks, where a diffusion never reconsiders a
// token, sampler/diffusion/scored finds what this does not.
//
// Products are written float64(a*b) + c: a compiler may fuse them otherwise, and
// fused bits differ between processors.
package lagrange
