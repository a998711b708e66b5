package sorted_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/sorted"
	"github.com/gibbsite-go/gibbsite/projection/novelty"
)

// Two sequences on disk, and what is generated in addition to them.
func ExampleLexicon() {
	dir, err := os.MkdirTemp("", "sorted")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "known.sorted")
	n, err := sorted.Build(context.Background(), path, 2, slices.Values([][]int32{{1, 1}, {0, 1}, {1, 1}}))
	if err != nil {
		panic(err)
	}
	known, err := sorted.Open(path)
	if err != nil {
		panic(err)
	}
	defer known.Close()
	fmt.Println(n, known.Contains([]int32{0, 1}), known.Contains([]int32{0, 0}), known.Err())
	// Output: 2 true false <nil>
}

// What is generated enters the part that changes.
func ExampleLayered() {
	dir, err := os.MkdirTemp("", "sorted")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "known.sorted")
	if _, err := sorted.Build(context.Background(), path, 2, slices.Values([][]int32{{1, 1}, {0, 1}})); err != nil {
		panic(err)
	}
	known, err := sorted.Open(path)
	if err != nil {
		panic(err)
	}
	defer known.Close()
	set := sorted.Layered{Base: known, Top: new(constraint.Lexicon)}
	s, err := novelty.Projector{Seen: set}.Compile(context.Background(), 2, 2)
	if err != nil {
		panic(err)
	}
	x := []int32{1, 1}
	if err := s.Commit(context.Background(), x, []float32{0, 5, 0, 9}, nil); err != nil {
		panic(err)
	}
	fmt.Println(x, set.Len())
	// Output: [1 0] 3
}
