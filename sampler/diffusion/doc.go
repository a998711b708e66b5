// Package diffusion draws samples by reversing a corruption: a [Runner] goes from
// pure noise at time 1 to a sample at time 0 in steps of a [Process], asking an
// energy.Denoiser for the clean sample in every step.
//
// Processes are recipes. On tokens [Masked] with FirstHitting follows the
// denoiser's distribution exactly, at one prediction per token; Masked without it
// takes fewer predictions, [Uniform] and [Remask] can change a token again, and
// [Ordered] is for likely output, not for samples. [Gaussian] is for reals.
//
// A [Projector] in [Config] keeps samples in a set. The distribution of samples
// that are conditioned step by step is not p(x | set); [Particles] correct that.
// [ClassifierFree] and [ClassifierGuided] lean towards a condition without
// enforcing it, and [Penalised] does so for reals.
//
// Whoever receives a recipe asks it through the interfaces of this page, so a
// pointer, a value and a wrapper mean the same.
//
// Products are written float64(a*b) + c: a compiler may fuse them into one
// rounding otherwise, and fused bits differ between processors.
package diffusion
