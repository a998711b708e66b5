// Package avx writes the amd64 assembly of package simd, with avo. A kernel is written once, over
// registers of 8 (AVX2) or 16 (AVX-512) lanes, except where the two instruction sets need different
// shapes.
package avx

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
	"github.com/mmcloughlin/avo/reg"

	gen "github.com/gibbsite-go/gibbsite/internal/simd/_gen/kernel"
)

var topics = []struct {
	name  string
	write func(b *builder)
}{
	{"random", random},
	{"ars", ars},
	{"logistic", logistic},
	{"flip", flip},
	{"jumps", jumps},
	{"gemm", gemm},
	{"fixed", fixed},
	{"linear", linear},
	{"linear64", linear64},
	{"marked", marked},
	{"rows", rows},
	{"short", short},
	{"pick", pick},
	{"double", double},
	{"lattice", lattice},
	{"gumbel", gumbel},
	{"argmax", argMax},
	{"pairs", pairs},
	{"sparse", sparse},
	{"columns", columns},
	{"choice", choice},
	{"changes", changes},
	{"forest", forest},
	{"bits", bits},
	{"chainbits", chainbits},
	{"joint", joint},
	{"visits", visits},
	{"heatrows", heatRows},
	{"heateights", heatEights},
	{"heatpairs", heatPairs},
	{"bittally", bitTally},
	{"fliptally", flipTally},
	{"gridbits", gridBits},
	{"fold", fold},
	{"squares", squares},
	{"polar", polar},
}

// Emit returns the assembly for AVX2 and AVX-512 of the functions in funcs.
func Emit(funcs gen.Funcs) (gen.Emitted, error) {
	out := gen.Emitted{Files: map[string]string{}}
	for _, t := range topics {
		b := newBuilder(t.name, funcs)
		t.write(b)
		file, err := b.Result()
		if err != nil {
			return out, err
		}
		if err := pass.Compile.Execute(file); err != nil {
			return out, fmt.Errorf("%s: %w", t.name, err)
		}
		if err := check(file); err != nil {
			return out, err
		}
		text, err := printer.NewGoAsm(printer.Config{Name: "internal/simd/_gen", Pkg: "simd"}).Print(file)
		if err != nil {
			return out, err
		}
		out.Files[t.name], out.Names = string(text), append(out.Names, b.names...)
	}
	return out, nil
}

// check returns an error for an AVX2 function that uses a register beyond Y15. avo accepts such a
// register, which assembles into an AVX-512 instruction.
func check(file *ir.File) error {
	for _, f := range file.Functions() {
		if !strings.HasSuffix(f.Name, "AVX2") {
			continue
		}
		for _, in := range f.Instructions() {
			for _, isa := range in.ISA {
				if strings.HasPrefix(isa, "AVX512") {
					return fmt.Errorf("%s: %s needs %s", f.Name, in.OpcodeWithSuffixes(), isa)
				}
			}
			for _, op := range in.Registers() {
				if p, ok := op.(reg.Physical); ok && p.Kind() == reg.KindVector && p.PhysicalIndex() > 15 {
					return fmt.Errorf("%s: %s uses %s", f.Name, in.Opcode, p.Asm())
				}
			}
		}
	}
	return nil
}
