// Package neon writes the assembly of arm64.
//
// Go's assembler for arm64 knows few vector instructions of floating point, so that
// every vector instruction is a word, with its mnemonic as a comment; the test of this
// package holds the words against the assembler of GNU binutils, where there is
// one. Kernels keep the 16 lanes of the reference in four registers of float32
// or eight of float64, and fuse a multiplication with an addition only where the
// product is exact, matrix products aside.
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

// Emit writes the functions.
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
