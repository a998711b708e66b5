package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestCommitted regenerates the assembly and compares it with what is committed.
func TestCommitted(t *testing.T) {
	dir := t.TempDir()
	if err := generate(dir); err != nil {
		t.Fatal(err)
	}
	fresh, _ := filepath.Glob(filepath.Join(dir, "asm_*"))
	old, _ := filepath.Glob("../asm_*_amd64.*")
	if len(fresh) != len(old) || len(old) != 2*len(topics) {
		t.Fatalf("%d files generated, %d committed, want %d", len(fresh), len(old), 2*len(topics))
	}
	for _, f := range fresh {
		want, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("..", filepath.Base(f)))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator writes: go -C internal/simd/_gen run .", filepath.Base(f))
		}
	}
}
