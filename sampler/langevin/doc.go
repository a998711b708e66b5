// Package langevin runs Langevin chains on densities over ℝⁿ, an energy.Scored:
// the Metropolis-adjusted algorithm (MALA), which leaves exp(−E) invariant, and
// the unadjusted one (ULA), which is off by O(h) at step size h.
//
//	l, err := langevin.New(ctx, target, langevin.Config{Chains: 32, Seed: 1})
//	err = l.Run(ctx, 1000)
//
// [Chains] are those of package sampler on reals, with the same contract: draws,
// checkpoints, reproducibility. diagnose.RealTrace records them.
//
// Products are written float64(a*b) + c: a compiler may fuse a*b + c, and fused
// bits differ between processors.
package langevin
