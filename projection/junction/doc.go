// Package junction does exact computations with distributions that are products of tables over a
// few sites each. Examples are chains, trees, strips of lattices, Bayesian networks, and every
// other graph of low tree-width, with any number of sites.
//
// A [Distribution] is constructed from the factors of a model that implements energy.Factored:
//
//	f, ok := energy.As[energy.Factored](m)
//	d, err := junction.New(ctx, f, junction.Config{})
//
// It computes log Z, marginals, joint probabilities and means of sums over a few sites, entropy,
// independent draws and the most probable states in order. To condition on evidence, pass a model
// made by energy.Clamp. To condition on a language of package constraint, set Within in [Config].
// Results are exact up to rounding, and even tiny probabilities keep their relative accuracy.
//
// Sites are summed out one after the other. The largest intermediate table has 2^width entries, and
// time and memory are proportional to this number. [New] searches for a good order, and returns a
// *[energy.WidthError] if the tables would not fit into memory. A square lattice of n × n sites has
// width n + 1. For wider graphs use package mcmc.
//
// A model with hidden units is the marginal distribution of its visible sites. For log Z,
// marginals, means and draws, hidden units cost no more than other variables. [Distribution.Best]
// must sum out all hidden units before it compares states, which makes the tables wider.
package junction
