// Command neon writes the NEON backend of package simd.
//
//	go -C internal/simd/_gen run ./neon -dir ..
//
// Go's assembler for arm64 knows few vector instructions of floating point, so that
// every vector instruction is a word, with its mnemonic beside it; the test of this
// command holds the words against the assembler of GNU binutils, where there is
// one. Kernels keep the 16 lanes of the reference in four registers of float32
// or eight of float64, and fuse a multiplication with an addition only where the
// product is exact, matrix products aside.
package main

import (
	"flag"
	"log"
	"os"
	"path/filepath"
)

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
		f := newFile(t.name)
		t.write(f)
		for ext, src := range map[string]string{".s": f.assembly(), ".go": f.stubs()} {
			if err := os.WriteFile(filepath.Join(dir, "asm_"+t.name+"_arm64"+ext), []byte(src), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
