// Package lead projects one probability row in closed form. It finds the nearest distribution in
// which a given token leads, that is, is the most likely token. It also computes the cost of this
// change.
//
// The cost of a projection onto a sequence is a sum over sites. Every search for a sequence, by a
// shortest path, by branch and bound or by exchanges, gets the costs of tokens from a [Row].
// [Row.Pool] then makes the chosen token the most likely one.
package lead
