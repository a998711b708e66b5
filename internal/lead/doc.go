// Package lead owns the closed form of a projection of one row: the nearest
// distribution in which a given token leads, and what that costs.
//
// A projection onto sequences separates over sites. Every search for a sequence,
// by a shortest path, by branch and bound or by exchanges, asks a [Row] for the
// prices of its tokens, and [Row.Pool] then makes the chosen one lead.
//
// Products are written float64(a*b) + c: a compiler may fuse them otherwise, and
// fused bits differ between processors.
package lead
