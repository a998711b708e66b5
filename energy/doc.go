// Package energy holds the contracts of what gibbsite samples from: unnormalised
// log-densities, written as energies, and denoisers.
//
// A [Model] stands for the distribution
//
//	p(x) ∝ exp(−E(x)),  x ∈ {0,…,levels−1}^sites,
//
// with E in nats. E(x) = +Inf means that x has probability zero; NaN means
// that the evaluation failed. E never is −Inf. [Func] is a model of your own in
// one line; standard models are in package energy/model, readers of files in
// energy/read. [Real] and [Scored] are for ℝ^sites; see energy/continuous.
//
// A Model says only how to evaluate E. What else it knows — a table of
// differences, exact conditionals, a neighbourhood graph — it says by
// satisfying further interfaces of this package. Ask for them with [As], never
// with a type assertion, so that wrappers ([Sum], [Scale], [Clamp], or your
// own: see [Capable]) can answer for their parts. Where a model does not know
// its differences, [Differences] evaluates them.
//
// # Layout
//
// States are rows of one flat slice: x has states × sites entries of type
// int32, row-major. Tables are states × sites × levels float32, row-major,
// and the entry of the current level of each site is 0 (the gauge). Two-level
// models may offer the compact field h_i = E(x_i=1) − E(x_i=0) instead.
//
// # Denoisers
//
// A diffusion samples from a [Denoiser], which predicts a clean state from a
// corrupted one. Any function is one as a [DenoiserFunc], one that predicts
// noise with a [NoisePredictor], too; exact ones of models, data sets and series
// are in package energy/denoise, networks in energy/neural.
//
// # Caveats
//
// Methods of a model are called from several goroutines at once; models are
// immutable after construction. A wrong slice length panics with a message
// like "energy: len(x) = 7, want a multiple of 9". Levels outside 0…levels−1
// are the caller's error and may panic with an index out of range.
//
// A product that enters a sum is written float64(a*b) + c, because a compiler
// may fuse the two otherwise, and fused bits differ between processors.
package energy
