// Package energy defines the distributions that gibbsite samples from: unnormalised log-densities,
// written as energies, and denoisers.
//
// A [Model] stands for the distribution
//
//	p(x) ∝ exp(−E(x)),  x ∈ {0,…,levels−1}^sites,
//
// with E in nats. E(x) = +Inf means that x has probability zero; NaN means that the evaluation
// failed. E is never −Inf. [Func] makes a model of a function. Package energy/model has the
// standard models, and package energy/read reads model files. [Real] and [Scored] are densities on
// ℝ^sites; see energy/continuous.
//
// A Model only evaluates E. A model that has more to offer — a table of differences, exact
// conditionals, a neighbourhood graph — satisfies further interfaces of this package. Ask for them
// with [As], never with a type assertion, so that wrappers ([Sum], [Scale], [Clamp], or your own:
// see [Capable]) can answer for their parts. [Differences] computes the table of differences of a
// model that has none.
//
// # Layout
//
// States are rows of one flat slice: x has states × sites entries of type int32, row-major. Tables
// are states × sites × levels float32, row-major, and the entry of the current level of each site
// is 0 (the gauge). Two-level models may offer the compact field h_i = E(x_i=1) − E(x_i=0) instead.
//
// # Denoisers
//
// A diffusion samples from a [Denoiser], which predicts a clean state from a corrupted one.
// [DenoiserFunc] adapts a function, [NoisePredictor] a predictor of noise. Exact denoisers of
// models, data sets and series are in package energy/denoise, networks in energy/neural.
//
// # Caveats
//
// Several goroutines may call the methods of a model at once; models are immutable after
// construction. A wrong slice length panics with a message like "energy: len(x) = 7, want a
// multiple of 9". Levels outside 0…levels−1 are an error of the caller and may panic with an index
// out of range.
package energy
