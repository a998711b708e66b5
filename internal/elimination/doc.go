// Package elimination sums, maximises and draws exactly from products of tables over a few
// variables each, by bucket elimination (Dechter 1999): variables are summed out one after
// the other, and the tables that contain one are multiplied first. The cost is that of the
// largest table that arises, two to the power of the width.
//
// A [Plan] holds what depends on the scopes alone: the order of elimination and the
// buckets. Its [Run] has the messages of one worker and takes tables, which may be other
// ones at every call.
//
// # Numbers
//
// Weights are kept in linear space, scaled by powers of two that are held as integers. A
// product cannot underflow where the exponents of the smallest positive entries of its
// operands add up to more than −1000, and is not computed elsewhere: a run that meets such
// a product starts again with logarithms. Both ways no message loses relative accuracy.
//
// # Memory
//
// Sums need the messages that wait for their bucket. Marginals, draws and optima walk
// through the buckets a second time, backwards, and need all messages. Where these do not
// fit, the order is cut into segments: the messages between segments are kept, and those
// within one are computed again when the walk comes to it.
package elimination
