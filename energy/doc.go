// Package energy defines the interfaces of the distributions that gibbsite samples from. A
// distribution is given by an energy or by a denoiser. The energy is the negative log-density up to
// a constant.
//
// A [Model] stands for the distribution
//
//	p(x) ∝ exp(−E(x)),  x ∈ {0,…,levels−1}^sites,
//
// with the energy E in nats. A state x assigns a level to every site, that is, a value to every
// variable or a token to every position. E(x) = +Inf means that x has probability zero. NaN means
// that the evaluation failed. E is never −Inf. [Func] turns a function into a model. Package
// energy/model has the standard models, and package energy/read reads model files. [Real] and
// [Scored] are densities on ℝ^sites; see energy/continuous.
//
// A Model only evaluates E. A model that can do more implements optional interfaces of this
// package. For example, [Differentiable] models compute tables of energy differences, and
// [Graphical] models list which sites interact. Ask for them with [As], never with a type
// assertion: a wrapper ([Sum], [Scale], [Clamp], or your own; see [Capable]) decides at run time
// what it supports. [Differences] computes the table of energy differences of a model that has
// none.
//
// # Layout
//
// States are the rows of one flat slice: x has states × sites entries of type int32, row-major. A
// table of energy differences has states × sites × levels entries of type float32, row-major. The
// entry of the current level of each site is 0. Two-level models may instead offer the field, which
// has one entry h_i = E(x_i=1) − E(x_i=0) per site.
//
// # Denoisers
//
// A diffusion samples from a [Denoiser], which predicts a clean state from a noisy state.
// [DenoiserFunc] adapts a function, [NoisePredictor] a predictor of noise. Exact denoisers of
// models, data sets and series are in package energy/denoise, networks in energy/neural.
//
// # Caveats
//
// Models are immutable after construction, and several goroutines may call their methods at once. A
// wrong slice length panics with a message like "energy: len(x) = 7, want a multiple of 9". Levels
// outside 0…levels−1 are an error of the caller and may panic with an index out of range.
package energy
