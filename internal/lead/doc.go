// Package lead changes a distribution over tokens (a row) as little as possible so that a given
// token leads. A token leads if it is the most likely one. The nearest such distribution, in the
// sense of a Kullback–Leibler divergence, has a closed form. This divergence is the cost of the
// token.
//
// A sequence has one token per site. The cost of projecting onto a sequence is the sum of its
// tokens' costs. A search for the cheapest sequence gets the costs from a [Row] per site.
// [Row.Pool] then makes the chosen token the most likely one.
package lead
