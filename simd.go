package gibbsite

import "github.com/gibbsite-go/gibbsite/internal/simd"

// SIMD returns the name of the instruction set that the kernels use: "purego"
// (portable Go), "avx2" or "avx512" on amd64, "neon" on arm64. It is the best one of the CPU, or what the
// environment variable GIBBSITE_SIMD says at start; a value that is none of
// these, or not available, ends the program with a panic that names it. All
// give the same bits, except where matrix products are summed (see model.RBM).
// The build tag purego leaves the assembly out.
func SIMD() string { return simd.Backend() }
