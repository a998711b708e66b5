// Package beam runs jobs of package shard on Apache Beam: Markov chains, diffusions
// and annealed importance sampling, on the runner that the program's flags name. The
// result is one tally, to the bits of the same job on one machine.
//
//	shard.Register("ising", func(a args) (shard.Run, error) { … }) // in init, on every worker
//	beam.Init()
//	p, s := beam.NewPipelineWithRoot()
//	tally, err := gbeam.Chains(s, gbeam.Job{Job: shard.Job{Target: "ising", Args: args}})
//
// Targets are builders registered by name, not models that travel: a job is a name
// and arguments in JSON. Work goes out as a splittable DoFn over the range of parts,
// so that a runner can take parts from a slow worker; only tallies travel back, some 3
// KB for each function, and are merged by a combiner. States go from the worker to files.
//
// A part that fails or is done twice by the runner gives the same bits when it is done
// again; a tally of two attempts cannot come out, since tallies refuse chains they have.
package beam
