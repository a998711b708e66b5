// Package sampler runs Markov chains of a [Method] on an energy.Model. It defines the contract
// between kernels and the runner, and the runner itself.
//
//	mag := diagnose.NewTrace(energy.Magnetization)
//	ch, err := sampler.NewChains(ctx, m, mcmc.DMALA{}, sampler.Config{Chains: 64, Seed: 1, Observe: mag.Observe})
//	err = ch.Run(ctx, 5000)
//	fmt.Println(mag.Summary())
//
// Package mcmc has the methods, diagnose records draws and computes diagnostics, langevin runs
// chains on reals, anneal changes the temperature of chains, ground searches for ground states,
// diffusion samples without chains, and shard divides a run into tasks.
//
// # Method and kernel
//
// A [Method] is a recipe for moving chains, an immutable value. Its [Kernel] makes one transition
// of a block of chains, x ← a draw from P(x, ·), and holds the caches that make the transition
// fast. A kernel should leave p(x) ∝ exp(−E(x)) invariant, πP = π, after warm-up. During warm-up an
// [Adaptive] kernel may tune itself.
//
// # Reproducibility
//
// A run is a function of the model, the method, Config.Seed, Config.Generator, Config.Chains,
// Config.BlockChains and the numbers of steps: chain i draws from [Stream] (Seed, i) only, chains
// move in blocks whose size depends only on Config.Chains and Config.BlockChains (see
// [Config.Block]), and a kernel adapts per block. The number of workers, GOMAXPROCS and the
// instruction set do not change a bit, except for models whose tables come from matrix products
// (model.RBM). It does not matter where a block runs: parts of a run (Config.First and Count) give
// the bits of the whole. A run resumed from a checkpoint continues with the same bits. Checkpoints
// identify methods by [Named], not by their Go types.
//
// # Failures
//
// An energy of +Inf is probability zero. NaN is a failed evaluation: kernels with an acceptance
// step reject the proposal and count it in [Info]; kernels without an acceptance step stop the run
// with an error that names the chain and the step.
package sampler
