package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCommitted writes all files again and compares them with what is committed.
func TestCommitted(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is not what the generator writes: go -C internal/simd/_gen run .", name)
		}
	}
	for _, pattern := range []string{"../asm_*", "../kernels_*", "../table_*"} {
		old, _ := filepath.Glob(pattern)
		for _, name := range old {
			if _, ok := files[filepath.Base(name)]; !ok {
				t.Errorf("%s is not written by the generator any more", filepath.Base(name))
			}
		}
	}
}

// TestParse: groups of parameters have one type, and values their own commas.
func TestParse(t *testing.T) {
	got := parse("x, y []int, n = min(len(x), 3), k *[2]int = at(x, 1), z uint64")
	want := []param{{"x", "[]int", ""}, {"y", "[]int", ""}, {"n", "int", "min(len(x), 3)"}, {"k", "*[2]int", "at(x, 1)"}, {"z", "uint64", ""}}
	for i, p := range got {
		if p != want[i] {
			t.Errorf("%d: %v, want %v", i, p, want[i])
		}
	}
}
