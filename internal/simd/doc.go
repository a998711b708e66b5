// Package simd holds the batch kernels of gibbsite: random bits, exponentials
// and categorical draws, the binary Langevin proposal, and float32 linear
// algebra.
//
// # One definition, several backends
//
// Every kernel has a reference in portable Go, and the reference defines its
// bits. Backends in assembly compute the same function faster: for all inputs
// they return the bits of the reference, except that a NaN may carry another
// payload. Exempt are [Gemm] and [GemmT], which may fuse multiplication
// and addition; they are reproducible per backend, and each row of their result
// is a function of that row of a and of b alone.
//
// Four habits make that possible:
//
//   - Multiplication and addition round separately. In Go this is written
//     float32(x*y) + z: the conversion forbids fusing.
//   - Sums run in 16 virtual lanes: term i goes to lane i mod 16 in ascending
//     order, and the lanes are added by halving, lane j taking lane j+8, then
//     j+4, j+2, j+1. Absent terms count as +0. Totals of weights are summed so
//     within blocks of 128, and the blocks one after another; see [Pick].
//   - e^x is 2^n·e^r with n placed in the exponent field, is exactly 0 below
//     the cut-off −87.3, and so neither meets nor makes denormal numbers.
//   - The words of a random stream have fixed places; see [Philox].
//
// −Inf is a legal log-weight (probability zero), +Inf is not and acts like NaN.
// NaN propagates. Functions keep no slice and no state, so they may run
// concurrently on disjoint destinations; a destination may not overlap a source
// unless its doc allows it.
//
// # Choosing a backend
//
// The best backend of the CPU is chosen once, at start. The environment
// variable GIBBSITE_SIMD names another: purego, avx2 or avx512 on amd64, purego or
// neon on arm64, purego elsewhere. A value that is none of these, or that the
// program or the CPU does not have, is a panic at start. It exists for tests and for
// those who must pin the results of the fused kernels. The build tag purego
// leaves the assembly out altogether. [Backend] returns what runs. (A cached test
// result does not notice the variable: use go test -count=1.)
//
// # The table
//
// Everything between a kernel's reference and its assembly is generated from one table,
// _gen/table.go, which has a row for each kernel: its parameters, its reference, what
// bounds a call, and the instruction sets that have it. The files kernels_*.go are made of
// it, and the registration of most kernels for TestBackendsAgree; files asm_*.s are written
// by the emitter of their architecture. A kernel without assembly for an architecture is
// its reference there. To add
//
//   - a kernel: a function in an emitter, a reference here, whose name begins with ref, and
//     a row;
//   - an instruction set or an architecture: an emitter, an entry of archs, and its name in
//     the rows that it has.
//
// Kernels that work in several steps, such as a matrix product, are Go that is the same for
// all machines and calls the functions of the table whose names end in Run, from the level
// on that a constant of the table names.
//
//	go -C internal/simd/_gen run .        writes asm_*.s, kernels_*.go and table_test.go
//	go -C internal/simd/_gen test ./...   checks that they are what is committed
//	go -C internal/simd/_gen run ./coef   prints the polynomials
//	go -C internal/simd/_gen run ./table  measures kernels against the limits of the machine
//
// A call in assembly cannot be stopped by the scheduler, so it lasts tens of
// microseconds at most.
package simd
