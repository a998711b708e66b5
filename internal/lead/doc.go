// Package lead projects one probability row in closed form: it finds the nearest distribution in
// which a given token is most likely, and the cost of this change.
//
// A projection onto sequences separates over sites. Every search for a sequence, by a shortest
// path, by branch and bound or by exchanges, gets the costs of tokens from a [Row]. [Row.Pool]
// then makes the chosen token the most likely one.
package lead
