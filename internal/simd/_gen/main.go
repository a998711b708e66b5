// Command _gen writes the backends of package simd from one table.
//
//	go -C internal/simd/_gen run . -dir ..
//
// The table (table.go) has a row for each kernel: its parameters, its reference in Go, the limit of
// a call, and the instruction sets that support it. The emitter of an architecture (avx, neon)
// writes the assembly of its functions, one file for each topic. The file golang.go writes the Go
// code around it: declarations, the selection of a function, substitutes where there is no
// assembly, and the registration of kernels for the tests.
package main

import (
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	dir := flag.String("dir", "..", "directory of package simd")
	flag.Parse()
	log.SetFlags(0)
	files, err := generate()
	if err != nil {
		log.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(*dir, name), []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// generate returns the contents of all files by file name.
func generate() (map[string]string, error) {
	files := map[string]string{}
	for i := range archs {
		a := &archs[i]
		funcs, names, err := a.functions()
		if err != nil {
			return nil, err
		}
		emitted, err := a.emit(funcs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.name, err)
		}
		written := slices.Sorted(slices.Values(emitted.Names))
		if want := slices.Sorted(maps.Keys(names)); !slices.Equal(written, want) {
			return nil, fmt.Errorf("%s: the emitter wrote %v, the table has %v", a.name, without(written, want), without(want, written))
		}
		for topic, text := range emitted.Files {
			files["asm_"+topic+"_"+a.name+".s"] = text
		}
	}
	return files, writeGo(files)
}

// without returns the strings of x that are not in y.
func without(x, y []string) []string {
	return slices.DeleteFunc(slices.Clone(x), func(s string) bool { return slices.Contains(y, s) })
}
