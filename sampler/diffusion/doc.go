// Package diffusion draws samples by reversing a corruption: a [Runner] goes from
// pure noise at time 1 to a sample at time 0 in steps of a [Process], asking an
// energy.Denoiser for the clean sample in every step.
//
// Processes are recipes. On tokens [Masked] with FirstHitting follows the
// denoiser's distribution exactly, at one prediction per token; Masked without it
// takes fewer predictions, [Uniform] and [Remask] can change a token again, and
// [Ordered] is for likely output, not for samples. [Gaussian] is for reals.
// Package unmask has more that choose what to reveal.
//
// # Constraints
//
// A [Projector] in [Config] makes every sample meet a constraint:
//
//   - one that can draw, such as projection.Path, conditions every step exactly;
//     all samples are feasible, but their distribution is not the denoiser's given
//     the constraint, because a factorised prediction does not know how likely
//     the constraint is from here;
//   - [Particles] with the same projection correct that, at the price of as many
//     predictions as particles, and estimate the probability of the constraint;
//     a potential makes them follow a score, too;
//   - others move predictions, and [Decoding] says how those become tokens: for
//     scores under uniform noise. Under masks a token that shows is never
//     reconsidered; there package scored looks ahead instead;
//   - for reals, proximal.Projector moves the posterior mean (constrained
//     posterior sampling). Config.ProjectState sets the methods beside it that it
//     is compared with, package flow has more, and package distance judges them.
//     Package twisted draws from the conditional distribution itself, at many times
//     the price.
//
// An error belongs to the sample that it concerns and loses no others: see
// [Runner.Sample] and [SampleErrors].
//
// [ClassifierFree] and [ClassifierGuided] lean towards a condition without
// enforcing it, and [Penalised] does so for reals.
//
// A long run keeps its samples in a file (Config.Checkpoint) and goes on from it
// when it is started again; Config.First makes parts of a run. Both give the bits
// of one run.
//
// Whoever receives a recipe asks it through the interfaces of this page, so a
// pointer, a value and a wrapper mean the same.
//
// Products are written float64(a*b) + c: a compiler may fuse them into one
// rounding otherwise, and fused bits differ between processors.
package diffusion
