// Package auto chooses a sampling method by trial. Use [Method], whose zero value fits every model.
// During warm-up it moves the chains by each of several methods (the candidates) in turn. It then
// keeps the candidate that yields the most effective draws per cost. [Reports] lists the candidates
// and their results.
//
// Every candidate leaves
//
//	π(x) ∝ exp(−E(x))
//
// invariant, so the chains may switch between candidates during warm-up. After warm-up every step
// is a step of the chosen candidate.
//
// # Cost
//
// Cost is not measured, but computed from counts. Each kernel counts the sites that it visits,
// evaluates, changes and draws in a step. It multiplies these numbers by fixed unit costs, in
// nanoseconds on one core (see [sampler.Costed]). The choice therefore depends only on model,
// method, seed and warm-up. It is the same for any number of workers and on every machine, except
// for models whose tables are computed by matrix products (see package sampler).
//
// For a model from outside the library, auto assumes that an evaluation visits every site. Such a
// model can state its costs, in nanoseconds, by a method
//
//	Cost() (energy, table float64)
//
// for one energy and for one table of energy differences of a state.
package auto
