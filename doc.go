// Package gibbsite is the root of a library that draws samples from discrete
// distributions under constraints, exactly where mathematics allows it.
//
// Its only code is [SIMD]. Start with these:
//
//   - energy: what to sample from: a closure, a standard model (energy/model), a
//     file (energy/read), a density on reals (energy/continuous), an exact
//     denoiser (energy/denoise) or a network (energy/neural).
//   - sampler: parallel chains. Their methods are in sampler/mcmc, the diagnostics
//     that judge them in sampler/diagnose; sampler/diffusion, sampler/anneal and
//     sampler/langevin sample in other ways; sampler/ground minimises.
//   - constraint: what is allowed: counts, sums, masks, lexicons and their
//     combinations, compiled once; regular expressions are in constraint/text,
//     grammars and JSON Schema in constraint/grammar, limits on series in
//     constraint/series, sets too large for memory in constraint/sorted.
//   - projection: moving a distribution to what is allowed.
//   - dual: multipliers, for constraints that hold on average; energies learned
//     from samples are in dual/fit.
//
// One table of log-weights, sites × levels, flows through all of them:
//
//	energy → sampler → projection → draw
//
// and multipliers flow back through dual.
package gibbsite

import "github.com/gibbsite-go/gibbsite/internal/simd"

// SIMD returns the name of the instruction set that the kernels use: "purego"
// (portable Go), "avx2" or "avx512" on amd64, "neon" on arm64. It is the best one that
// the CPU has, unless the environment variable GIBBSITE_SIMD selects another when the
// program starts; a value that is none of these, or not available, ends the program
// with a panic that names it. All give the same bits, except where matrix products are
// summed (see model.RBM). The build tag purego leaves the assembly out.
func SIMD() string { return simd.Backend() }
