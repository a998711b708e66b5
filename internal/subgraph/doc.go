// Package subgraph chooses induced subgraphs of low width from a graph. It sums and draws
// exactly over the sites of a subgraph while the other sites keep their levels (Hamze and
// de Freitas 2004), for block moves of Markov chains.
//
// A set of sites is a list in the order in which they are eliminated. When a site is
// eliminated, the number of later sites that depend on it is at most the width. Sets of
// width 1 are forests, in which every site comes before its parent. [Graph.Cover] returns
// sets that together contain all sites.
//
// A [Plan] is compiled once for a set and the tables of a model. [Run.Forward] computes the
// messages given the levels outside, and [Run.Draw] goes back through them.
// Neither allocates.
package subgraph
