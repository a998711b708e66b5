// Package gibbsite is the root of a library that draws samples from discrete distributions under
// constraints. Sampling is exact wherever an exact method exists.
//
// Its only code is [SIMD]. Start with these:
//
//   - energy: what to sample from. It can be a closure, a standard model (energy/model), a file
//     (energy/read), a density on reals (energy/continuous), an exact denoiser (energy/denoise) or
//     a network (energy/neural).
//   - sampler: parallel chains. The methods are in sampler/mcmc, and the diagnostics in
//     sampler/diagnose. Packages sampler/diffusion, sampler/anneal and sampler/langevin sample in
//     other ways, and sampler/ground minimises energies.
//   - constraint: what is allowed. Counts, sums, masks, lexicons and their combinations are
//     compiled once. Regular expressions are in constraint/text, grammars and JSON Schema in
//     constraint/grammar, limits on series in constraint/series, and sets too large for memory in
//     constraint/sorted.
//   - projection: restricting a distribution to allowed states.
//   - dual: multipliers, for constraints that hold on average. Package dual/fit learns energies
//     from samples.
//
// The packages pass one table of log-weights, sites × levels, from one to the next:
//
//	energy → sampler → projection → draw
//
// Package dual works in the opposite direction: it computes multipliers from samples. A multiplier
// is the price of violating a constraint.
package gibbsite

import "github.com/gibbsite-go/gibbsite/internal/simd"

// SIMD returns the name of the instruction set that the kernels use: "purego" (portable Go), "avx2"
// or "avx512" on amd64, "neon" on arm64. By default this is the best one that the CPU supports. To
// select another, set the environment variable GIBBSITE_SIMD before the program starts. An unknown
// or unavailable value causes a panic at program start.
//
// All instruction sets produce the same bits, except for sums in matrix products (see model.RBM).
// The build tag purego excludes the assembly.
func SIMD() string { return simd.Backend() }
