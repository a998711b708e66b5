// Package anneal walks through temperatures: to the minimum of an energy, and to
// the logarithm of its partition sum by annealed importance and stepping-stone
// sampling.
//
// Products are written float64(a*b) + c: a compiler may fuse a*b + c, and fused
// bits differ between processors.
package anneal
