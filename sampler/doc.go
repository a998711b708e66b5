// Package sampler moves states: Markov chain Monte Carlo and diffusion, the
// random streams that drive them and the diagnostics that judge them.
//
// # What most programs need
//
// [NewChains] with [mcmc.DMALA] and a [diagnose.Trace]; look at the summary's R-hat and
// effective sample size before anything else. On sparse graphs put [mcmc.Gibbs]
// beside it: it is often ten times better per second.
//
// When that is not enough:
//
//   - several modes, or barriers of more than a few nats: [mcmc.Tempering], and
//     [mcmc.Cyclical], which is cheaper and crosses less;
//   - many levels: [mcmc.Paths], which changes many sites per evaluation of the
//     model, and [mcmc.LocallyBalanced], which changes one;
//   - states that no single change leads to: [mcmc.HammingBall] and [mcmc.BlockGibbs];
//   - a constraint on the whole state, such as a fixed count: the field Within
//     of [mcmc.DMALA], [mcmc.PairGibbs], [mcmc.Swap] and [mcmc.BlockGibbs];
//   - the normaliser: [anneal.AIS] and [anneal.SteppingStone];
//   - the minimum: [anneal.Runner].
//
// # Diffusion
//
// [diffusion.New] reverses a corruption with an energy.Denoiser, a network or one
// of the exact ones. For masked tokens start with Masked{FirstHitting: true}: one
// prediction per token, and exactly the law of the denoiser. Fewer predictions,
// Masked{} with Steps, cost a dependence between tokens that are revealed
// together. [diffusion.Uniform] and [diffusion.Remask] can change their mind about a token;
// [diffusion.Gaussian] is for reals; [diffusion.Ordered] is for likely output, not for samples.
//
// A projection (package projection) makes every sample meet a constraint:
//
//   - one that can draw, such as projection.Path, conditions every step exactly;
//     all samples are feasible, but their law is not that of the denoiser given
//     the constraint, because a factorised prediction does not know how likely
//     the constraint is from here;
//   - [diffusion.Particles] with the same projection correct that, at the price of as many
//     predictions as particles, and estimate the probability of the constraint;
//   - others move predictions, and [diffusion.Decoding] says how those become tokens;
//   - for reals, proximal.Projector moves the posterior mean (constrained
//     posterior sampling). diffusion.Config.ProjectState sets that beside the methods it is
//     compared with; [distance.Frechet], [distance.FrechetGaussian], [distance.DTW] and [distance.Violation] judge them.
//
// [diffusion.ClassifierFree] and [diffusion.ClassifierGuided] wrap denoisers to lean towards a
// condition without enforcing it.
//
// # The law of a kernel
//
// A [Method] is a recipe, an immutable value that says how to move. Its
// [Kernel] is one transition of a block of chains,
//
//	x ← draw from P(x, ·),
//
// with the caches that make it fast. Every kernel here leaves
// p(x) ∝ exp(−E(x)) invariant, πP = π, except [mcmc.DULA], whose error its
// documentation states. The proposal probabilities in an acceptance ratio are
// the very numbers that were drawn with, rounding included, so invariance does
// not rest on rounding errors being small.
//
// # Reproducibility
//
// A run is a function of (model, method, Config.Seed, Config.Chains and the
// numbers of steps): chain i draws from stream (seed, i) only, chains are worked
// on in blocks of [BlockSize] consecutive chains, and a kernel adapts per block.
// The number of workers, GOMAXPROCS and the instruction set do not change a
// bit, except for models whose tables come from matrix products (see
// model.RBM). A checkpoint resumes to the same bits.
//
// # Failures
//
// An energy that is NaN is a failed evaluation: kernels with an acceptance step
// reject the proposal and count it in [Info.Invalid]; kernels without one stop
// the run with an error that names chain and iteration. An energy of +Inf is
// probability zero.
package sampler
