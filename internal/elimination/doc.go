// Package elimination sums, maximises and draws exactly from products of tables over a few
// variables each, by bucket elimination (Dechter 1999): variables are summed out one after the
// other, each after the tables that contain it have been multiplied. The cost is the size of the
// largest table that arises, two to the power of the width.
//
// A [Plan] holds what depends on the scopes alone: the order of elimination and the buckets. A
// [Run] of a Plan holds the messages of one worker; each call takes the tables, which may differ
// between calls.
//
// # Numbers
//
// Weights are kept in linear space, scaled by powers of two that are held as integers. A product
// cannot underflow if the exponents of the smallest positive entries of its operands add up to
// more than −1000. Any other product is not computed: a run that meets one starts again with
// logarithms. Either way no message loses relative accuracy.
//
// # Memory
//
// Sums need only the messages whose bucket has not been processed. Marginals, draws and optima
// walk through the buckets a second time, backwards, and need all messages. If these do not fit,
// the order is cut into segments: the messages between segments are kept, and those within a
// segment are computed again when the walk reaches it.
package elimination
