// Package sweep holds the engines of mcmc.Gibbs and mcmc.Metropolis. An engine is a kernel that
// visits the sites of a state in some order. Each engine is specialised for a way of storing states
// or a kind of model. [Request.Kernel] returns the kernel of the first engine that accepts the
// model. The table in engines.go lists the models, precision and cost of each engine. The engines
// are:
//
//	engine        states             use
//	words         a bit per chain    16 sites of 32 chains at once: small graphs, few neighbours
//	torus         a bit per site     512 sites of a chain at once: large lattices; Metropolis, too
//	rows          a byte per chain   32 chains at once: up to 127 neighbours
//	table         a level per site   Potts models and single chains: a table of conditionals
//	counts        neighbour counts   dense graphs, Metropolis in order: only changes cost time
//	memo          the state itself   small graphs of any kind: conditionals are remembered
//	fields        the state itself   large spin glasses: several workers, nothing is cached
//	differences   the state itself   all models, by their single-site energies
//	bits          a bit per site     DMALA and DLMC on lattices, see [OnBits]
//
// An engine that stores states in its own format implements the unexported interface engine. The
// type sweeper then makes the engine's steps, writes its checkpoints and exchanges its replicas.
// Other engines work on the states as the caller stores them and embed [Locals]. The sweeps of all
// engines skip the fixed sites of an energy.Clamped model.
//
// A step can be stopped. [Cursor] records its position and counts the work until the next check for
// a stop.
package sweep
