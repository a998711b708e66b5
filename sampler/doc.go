// Package sampler runs Markov chains that sample from an energy.Model. A [Method], such as
// mcmc.DMALA, defines how chains move. [Chains] runs them, in parallel and reproducibly.
//
//	mag := diagnose.NewTrace(energy.Magnetization)
//	ch, err := sampler.NewChains(ctx, m, mcmc.DMALA{}, sampler.Config{Chains: 64, Seed: 1, Observe: mag.Observe})
//	err = ch.Run(ctx, 5000)
//	fmt.Println(mag.Summary())
//
// Package mcmc provides the methods, and langevin runs chains on real-valued states. Package
// diagnose records draws and computes diagnostics. Package anneal changes the temperature of
// chains. Package ground searches for states of least energy, package diffusion samples without
// chains, and package shard divides a run into tasks.
//
// # Method and kernel
//
// A state holds a level for each site of the model. Levels are int32: 0, 1, …. A [Method] is an
// immutable description of how chains move. From it the runner creates one [Kernel] per block. A
// block is a group of consecutive chains that move together. A step of a kernel replaces each state
// x by a draw from its transition distribution P(x, ·). The target π(x) ∝ exp(−E(x)) should be
// invariant: πP = π. During warm-up, an [Adaptive] kernel may tune itself. After warm-up, every
// Config.Thin-th state is a draw and goes to Config.Observe.
//
// # Reproducibility
//
// The draws of a run depend only on the model, the method, the numbers of steps and the fields
// Seed, Generator, Chains and BlockChains of [Config]. Chain i draws from the [Stream] of (Seed,
// i). The number of workers, GOMAXPROCS and the instruction set do not affect the draws. There is
// one exception: model.RBM and other models that compute their tables by matrix products. Parts of
// a run, selected by Config.First and Config.Count, give the same bits as the whole run. A run that
// is resumed from a checkpoint also gives the same bits.
//
// # Failures
//
// An energy of +Inf means probability zero. An energy of NaN means that the evaluation failed.
// Kernels with an acceptance step reject a proposal whose energy is NaN and count it in [Info].
// Kernels without an acceptance step stop the run with an error that names the chain and the step.
package sampler
