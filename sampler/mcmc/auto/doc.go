// Package auto holds [Method], which chooses a method by trying several: in warm-up
// it moves the chains by each candidate in turn, and then goes on with the one that
// gives the most effective draws per counted cost. Every candidate leaves
//
//	π(x) ∝ exp(−E(x))
//
// invariant, so changing between them in warm-up is legitimate; afterwards the
// transition is that of the candidate chosen and of no other.
//
// # What counts
//
// Cost is counted, not measured: each kernel says what a step costs by what it
// visits, evaluates, touches and draws, at fixed prices of about a nanosecond of one
// core, by the method Cost of [sampler.Transition]. So the choice is a function of
// model, method, seed and warm-up, the same with any number of workers and on every
// machine (but for models whose tables come from matrix products, see package
// sampler). A model of one's own, whose work nobody knows, counts as one that looks
// at every site in turn; it may say more by a method
//
//	Cost() (energy, table float64)
//
// nanoseconds of an energy and of a table of differences of one state.
//
// Products that decide are written float64(a*b) + c: a compiler may fuse a*b + c,
// and fused bits differ between processors.
package auto
