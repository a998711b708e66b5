// Package subgraph chooses induced subgraphs of low width of a graph, and sums and draws
// over the sites of one exactly while the other sites keep their levels (Hamze and de
// Freitas 2004): blocks of moves for Markov chains.
//
// A set of sites is a list in the order in which they are eliminated. Where a site is
// eliminated, at most as many later sites depend on it as the width: sets of width 1 are
// forests, and every site comes before its parent. [Graph.Cover] returns sets that together
// have all sites.
//
// A [Plan] is compiled once for a set and the tables of a model. [Run.Forward] computes the
// messages given the levels outside, and [Run.Draw] goes back through them.
// Neither allocates.
package subgraph
