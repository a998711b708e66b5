// Package simd provides the batch kernels of gibbsite: random bits, exponentials and categorical
// draws, the binary Langevin proposal, and float32 linear algebra.
//
// # One definition, several backends
//
// Every kernel has a reference in portable Go, and the reference defines the bits of the result.
// Backends in assembly compute the same function faster. For all inputs they return the same bits
// as the reference, except that a NaN may have another payload. The exceptions are [Gemm] and
// [GemmT], which may fuse multiplication and addition. On one backend they always return the same
// bits, and each row of a product a·b depends only on b and on the same row of a.
//
// Four rules make equal bits possible:
//
//   - Multiplication and addition round separately. In Go this is written float32(x*y) + z: the
//     conversion forbids fusing.
//   - Sums run in 16 virtual lanes: term i is added to lane i mod 16 in ascending order, and the
//     lanes are added pairwise: lane j+8 to lane j, then lane j+4, j+2 and j+1. Absent terms count
//     as +0. Totals of weights are summed in this way in blocks of 128 weights, and the block sums
//     are then added in order; see [Pick].
//   - e^x is 2^n·e^r with n placed in the exponent field. It is exactly 0 below the cut-off −87.3,
//     so no denormal numbers occur.
//   - The words of a random stream have fixed positions; see [Philox].
//
// −Inf is a valid log-weight (probability zero). +Inf is not valid and has the same effect as
// NaN. NaN propagates. Functions keep no slice and no state, so they may run concurrently on
// disjoint destinations. A destination may not overlap a source unless the function's doc allows
// it.
//
// # Choosing a backend
//
// The best backend of the CPU is chosen once, at start. The environment variable GIBBSITE_SIMD
// selects another one: purego, avx2 or avx512 on amd64, purego or neon on arm64, purego
// elsewhere. Any other value, or a backend that the program or the CPU does not support, causes a
// panic at start. The variable exists for tests and for users who must pin the results of the
// fused kernels. The build tag purego omits the assembly altogether. [Backend] returns the name
// of the backend in use. (A cached test result does not depend on the variable: use go test
// -count=1.)
//
// # The table
//
// The code between a kernel's reference and its assembly is generated from one table,
// _gen/table.go. It has a row for each kernel: its parameters, its reference, the limit of a
// call, and the instruction sets that support it. The table generates the files kernels_*.go and
// the registration of most kernels for TestBackendsAgree. The emitter of each architecture writes
// the files asm_*.s. A kernel without assembly for an architecture uses its reference there.
//
//   - To add a kernel, add a function in an emitter, a row of the table, and a reference here,
//     whose name begins with ref.
//   - To add an instruction set or an architecture, add an emitter, an entry of archs, and its name
//     in the rows of the kernels that support it.
//
// Kernels that work in several steps, such as a matrix product, are Go code that is the same for
// all machines. They call the functions of the table whose names end in Run, if the backend
// supports them. A constant in the generated files names the lowest backend that does.
//
//	go -C internal/simd/_gen run .        writes asm_*.s, kernels_*.go and table_test.go
//	go -C internal/simd/_gen test ./...   checks that the committed files are up to date
//	go -C internal/simd/_gen run ./coef   prints the polynomials
//	go -C internal/simd/_gen run ./table  measures kernels against the limits of the machine
//
// The scheduler cannot stop a call in assembly, so a call takes tens of microseconds at most.
package simd
