// Package auto chooses a sampling method by trial. Use [Method], whose zero value fits every
// model. During warm-up it moves the chains by each candidate in turn. It then keeps the
// candidate with the most effective draws per cost. [Reports] lists the candidates and their
// results.
//
// Every candidate leaves
//
//	π(x) ∝ exp(−E(x))
//
// invariant, so switching between candidates during warm-up is legitimate. After warm-up every step
// is a step of the chosen candidate.
//
// # Cost
//
// Cost is counted, not measured. Each kernel computes the cost of a step by multiplying the
// numbers of sites that it visits, evaluates, changes and draws by fixed unit costs, in
// nanoseconds on one core (see [sampler.Costed]). The choice therefore depends only on model,
// method, seed and warm-up. It is the same for any number of workers and on every machine, except
// for models whose tables are computed by matrix products (see package sampler).
//
// For a model from outside the library, auto assumes that an evaluation visits every site. Such a
// model can state its costs, in nanoseconds for one energy and for one table of differences of
// one state, by a method
//
//	Cost() (energy, table float64)
package auto
