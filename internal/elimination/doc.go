// Package elimination computes sums, maxima and exact draws for products of tables over a few
// variables each, by bucket elimination (Dechter 1999). Variables are summed out one after the
// other: the tables that contain a variable are multiplied, and the product is summed over the
// variable. The cost is proportional to the number of entries of the largest intermediate table.
// The logarithm of this number to base 2 is called the width.
//
// A [Plan] depends only on the scopes: the scope of a table is the list of its variables. The Plan
// holds the order of elimination and the bucket of each variable. The bucket consists of the tables
// to multiply when the variable is summed out. A [Run] of a Plan holds the messages (intermediate
// tables) of one worker. Each call takes the tables as an argument; they may differ between calls.
//
// # Numbers
//
// Weights are kept in linear space, scaled by powers of two. The exponents of these powers are
// stored as integers. A product cannot underflow if the exponents of the smallest positive entries
// of its operands add up to more than −1000. If some product does not meet this condition, the run
// starts again with logarithms. Either way no message loses relative accuracy.
//
// # Memory
//
// A sum needs only the messages whose bucket has not been processed. To compute marginals, a draw
// or an optimum, a second pass goes through the buckets backwards and needs all messages. If these
// do not fit into memory, the order is cut into segments. The messages that one segment passes to
// another are kept. Those within a segment are recomputed when the backward pass reaches the
// segment.
package elimination
