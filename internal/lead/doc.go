// Package lead solves the projection of one row in closed form: the nearest distribution
// in which a given token leads, and its cost.
//
// A projection onto sequences separates over sites. Every search for a sequence,
// by a shortest path, by branch and bound or by exchanges, asks a [Row] for the
// prices of its tokens, and [Row.Pool] then makes the chosen one lead.
package lead
