// Package lead projects one row of probabilities, in closed form: it computes the nearest
// distribution in which a given token has the greatest probability, and its divergence from the
// row.
//
// A projection onto sequences is a separate problem for each site. Every search for a sequence,
// by a shortest path, by branch and bound or by exchanges, obtains the costs of tokens from a
// [Row]. Afterwards, [Row.Pool] makes the chosen token lead.
package lead
