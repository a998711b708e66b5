// Package sweep owns the engines of Gibbs and Metropolis: kernels that visit the sites of a
// state in an order. [Request.Kernel] takes the first engine of a table, in engines.go, that
// takes the model; the table names models, precision and price.
//
//	engine        states             why it exists
//	words         a bit a chain      16 sites of 32 chains at once: small graphs, few neighbours
//	torus         a bit a site       512 sites of a chain at once: large lattices; Metropolis, too
//	rows          a byte a chain     32 chains at once: up to 127 neighbours
//	table         a level a site     Potts models and single chains: conditionals by neighbours
//	counts        neighbours in 1    dense graphs, Metropolis in order: a stay costs nothing
//	memo          the state itself   small graphs of any kind: conditionals are remembered
//	fields        the state itself   large spin glasses: several workers, nothing is cached
//	differences   the state itself   all models, by what they offer
//	bits          a bit a site       DMALA and DLMC on lattices, see [OnBits]
//
// Engines that hold states in a form of their own implement the interface engine, six methods
// and what counts and exchanges their states; sweeper makes a step, a checkpoint and an exchange of
// replicas from them. The others keep states in x and embed [Locals]. All of them leave the
// fixed sites of an energy.Clamped model out of their sweeps.
//
// A step can stop: [Cursor] is where it stands, and counts the work until the next question.
package sweep
