// Package sampler runs Markov chains of a [Method] on an energy.Model. It holds the
// contract between kernels and the runner, and the runner itself.
//
//	mag := diagnose.NewTrace(energy.Magnetization)
//	ch, err := sampler.NewChains(ctx, m, mcmc.DMALA{}, sampler.Config{Chains: 64, Seed: 1, Observe: mag.Observe})
//	err = ch.Run(ctx, 5000)
//	fmt.Println(mag.Summary())
//
// Methods are in package mcmc, the record of draws and its diagnostics in
// diagnose, chains on reals in langevin; anneal cools chains down, ground searches
// for ground states, diffusion samples without chains; shard cuts a run into tasks.
//
// # Method and kernel
//
// A [Method] is a recipe for moving chains, an immutable value. Its [Kernel] is one
// transition of a block of chains, x ← a draw from P(x, ·), with the caches that make it
// fast. A kernel should leave p(x) ∝ exp(−E(x)) invariant, πP = π, after warm-up; until
// then an [Adaptive] one may tune itself.
//
// # Reproducibility
//
// A run is a function of the model, the method, Config.Seed, Config.Generator,
// Config.Chains and the numbers of steps: chain i draws from [Stream] (Seed, i) only,
// chains move in blocks whose size depends on Config.Chains only (see [Config.Block]),
// and a kernel adapts per block. The number of workers, GOMAXPROCS and the instruction
// set do not change a bit, except for models whose tables come from matrix products
// (model.RBM). Nor does the place where a block runs: parts of a run (Config.First and
// Count) give the bits of the whole. A checkpoint resumes to the same bits; it names
// methods by [Named], not by their Go types.
//
// # Failures
//
// An energy of +Inf is probability zero. NaN is a failed evaluation: kernels with
// an acceptance step reject the proposal and count it in [Info]; kernels without
// one stop the run with an error that names chain and step.
package sampler
