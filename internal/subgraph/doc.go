// Package subgraph supports Markov chains that redraw all sites of a subgraph at once. This is
// possible if the subgraph, such as a tree, has a low width. The package chooses subgraphs of a
// graph, each given by its set of sites. It then computes exact sums over these sites and draws
// their levels (states) exactly, given the levels of all other sites (Hamze and de Freitas 2004).
//
// A set of sites is a list in the order in which they are eliminated. Summing out (eliminating) a
// site leaves a table over some later sites. The width is the largest number of sites of such a
// table. Sets of width 1 are forests, in which every site comes before its parent. [Graph.Cover]
// returns sets that together contain all sites.
//
// A [Plan] is compiled once for a set and the tables of a model. Given the levels outside the set,
// [Run.Forward] computes the messages (intermediate tables of the elimination). [Run.Draw] then
// draws the levels of the set in a backward pass. Neither allocates.
package subgraph
