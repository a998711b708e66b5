// Command gen writes the assembly backends of package simd.
//
//	go -C internal/simd/_gen run . -dir ..
//
// Each topic gets a file of assembly and a file of Go stubs. A kernel is written
// once, over registers of 8 (AVX2) or 16 (AVX-512) lanes, except where
// the two instruction sets want different shapes.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
	"github.com/mmcloughlin/avo/reg"
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
	{"bits", bits},
	{"chainbits", chainbits},
	{"joint", joint},
	{"visits", visits},
	{"heatrows", heatRows},
	{"heatoctets", heatOctets},
	{"heatpairs", heatPairs},
	{"bittally", bitTally},
	{"fliptally", flipTally},
	{"gridbits", gridBits},
	{"fold", fold},
	{"squares", squares},
	{"polar", polar},
}

func main() {
	dir := flag.String("dir", "..", "directory of package simd")
	flag.Parse()
	log.SetFlags(0)
	if err := generate(*dir); err != nil {
		log.Fatal(err)
	}
}

func generate(dir string) error {
	for _, t := range topics {
		b := newBuilder(t.name)
		t.write(b)
		file, err := b.Result()
		if err != nil {
			return err
		}
		if err := pass.Compile.Execute(file); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		if err := check(file); err != nil {
			return err
		}
		cfg := printer.Config{Name: "internal/simd/_gen", Pkg: "simd"}
		for name, p := range map[string]printer.Printer{
			"asm_" + t.name + "_amd64.s":  printer.NewGoAsm(cfg),
			"asm_" + t.name + "_amd64.go": printer.NewStubs(cfg),
		} {
			src, err := p.Print(file)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, name), src, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// check refuses what avo lets pass: a register beyond Y15 in an AVX2 function
// assembles into an AVX-512 instruction.
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
