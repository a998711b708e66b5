// Package weighted owns sums with weights that change between calls: of models,
// with every optional interface that the parts support, and of vectors.
//
// Infinite energies stay infinite whatever the weights: 0·∞ never happens.
//
// Products are written float64(a*b) + c: a compiler may fuse a*b + c, and fused
// bits differ between processors.
package weighted
