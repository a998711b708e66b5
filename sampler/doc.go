// Package sampler runs Markov chains that sample from an energy.Model. A [Method], such as
// mcmc.DMALA, defines how chains move. [Chains] runs them, in parallel and reproducibly.
//
//	mag := diagnose.NewTrace(energy.Magnetization)
//	ch, err := sampler.NewChains(ctx, m, mcmc.DMALA{}, sampler.Config{Chains: 64, Seed: 1, Observe: mag.Observe})
//	err = ch.Run(ctx, 5000)
//	fmt.Println(mag.Summary())
//
// Related packages: mcmc provides the methods, and langevin runs chains on real-valued states.
// Package diagnose records draws and computes diagnostics. Package anneal changes the temperature
// of chains, ground searches for ground states, diffusion samples without chains, and shard
// divides a run into tasks.
//
// # Method and kernel
//
// A [Method] is a recipe for moving chains, an immutable value. Its [Kernel] makes one transition
// of a block of chains, replacing each state x by a draw from P(x, ·), and caches what makes the
// transition fast. After warm-up a kernel should leave π(x) ∝ exp(−E(x)) invariant: πP = π.
// During warm-up an [Adaptive] kernel may tune itself.
//
// # Reproducibility
//
// The draws of a run are determined by the model, the method, Config.Seed, Config.Generator,
// Config.Chains, Config.BlockChains and the numbers of steps. Chain i draws only from [Stream]
// (Seed, i). Chains move in blocks whose size depends only on Config.Chains and
// Config.BlockChains (see [Config.Block]), and a kernel adapts per block. The number of workers,
// GOMAXPROCS and the instruction set do not change a bit, except for models whose tables are
// computed by matrix products (model.RBM). It does not matter where a block runs: parts of a run
// (Config.First and Count) give the bits of the whole. A run resumed from a checkpoint continues
// with the same bits. Checkpoints identify methods by [Named], not by their Go types.
//
// # Failures
//
// An energy of +Inf means probability zero. NaN means a failed evaluation. Kernels with an
// acceptance step reject the proposal and count it in [Info]. Kernels without an acceptance step
// stop the run with an error that names the chain and the step.
package sampler
