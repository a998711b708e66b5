// Package anneal walks a model through temperatures: to its minimum ([Runner],
// simulated annealing) or to its normaliser log Z ([AIS] and [SteppingStone]).
//
// All three sample exp(−β·E) by any sampler.Method, β along a [Schedule]:
//
//	a, err := anneal.New(m, mcmc.Metropolis{}, anneal.Config{Seed: 1})
//	err = a.Run(ctx, 10000)
//	x, e := a.Best()
//
// For log Z, stepping stones are the more precise for their cost where chains mix
// at every temperature. The weights of AIS are unbiased however badly they mix,
// and its effective sample size says when they did.
//
// Where a product decides samples it is written float64(a*b) + c: a compiler may
// fuse a*b + c, and fused bits differ between processors. Estimates of log Z
// decide none and may differ in the last bits.
package anneal
