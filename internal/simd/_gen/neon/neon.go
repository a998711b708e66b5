// Package neon writes the arm64 assembly of package simd.
//
// Go's assembler for arm64 knows few floating-point vector instructions, so every vector
// instruction is written as a machine word, with its mnemonic as a comment. The test of this
// package compares the words with the output of the GNU binutils assembler, if it is installed.
// Kernels hold the 16 lanes of the reference in four registers of float32 or eight of float64. They
// fuse a multiplication with an addition only if the product is exact, except in matrix products.
package neon

import "github.com/gibbsite-go/gibbsite/internal/simd/_gen/kernel"

var topics = []struct {
	name  string
	write func(f *file)
}{
	{"random", random},
	{"rows", rows},
	{"pick", pick},
	{"flip", flip},
	{"gemm", gemm},
	{"fixed", fixed},
}

// Emit returns the assembly for NEON of the functions in funcs.
func Emit(funcs kernel.Funcs) (kernel.Emitted, error) {
	out := kernel.Emitted{Files: map[string]string{}}
	for _, t := range topics {
		f := newFile(t.name, funcs)
		t.write(f)
		out.Files[t.name] = f.assembly()
		for _, fn := range f.funcs {
			out.Names = append(out.Names, fn.name)
		}
	}
	return out, nil
}
