// Package anneal walks a model through temperatures: to its minimum ([Runner],
// simulated annealing) or to its normaliser log Z ([AIS] and [SteppingStone]).
//
// All three sample exp(−β·E) by any sampler.Method, β along a [Schedule]:
//
//	a, err := anneal.New(ctx, m, mcmc.Metropolis{}, anneal.Config{Seed: 1})
//	err = a.Run(ctx, 10000)
//	x, e := a.Best()
//
// For the minimum of a two-level model of pairs (Ising models, cuts, QUBOs) package
// ground is the better choice. For log Z, stepping stones are the more precise for their cost where chains mix
// at every temperature. The weights of AIS are unbiased however badly they mix,
// and its effective sample size says when they did.
//
// All three can stop and go on, in place or from a checkpoint file, and run in
// parts (First, Count) on any number of machines, to the same bits: [Runner],
// [AISRunner], [SteppingStoneRunner].
//
// Products are written float64(a*b) + c: a compiler may fuse a*b + c, and fused
// bits differ between processors. Only the last bits of a stepping stone's error
// do, which comes out of a Fourier transform.
package anneal
