// Package junction computes exactly with distributions that are products of tables over a
// few sites each: chains, trees, strips of lattices, Bayesian networks, and every other
// graph of low tree-width, of any number of sites.
//
// A [Distribution] is made of factors, which models with energy.Factored have:
//
//	f, ok := energy.As[energy.Factored](m)
//	d, err := junction.New(ctx, f, junction.Config{})
//
// It gives log Z, marginals, joint probabilities and means of sums over a few sites,
// entropy, independent draws and the likeliest states in order. Evidence is a model of
// energy.Clamp, a language of package constraint is [Config].Within. Numbers are exact up to rounding: no table loses relative accuracy.
//
// The cost is 2^width, the entries of the largest table that arises when sites are summed
// out one after the other. [New] looks for a good order and refuses a graph whose tables
// would not fit into memory with a *[energy.WidthError]; a square lattice of n × n sites has width n
// + 1. For wider graphs draw with package mcmc.
//
// A model of hidden units is the marginal of its visible sites. What needs its energies
// alone, that is log Z, marginals, means and draws, costs no more than with other
// variables. [Distribution.Best] must sum out all hidden units before it compares states,
// which makes wider tables.
package junction
