// Package lead changes a distribution over tokens (a row) as little as possible so that a given
// token leads, that is, is the most likely token. The nearest such distribution, in the sense of a
// Kullback–Leibler divergence, has a closed form. The cost of the token is the divergence.
//
// The cost of a projection onto a sequence is a sum over sites. All searches for the cheapest
// sequence get the costs of tokens from a [Row]. [Row.Pool] then makes the chosen token the most
// likely one.
package lead
